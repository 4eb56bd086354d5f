package fetch

import (
	"bytes"
	"compress/flate"
	"context"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/shop"
)

// IPv6 that is not global unicast (2000::/3) is nobody's public address: mesh
// networks live in 0200::/7, and SIIT writes IPv4 as ::ffff:0:a.b.c.d.
func TestOnlyGlobalUnicastIsPublic(t *testing.T) {
	for _, address := range []string{"::ffff:0:127.0.0.1", "::ffff:0:10.0.0.1", "200::1", "300::1", "4000::1", "100:0:0:1::1", "fe00::1", "1::1"} {
		if Public(netip.MustParseAddr(address)) {
			t.Errorf("%s is taken for public", address)
		}
	}
}

// A host whose last label is a number is an IPv4 address to browsers and to
// getaddrinfo (WHATWG URL, "ends in a number"): refused, not "no such shop".
func TestAHostThatEndsInANumberIsRefused(t *testing.T) {
	c := client(func(o *Options) { o.Guard = NewGuard(nil) })
	for _, host := range []string{"127.0.0.1.", "127.1", "127.0.1", "0177.0.0.1", "0x7f.1", "127.0.0.0x1"} {
		if _, err := c.Get(context.Background(), Request{URL: "https://" + host + "/"}); kind(err) != shop.KindRefused {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// A name that cannot be looked up just now is a fault of the network. "Refused"
// tells the shopper that the address is not allowed.
func TestAResolverThatFailsIsNoRefusal(t *testing.T) {
	resolver := names(t, func(string, int) netip.Addr { return netip.Addr{} })
	c := client(func(o *Options) { o.Guard = guarded(resolver, "192.168.7.0/24") })
	if _, err := c.Get(context.Background(), Request{URL: "http://nas.test:8080/p"}); kind(err) != shop.KindNetwork {
		t.Errorf("%v", err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Get(gone, Request{URL: "http://nas.test:8080/p"}); kind(err) != shop.KindNetwork {
		t.Errorf("the caller has left: %v", err)
	}
}

// The status is the answer; a body that cannot be read changes nothing about it.
func TestTheStatusCountsWhateverTheBodyIs(t *testing.T) {
	for _, status := range []int{429, 503} {
		for what, h := range map[string]http.HandlerFunc{
			"unknown coding": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "br")
				w.WriteHeader(status)
				_, _ = w.Write([]byte("x"))
			},
			"not gzip": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(status)
				_, _ = w.Write([]byte("slow down"))
			},
			"too long": func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = w.Write(make([]byte, 2<<20))
			},
		} {
			_, err := client(nil).Get(context.Background(), Request{URL: serve(t, h)})
			if want := map[int]shop.Kind{429: shop.KindRateLimited, 503: shop.KindServer}[status]; kind(err) != want {
				t.Errorf("%d, %s: %v", status, what, err)
			}
		}
	}
}

// "Gone" must be seen also where the empty body is said to be zipped and its
// length is not said (chunked, HTTP/2).
func TestAnEmptyZippedAnswerIsAnAnswer(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusGone)
		_ = http.NewResponseController(w).Flush()
	})
	if p, err := client(nil).Get(context.Background(), Request{URL: url}); err != nil || p.Status != http.StatusGone {
		t.Error(err)
	}
}

// Many servers send deflate without the zlib header; browsers take both, and we
// ask for it.
func TestRawDeflate(t *testing.T) {
	var b bytes.Buffer
	z, _ := flate.NewWriter(&b, -1)
	_, _ = z.Write([]byte("<p>1,980円</p>"))
	_ = z.Close()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "deflate")
		_, _ = w.Write(b.Bytes())
	})
	if p, err := client(nil).Get(context.Background(), Request{URL: url}); err != nil || string(p.Body) != "<p>1,980円</p>" {
		t.Error(err)
	}
}

// A 429 that names no time is a 429: the next of two hundred listings must not
// ask two seconds later (DESIGN section 7: backs off per host).
func TestAHostThatSaysTooManyWithoutATimeIsHeld(t *testing.T) {
	for _, header := range []string{"", "soon"} {
		var asked atomic.Int32
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			if header != "" {
				w.Header().Set("Retry-After", header)
			}
			w.WriteHeader(http.StatusTooManyRequests)
		})
		c := client(nil)
		for range 5 {
			_, err := c.Get(context.Background(), Request{URL: url})
			if e := shop.AsError(err); e == nil || e.Kind != shop.KindRateLimited {
				t.Fatal(err)
			}
		}
		if asked.Load() != 1 {
			t.Errorf("Retry-After %q: asked %d times", header, asked.Load())
		}
	}
}

