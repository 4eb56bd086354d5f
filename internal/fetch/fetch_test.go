package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sokone/sokone/internal/shop"
)

func client(change func(*Options)) *Client {
	o := Options{IgnoreRobots: true, Guard: NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "Sokone/test (+mailto:op@shop-watch.example.com)", Now: time.Now, MaxBytes: 1 << 20, Timeout: 5 * time.Second}
	if change != nil {
		change(&o)
	}
	return New(o)
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func kind(err error) shop.Kind {
	if err == nil {
		return ""
	}
	return shop.AsError(err).Kind
}

func TestAPageComesWholeAndDecoded(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if ua := r.Header.Get("User-Agent"); !strings.Contains(ua, "mailto:op@shop-watch.example.com") {
			t.Errorf("User-Agent %q names no contact", ua)
		}
		if r.Header.Get("Cookie") != "" {
			t.Error("a cookie was sent")
		}
		w.Header().Set("Set-Cookie", "visitor=1")
		w.Header().Set("Content-Type", "text/html; charset=shift_jis")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte("<p>\x93\xfa\x96\x7b</p>"))
		_ = z.Close()
	})
	c := client(nil)
	for range 2 {
		p, err := c.Get(context.Background(), Request{URL: url + "/p"})
		if err != nil || p.Status != 200 || p.Text() != "<p>日本</p>" {
			t.Fatalf("%+v %v", p, err)
		}
	}
}

func TestAnswersByKind(t *testing.T) {
	for status, want := range map[int]shop.Kind{200: "", 304: "", 404: "", 410: "", 403: "", 401: "", 429: shop.KindRateLimited, 430: shop.KindRateLimited, 500: shop.KindServer, 503: shop.KindServer} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		p, err := client(nil).Get(context.Background(), Request{URL: url})
		if kind(err) != want || err == nil && p.Status != status {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestHostileAnswersAreCut(t *testing.T) {
	bomb := func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.CopyN(z, zeros{}, 64<<20)
		_ = z.Close()
		return b.Bytes()
	}()
	for name, tc := range map[string]struct {
		h    http.HandlerFunc
		want shop.Kind
	}{
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, shop.KindParse},
		"a bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		}, shop.KindParse},
		"dribbling": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("x"))
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(50 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
		}, shop.KindNetwork},
		"huge headers": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) }, shop.KindNetwork},
		"half a gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb[:20])
		}, shop.KindNetwork},
		"not gzip at all": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("hello, world"))
		}, shop.KindNetwork},
		"unknown coding": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "rot13")
			_, _ = w.Write([]byte("x"))
		}, shop.KindParse},
		"round and round": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) }, shop.KindNetwork},
		"inwards": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest/", http.StatusFound)
		}, shop.KindRefused},
		"to a file": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, shop.KindRefused},
		"a reset": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}, shop.KindNetwork},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client(func(o *Options) { o.Timeout = time.Second }).Get(context.Background(), Request{URL: serve(t, tc.h)})
			if kind(err) != tc.want {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestAnAddressInsideIsNotAskedFor(t *testing.T) {
	var asked atomic.Int32
	url := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	c := client(func(o *Options) { o.Guard = NewGuard(nil) })
	for _, address := range []string{url, strings.Replace(url, "127.0.0.1", "localhost", 1), "https" + strings.TrimPrefix(url, "http"), "https://[::ffff:127.0.0.1]/"} {
		if _, err := c.Get(context.Background(), Request{URL: address}); kind(err) != shop.KindRefused {
			t.Errorf("%s: %v", address, err)
		}
	}
	if asked.Load() != 0 {
		t.Error("a request left")
	}
}

func TestOneRequestAtATimePerHostWithAPauseBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolite(2*time.Second, time.Now)
		began := time.Now()
		var mu sync.Mutex
		var starts []time.Duration
		inside := 0
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if err := p.enter(t.Context(), "shop", 0); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				starts = append(starts, time.Since(began))
				if inside++; inside > 1 {
					t.Error("two at once")
				}
				mu.Unlock()
				time.Sleep(500 * time.Millisecond)
				mu.Lock()
				inside--
				mu.Unlock()
				p.leave("shop", 0, nil)
			})
		}
		if err := p.enter(t.Context(), "other", 0); err != nil || time.Since(began) != 0 {
			t.Errorf("another host waited %s, %v", time.Since(began), err)
		}
		p.leave("other", 0, nil)
		all.Wait()
		for i, s := range starts {
			if s != time.Duration(i)*2*time.Second {
				t.Errorf("start %d after %s", i, s)
			}
		}
	})
}

func TestWhoGivesUpWaitingPassesTheTurnOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolite(time.Hour, time.Now)
		if err := p.enter(t.Context(), "shop", 0); err != nil {
			t.Fatal(err)
		}
		p.leave("shop", 0, nil)
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.enter(short, "shop", 0); err == nil {
			t.Fatal("the pause was not kept")
		}
		if err := p.enter(t.Context(), "shop", 0); err != nil {
			t.Fatal(err)
		}
		p.leave("shop", 0, nil)
	})
}

