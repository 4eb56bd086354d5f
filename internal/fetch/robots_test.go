package fetch

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/temoto/robotstxt"

	"github.com/sokone/sokone/internal/shop"
)

// rules of a shop whose robots.txt answers with the status that is set now, on a
// clock that can be moved.
func robotsShop(t *testing.T, interval time.Duration) (c *Client, url string, status *atomic.Int32, offset *atomic.Int64) {
	t.Helper()
	status, offset = &atomic.Int32{}, &atomic.Int64{}
	url = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch s := int(status.Load()); {
		case r.URL.Path == "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case r.URL.Path != "/robots.txt":
		case s == http.StatusFound:
			http.Redirect(w, r, "/round", http.StatusFound)
		case s == 0:
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = conn.Close()
			}
		default:
			w.WriteHeader(s)
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /private"))
		}
	})
	c = client(func(o *Options) {
		o.IgnoreRobots, o.HostInterval = false, interval
		o.Now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	})
	return c, url, status, offset
}

// RFC 9309, section 2.3.1.4: what cannot be reached forbids everything, for a
// month; but to the shopper it is a fault of the shop, which passes.
func TestARobotsThatCannotBeReachedForbidsAllForAMonth(t *testing.T) {
	for down, want := range map[int32]shop.Kind{500: shop.KindServer, 503: shop.KindServer, 0: shop.KindNetwork} {
		c, url, status, offset := robotsShop(t, 0)
		get := func(path string) shop.Kind {
			_, err := c.Get(shop.Anew(context.Background()), Request{URL: url + path})
			return kind(err)
		}
		status.Store(down)
		if k := get("/p"); k != want {
			t.Fatalf("%d: %q", down, k)
		}
		offset.Store(int64(29 * 24 * time.Hour))
		if k := get("/p"); k != want {
			t.Errorf("%d, after 29 days: %q", down, k)
		}
		offset.Store(int64(31 * 24 * time.Hour))
		if k := get("/private"); k != "" {
			t.Errorf("%d, after 31 days: %q", down, k)
		}
		status.Store(200)
		offset.Store(int64(32 * 24 * time.Hour))
		if k := get("/private"); k != shop.KindBlocked {
			t.Errorf("%d, back again: %q", down, k)
		}
		status.Store(down) // what it said last holds
		offset.Store(int64(34 * 24 * time.Hour))
		if k := get("/private"); k != shop.KindBlocked {
			t.Errorf("%d, lost again: %q", down, k)
		}
		if k := get("/p"); k != "" {
			t.Errorf("%d, lost again: %q", down, k)
		}
		offset.Store(int64(65 * 24 * time.Hour))
		if k := get("/private"); k != "" {
			t.Errorf("%d, lost for a month: %q", down, k)
		}
	}
}

// A shop that sends robots.txt round in circles has none (RFC 9309, section 2.3.1.2).
func TestARobotsThatGoesRoundForbidsNothing(t *testing.T) {
	c, url, status, _ := robotsShop(t, 0)
	status.Store(http.StatusFound)
	if _, err := c.Get(context.Background(), Request{URL: url + "/private"}); err != nil {
		t.Error(err)
	}
}

// Who pastes the first address of a shop does not wait for robots.txt and then
// for a pause too; the next one at the shop does.
func TestRobotsAndItsPageAreOneVisit(t *testing.T) {
	c, url, status, _ := robotsShop(t, time.Hour)
	status.Store(200)
	began := time.Now()
	if _, err := c.Get(context.Background(), Request{URL: url + "/p"}); err != nil || time.Since(began) > time.Second {
		t.Fatalf("%v after %s", err, time.Since(began))
	}
	soon, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Get(soon, Request{URL: url + "/q"}); kind(err) != shop.KindNetwork {
		t.Errorf("the pause was not kept: %v", err)
	}
}

// Anybody can paste addresses that fail. Polls alone open a circuit.
func TestPreviewsOpenNoCircuit(t *testing.T) {
	var down atomic.Bool
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if down.Load() || r.URL.Path == "/broken" {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	c := client(func(o *Options) { o.HostInterval = time.Millisecond })
	for range 3 * failuresToOpen {
		if _, err := c.Get(shop.Anew(context.Background()), Request{URL: url + "/broken"}); kind(err) != shop.KindServer {
			t.Fatal(err)
		}
	}
	if _, err := c.Get(context.Background(), Request{URL: url + "/p"}); err != nil || c.Open() != 0 {
		t.Errorf("a poll after the previews: %v", err)
	}
	down.Store(true)
	for range failuresToOpen {
		_, _ = c.Get(context.Background(), Request{URL: url + "/p"})
		_, _ = c.Get(shop.Anew(context.Background()), Request{URL: url + "/broken"}) // closes nothing either
	}
	if c.Open() != 1 {
		t.Error("polls that fail open none")
	}
}

// Every address is tried against every pattern of its shop, so a hostile file of
// them must not cost seconds a poll; and what an honest one says still counts.
func TestAHostileRobotsCostsLittle(t *testing.T) {
	for _, rule := range []string{"Disallow: /*a*b*c$", "Disallow: /" + strings.Repeat("*a", 1000), "Disallow: /*"} {
		for _, end := range []string{"\n", "\r", "\r\n"} {
			body := "User-agent: *" + end + "Disallow: /private/*/x" + end + strings.Repeat(rule+end, maxRobots/len(rule)) + "Disallow: /plain"
			kept := affordable([]byte(body))
			data, err := robotstxt.FromBytes(kept)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(kept, []byte("*")) + bytes.Count(kept, []byte("$")); n > maxPatterns {
				t.Errorf("%.20q: %d wildcards are kept", rule, n)
			}
			r := rules{group: data.FindGroup(robotsName)}
			for _, path := range []string{"/private/7/x", "/plain"} {
				if at := (&url.URL{Path: path}); r.allow(at) {
					t.Errorf("%.20q: %s is allowed", rule, path)
				}
			}
		}
	}
}