// The host that asked for peace is the one at the end of the redirects.
func TestTheHostThatAnsweredIsTheOneThatIsHeld(t *testing.T) {
	var asked atomic.Int32
	shopAt := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	short := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, shopAt+"/p", http.StatusFound) })
	c := client(nil)
	for _, url := range []string{short + "/a", shopAt + "/p"} {
		if _, err := c.Get(context.Background(), Request{URL: url}); kind(err) != shop.KindRateLimited {
			t.Errorf("%s: %v", url, err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// Short links of many hosts that lead to one shop are one request at a time there.
func TestOneRequestAtATimeAlsoBehindRedirects(t *testing.T) {
	var inside, most atomic.Int32
	shopAt := serve(t, func(http.ResponseWriter, *http.Request) {
		n := inside.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(100 * time.Millisecond)
		inside.Add(-1)
	})
	c := client(nil)
	done := make(chan error)
	for range 4 {
		short := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, shopAt, http.StatusFound) })
		go func() {
			_, err := c.Get(context.Background(), Request{URL: short})
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d requests at once", most.Load())
	}
}

// One host has many spellings.
func TestAHostIsOneHostHoweverItIsWritten(t *testing.T) {
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	resolver := names(t, func(string, int) netip.Addr { return netip.MustParseAddr("127.0.0.1") })
	c := client(func(o *Options) { o.Guard = guarded(resolver, "127.0.0.0/8") })
	for _, host := range []string{"shop.test", "SHOP.test", "shop.test.", "ｓｈｏｐ.test"} {
		if _, err := c.Get(context.Background(), Request{URL: strings.Replace(url, "127.0.0.1", host, 1)}); kind(err) != shop.KindRateLimited {
			t.Errorf("%s: %v", host, err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// An adapter's key is for its shop, not for whom the shop redirects to.
func TestAKeyDoesNotTravelToAnotherHost(t *testing.T) {
	var got atomic.Value
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) { got.Store(r.Header.Get("Accesskey")) })
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusFound) })
	if _, err := client(nil).Get(context.Background(), Request{URL: url, Header: http.Header{"Accesskey": {"pk_EXAMPLE"}}}); err != nil {
		t.Fatal(err)
	}
	if got.Load() != "" {
		t.Error("the key was sent to another host")
	}
}

// Errors go to the log: no query in them, where adapters carry keys and shoppers
// carry session ids.
func TestAnErrorDoesNotRepeatTheAddress(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	_, err := client(nil).Get(context.Background(), Request{URL: url + "/p?applicationId=secret"})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

// The addresses of the operator's network are not the shopper's to read.
func TestARefusalDoesNotNameTheAddressInside(t *testing.T) {
	resolver := names(t, func(string, int) netip.Addr { return netip.MustParseAddr("10.11.12.13") })
	c := client(func(o *Options) { o.Guard = guarded(resolver) })
	_, err := c.Get(context.Background(), Request{URL: "https://db.corp.test/"})
	if e := shop.AsError(err); e == nil || e.Kind != shop.KindRefused || strings.Contains(e.Message, "10.11.12.13") {
		t.Errorf("%v", err)
	}
}

// The shopper who asked first and left must not decide what robots.txt says.
func TestACallerWhoLeavesDoesNotDecideForRobots(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /"))
		}
	})
	c := client(func(o *Options) { o.IgnoreRobots = false })
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_, _ = c.Get(gone, Request{URL: url + "/p"})
	for _, path := range []string{"/p", ""} {
		if _, err := c.Get(context.Background(), Request{URL: url + path}); kind(err) != shop.KindBlocked {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// robots.txt is a request like any other, and binds whoever is redirected too.
func TestRobotsIsPoliteAndBindsBehindRedirects(t *testing.T) {
	var inside, most, asked atomic.Int32
	shopAt := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := inside.Add(1)
		defer inside.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(20 * time.Millisecond)
		if r.URL.Path == "/robots.txt" {
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /private"))
			return
		}
		asked.Add(1)
	})
	short := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		http.Redirect(w, r, shopAt+"/private/p", http.StatusFound)
	})
	c := client(func(o *Options) { o.IgnoreRobots = false })
	if _, err := c.Get(context.Background(), Request{URL: short + "/s"}); kind(err) != shop.KindBlocked || asked.Load() != 0 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
	c = client(func(o *Options) { o.IgnoreRobots = false })
	done := make(chan error)
	for _, u := range []string{shopAt + "/a", shopAt + "/b", strings.ToUpper(shopAt[:4]) + shopAt[4:] + "/c"} {
		go func() {
			_, err := c.Get(context.Background(), Request{URL: u})
			done <- err
		}()
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d requests at once", most.Load())
	}
}

// Those who stood in line when the circuit opened have learnt nothing about the
// host: it does not count as well again.
func TestWhoIsTurnedAwayInLineClosesNoCircuit(t *testing.T) {
	now := time.Now()
	p := newPolite(time.Millisecond, func() time.Time { return now })
	fault := &shop.Error{Kind: shop.KindServer}
	for range failuresToOpen {
		if err := p.enter(context.Background(), "shop", 0); err != nil {
			t.Fatal(err)
		}
		p.leave("shop", 0, fault)
		now = now.Add(time.Second)
	}
	gone, cancel := context.WithCancel(context.Background())
	p.mu.Lock()
	p.hosts["shop"].next = now.Add(time.Hour)
	p.mu.Unlock()
	cancel()
	for range 20 { // select takes either branch
		_ = p.enter(gone, "shop", 0)
	}
	if n := p.hosts["shop"].failures; n != failuresToOpen {
		t.Errorf("%d failures are left", n)
	}
}