func TestAHostThatAsksForPeaceIsNotAsked(t *testing.T) {
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	var offset atomic.Int64
	c := client(func(o *Options) { o.Now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) } })
	for range 3 {
		_, err := c.Get(context.Background(), Request{URL: url})
		if e := shop.AsError(err); e == nil || e.Kind != shop.KindRateLimited || e.RetryAfter < 590*time.Second {
			t.Fatalf("%v", err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
	offset.Store(int64(11 * time.Minute))
	if _, err := c.Get(context.Background(), Request{URL: url}); kind(err) != shop.KindRateLimited || asked.Load() != 2 {
		t.Errorf("after the time was over: %v, asked %d times", err, asked.Load())
	}
}

func TestRetryAfterHeader(t *testing.T) {
	now := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, " 120 ": 2 * time.Minute, "-5": 0, "soon": 0, "1.5": 0,
		"315360000": maxHold, "99999999999999999999999": maxHold,
		"Thu, 01 Oct 2026 00:10:00 GMT": 10 * time.Minute, "Wed, 30 Sep 2026 00:00:00 GMT": 0, "Fri, 01 Oct 2038 00:00:00 GMT": maxHold,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

func TestHostsThatAreIdleAreForgotten(t *testing.T) {
	now := time.Now()
	p := newPolite(time.Second, func() time.Time { return now })
	for i := range 3000 {
		host := fmt.Sprintf("shop%d", i)
		if err := p.enter(context.Background(), host, 0); err != nil {
			t.Fatal(err)
		}
		p.leave(host, 0, nil)
		now = now.Add(time.Second)
	}
	if len(p.hosts) > 1100 {
		t.Errorf("%d hosts are kept", len(p.hosts))
	}
}

func TestRobots(t *testing.T) {
	var robotsAsked, asked atomic.Int32
	answer := "User-agent: *\nDisallow: /private\nUser-agent: Sokone\nDisallow: /no-sokone\nCrawl-delay: 600"
	status := http.StatusOK
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			robotsAsked.Add(1)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, answer)
			return
		}
		asked.Add(1)
	})
	c := client(func(o *Options) { o.IgnoreRobots = false })
	if _, err := c.Get(context.Background(), Request{URL: url + "/no-sokone/p"}); kind(err) != shop.KindBlocked || asked.Load() != 0 {
		t.Errorf("a page that is forbidden: %v", err)
	}
	if _, err := c.Get(context.Background(), Request{URL: url + "/no-sokone/api", Contract: true}); err != nil {
		t.Errorf("an interface that we have a key for: %v", err)
	}
	if _, err := c.Get(context.Background(), Request{URL: url + "/private/p"}); err != nil {
		t.Errorf("what is forbidden to others: %v", err)
	}
	if robotsAsked.Load() != 1 {
		t.Errorf("robots.txt was asked for %d times", robotsAsked.Load())
	}
	c.polite.mu.Lock()
	for _, h := range c.polite.hosts {
		if pause := time.Until(h.next); pause < 50*time.Second || pause > time.Minute {
			t.Errorf("the crawl delay, capped, is %s", pause)
		}
	}
	c.polite.mu.Unlock()
	for _, s := range []int{401, 403, 404, 410} {
		status = s
		if _, err := client(func(o *Options) { o.IgnoreRobots = false }).Get(context.Background(), Request{URL: url + "/no-sokone/p"}); err != nil {
			t.Errorf("without a robots.txt (%d): %v", s, err)
		}
	}
	if _, err := c.Get(context.Background(), Request{URL: "http://127.0.0.1:1/p"}); kind(err) != shop.KindNetwork {
		t.Errorf("%v", err)
	}
}

func TestACircuitOpensAndCloses(t *testing.T) {
	var asked atomic.Int32
	var down atomic.Bool
	down.Store(true)
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	var offset atomic.Int64
	c := client(func(o *Options) {
		o.HostInterval = time.Millisecond
		o.Now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	})
	for range 50 {
		_, err := c.Get(context.Background(), Request{URL: url})
		if kind(err) != shop.KindServer {
			t.Fatalf("%v", err)
		}
		if c.Open() > 0 {
			break
		}
	}
	if asked.Load() != failuresToOpen || c.Open() != 1 {
		t.Errorf("asked %d times before it opened, %d open", asked.Load(), c.Open())
	}
	if _, err := c.Get(context.Background(), Request{URL: url}); shop.AsError(err).RetryAfter <= 0 || asked.Load() != failuresToOpen {
		t.Errorf("while it is open: %v", err)
	}
	down.Store(false)
	offset.Store(int64(time.Minute))
	if _, err := c.Get(context.Background(), Request{URL: url}); err != nil || c.Open() != 0 {
		t.Errorf("when the host is back: %v", err)
	}
}
