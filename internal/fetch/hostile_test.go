package fetch

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sokone/sokone/internal/shop"
)

// names is a resolver of the test's own: answer gives the address of a name at
// its n-th question (from 0); the zero address is a server failure.
func names(t *testing.T, answer func(name string, n int) netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		asked := map[string]int{}
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Authoritative, m.Additionals = true, true, nil
			q := m.Questions[0]
			name := strings.TrimSuffix(q.Name.String(), ".")
			if q.Type == dnsmessage.TypeA {
				a := answer(name, asked[name])
				asked[name]++
				if a.IsValid() {
					m.Answers = []dnsmessage.Resource{{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
						Body:   &dnsmessage.AResource{A: a.As4()},
					}}
				} else {
					m.RCode = dnsmessage.RCodeServerFailure
				}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func guarded(resolver *net.Resolver, allow ...string) *Guard {
	g := NewGuard(prefixes(allow...))
	g.resolver = resolver
	return g
}

// counting serves an empty page and counts.
func counting(t *testing.T) (port string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	url := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	_, port, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return port, asked
}

// The name lies in the operator's network while it is checked, and elsewhere
// inside when it is dialled.
func TestANameThatChangesItsMindIsCaughtAtTheDial(t *testing.T) {
	t.Parallel()
	port, asked := counting(t)
	resolver := names(t, func(_ string, n int) netip.Addr {
		if n < 2 { // Upgrade and Check
			return netip.MustParseAddr("192.168.7.7")
		}
		return netip.MustParseAddr("127.0.0.1")
	})
	c := client(func(o *Options) { o.Guard = guarded(resolver, "192.168.7.0/24") })
	_, err := c.Get(context.Background(), Request{URL: "http://shop.test:" + port + "/p"})
	if kind(err) != shop.KindRefused || asked.Load() != 0 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
}

// Each of these is, to some program, an address inside. Whatever the resolver
// makes of them, nothing is asked for.
func TestEachFormOfAnAddressInsideIsRefused(t *testing.T) {
	t.Parallel()
	port, asked := counting(t)
	inside := names(t, func(string, int) netip.Addr { return netip.MustParseAddr("127.0.0.1") })
	c := client(func(o *Options) { o.Guard = guarded(inside) })
	for _, host := range []string{
		"127.0.0.1", "0x7f.0.0.1", "0x7f.1", "2130706433", "017700000001", "0x7f000001",
		"localhost", "LOCALHOST", "localhost.", "shop.test", "SHOP.TEST", "shop.test.", "127.0.0.1.nip.io", "１２７．０．０．１", "127。0。0。1",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::127.0.0.1]", "[2002:7f00:1::]", "[fe80::1%25lo]", "[::1%25lo]",
		"user@127.0.0.1", "shop.example@127.0.0.1", "user:pass@shop.test", "169.254.169.254", "[fd00:ec2::254]", "0", "0.0.0.0",
	} {
		for _, address := range []string{"http://" + host + ":" + port + "/", "https://" + host + ":" + port + "/", "http://" + host + "/", "https://" + host + "/"} {
			if _, err := c.Get(context.Background(), Request{URL: address}); kind(err) != shop.KindRefused {
				t.Errorf("%s: %v", address, err)
			}
		}
	}
	if asked.Load() != 0 {
		t.Errorf("%d requests left", asked.Load())
	}
}

func TestARedirectThatLeadsInsideByNameIsRefused(t *testing.T) {
	t.Parallel()
	port, asked := counting(t)
	resolver := names(t, func(name string, _ int) netip.Addr {
		if name == "inside.test" {
			return netip.MustParseAddr("127.0.0.2")
		}
		return netip.MustParseAddr("127.0.0.1")
	})
	c := client(func(o *Options) { o.Guard = guarded(resolver, "127.0.0.1/32") })
	for _, to := range []string{"http://inside.test:" + port, "https://inside.test", "//inside.test:" + port + "/x", "http://10.0.0.1/", "http://user@127.0.0.1:" + port, "https://8.8.8.8:8443/", "http://[::1]:" + port, "javascript:alert(1)", "data:text/html,x"} {
		from := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusMovedPermanently)
		})
		if _, err := c.Get(context.Background(), Request{URL: from}); kind(err) != shop.KindRefused {
			t.Errorf("to %s: %v", to, err)
		}
	}
	if asked.Load() != 0 {
		t.Error("a request left")
	}
}

func TestFiveRedirectsAreFollowedAndNoSixth(t *testing.T) {
	t.Parallel()
	for hops, want := range map[string]shop.Kind{"12345": "", "123456": shop.KindNetwork} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if rest := strings.TrimPrefix(r.URL.Path, "/"); rest != "" {
				http.Redirect(w, r, "/"+rest[1:], http.StatusFound)
			}
		})
		p, err := client(nil).Get(context.Background(), Request{URL: url + "/" + hops})
		if kind(err) != want || err == nil && p.URL.Path != "/" {
			t.Errorf("%d redirects: %v", len(hops), err)
		}
	}
}

func TestNoWayBackFromHTTPS(t *testing.T) {
	t.Parallel()
	port, asked := counting(t)
	secure := httptest.NewTLSServer(http.RedirectHandler("http://127.0.0.1:"+port+"/", http.StatusFound))
	t.Cleanup(secure.Close)
	c := client(nil)
	c.http.Transport.(*http.Transport).TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	if _, err := c.Get(context.Background(), Request{URL: secure.URL}); kind(err) != shop.KindRefused || asked.Load() != 0 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
}

func TestACertificateNobodyVouchesForIsNotTaken(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it says that it was refused
	secure.StartTLS()
	t.Cleanup(secure.Close)
	if _, err := client(nil).Get(context.Background(), Request{URL: secure.URL}); kind(err) != shop.KindNetwork {
		t.Error(err)
	}
}

func TestNoProxyStandsBetweenTheGuardAndTheDial(t *testing.T) {
	t.Parallel()
	if NewGuard(nil).Transport(1).Proxy != nil {
		t.Error("a proxy would dial what the guard has not seen")
	}
}

func TestAShopThatNeverAnswersIsLeft(t *testing.T) {
	t.Parallel()
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := client(func(o *Options) { o.Timeout = 50 * time.Millisecond })
	_, err := c.Get(context.Background(), Request{URL: url})
	if kind(err) != shop.KindNetwork || !strings.Contains(shop.AsError(err).Message, "too long") {
		t.Error(err)
	}
}

func TestCompressedPages(t *testing.T) {
	t.Parallel()
	page := []byte("<p>1,980円</p>")
	var gz, zl bytes.Buffer
	g := gzip.NewWriter(&gz)
	_, _ = g.Write(page)
	_ = g.Close()
	z := zlib.NewWriter(&zl)
	_, _ = z.Write(page)
	_ = z.Close()
	for _, tc := range []struct {
		coding string
		body   []byte
	}{{"", page}, {"identity", page}, {"gzip", gz.Bytes()}, {"GZIP", gz.Bytes()}, {"x-gzip", gz.Bytes()}, {"deflate", zl.Bytes()}} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if tc.coding != "" {
				w.Header().Set("Content-Encoding", tc.coding)
			}
			_, _ = w.Write(tc.body)
		})
		p, err := client(nil).Get(context.Background(), Request{URL: url})
		if err != nil || !bytes.Equal(p.Body, page) {
			t.Errorf("%q: %v", tc.coding, err)
		}
	}
}

func TestAPageOfExactlyTheLimitIsReadAndOneByteMoreIsNot(t *testing.T) {
	t.Parallel()
	for extra, want := range map[int]shop.Kind{0: "", 1: shop.KindParse} {
		for _, zip := range []bool{false, true} {
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				page := bytes.Repeat([]byte("x"), 4096+extra)
				if !zip {
					_, _ = w.Write(page)
					return
				}
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				_, _ = z.Write(page)
				_ = z.Close()
			})
			_, err := client(func(o *Options) { o.MaxBytes = 4096 }).Get(context.Background(), Request{URL: url})
			if kind(err) != want {
				t.Errorf("%d bytes too many, zipped %t: %v", extra, zip, err)
			}
		}
	}
}

func TestAPageCutShortIsNoPage(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("<p>half a pri"))
	})
	if _, err := client(nil).Get(context.Background(), Request{URL: url}); kind(err) != shop.KindNetwork {
		t.Error(err)
	}
}

func TestWhatIsKnownIsNotFetchedAgain(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == `"v1"` && r.Header.Get("If-Modified-Since") == "Thu, 01 Oct 2026 00:00:00 GMT" {
			w.WriteHeader(http.StatusNotModified)
		}
	})
	p, err := client(nil).Get(context.Background(), Request{URL: url, ETag: `"v1"`, LastModified: "Thu, 01 Oct 2026 00:00:00 GMT"})
	if err != nil || !p.NotModified {
		t.Errorf("%+v %v", p, err)
	}
}

func TestAFaultWithATimeHoldsTheHostToo(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	c := client(nil)
	for i, want := range []shop.Kind{shop.KindServer, shop.KindRateLimited} {
		_, err := c.Get(context.Background(), Request{URL: url})
		if e := shop.AsError(err); e == nil || e.Kind != want || e.RetryAfter < 59*time.Second {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
}

func TestEachRequestIsCountedByItsOutcome(t *testing.T) {
	t.Parallel()
	ok := serve(t, func(http.ResponseWriter, *http.Request) {})
	down := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	var outcomes []string
	c := client(func(o *Options) {
		o.Observe = func(outcome string, _ time.Duration) { outcomes = append(outcomes, outcome) }
	})
	for _, url := range []string{ok, down, "https://10.0.0.1/"} {
		_, _ = c.Get(context.Background(), Request{URL: url})
	}
	if got := strings.Join(outcomes, " "); got != "ok server refused" {
		t.Error(got)
	}
}

// A caller whose context has ended leaves the line, and the line moves on.
func TestManyWhoGiveUpLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	p := newPolite(0, time.Now)
	if err := p.enter(context.Background(), "shop", 0); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		if err := p.enter(gone, "shop", 0); err == nil {
			t.Fatal("two at once")
		}
	}
	p.leave("shop", 0, nil)
	if h := p.hosts["shop"]; h.waiting != 0 {
		t.Errorf("%d are said to wait", h.waiting)
	}
	p.forget()
	if len(p.hosts) != 0 {
		t.Error("the host is not forgotten")
	}
}
