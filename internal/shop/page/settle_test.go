package page_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/page"
)

// rack is a shop: its pages by path, and where others lead.
type rack struct {
	pages  map[string]string
	leads  map[string]string
	etag   string
	always bool // "not modified", whatever is asked
	asked  []string
}

func (s *rack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.URL.Path)
	if to := s.leads[r.URL.Path]; to != "" {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("ETag", s.etag)
	if s.always || s.etag != "" && r.Header.Get("If-None-Match") == s.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body, ok := s.pages[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = fmt.Fprint(w, body)
}

// product is a page; link its canonical link, if it has one.
func product(name, price, link string) string {
	if link != "" {
		link = `<link rel="canonical" href="` + link + `">`
	}
	return `<title>` + name + `</title>` + link + `<script type="application/ld+json">{"@type":"Product","name":"` + name + `","offers":{"price":"` + price + `","priceCurrency":"EUR"}}</script><h1>` + name + `</h1>`
}

func open(t *testing.T, s *rack, now func() time.Time) (*page.Adapter, string) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client := fetch.New(fetch.Options{IgnoreRobots: true, Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: now})
	return page.New(client, now), server.URL
}

// A canonical link joins listings only where it leads to the same product at the
// same price. What cannot be seen to be the same stays apart: two polls cost
// less than one false alert.
func TestACanonicalLinkIsBelievedWhereItLeadsToTheSameProduct(t *testing.T) {
	for name, tc := range map[string]struct {
		link string // what the link leads to
		want string
	}{
		"the same":               {product("Tea", "5", "/tea"), "/tea"},
		"in other letters":       {product("TEA", "5.00", ""), "/tea"},
		"another product":        {product("Coffee", "5", "/tea"), "/p/1"},
		"another price":          {product("Tea", "6", "/tea"), "/p/1"},
		"a list":                 {"<title>All teas</title><h1>All teas</h1><ul><li>Tea 5 €</li></ul>", "/p/1"},
		"nothing":                {"", "/p/1"},
		"no page of a web shop":  {"{}", "/p/1"},
		"a page that cannot say": {"<title>Tea</title><h1>Tea</h1>", "/p/1"},
	} {
		s := &rack{pages: map[string]string{"/p/1": product("Tea", "5", "/tea")}}
		if tc.link != "" {
			s.pages["/tea"] = tc.link
		}
		a, base := open(t, s, time.Now)
		ref, _ := a.Match(address(t, base+"/p/1?utm_source=x"))
		q, err := a.Quote(shop.Anew(context.Background()), ref)
		if err != nil || q.URL != base+tc.want || q.ItemCode != base+tc.want || q.Price.Number() != "5" {
			t.Errorf("%s: %+v %v", name, q.Ref, err)
		}
		// A poll of what was settled on asks once.
		s.asked = nil
		if _, err := a.Quote(context.Background(), q.Ref); err != nil || len(s.asked) != 1 {
			t.Errorf("%s: a poll asks for %v, %v", name, s.asked, err)
		}
	}
}

// A product that is gone often leads to the front page, which may sell something.
func TestAFrontPageIsNotTheProduct(t *testing.T) {
	s := &rack{
		pages: map[string]string{"/": product("Offer of the day", "5", ""), "/ja/": product("Offer of the day", "5", ""), "/p/2": product("Tea", "5", "")},
		leads: map[string]string{"/p/1": "/", "/p/3": "/?utm_source=dead", "/p/4": "/ja/", "/p/5": "/p/2"},
	}
	a, base := open(t, s, time.Now)
	for path, want := range map[string]string{"/p/1": "", "/p/3": "", "/p/4": "", "/p/5": "Tea", "/": "Offer of the day", "": "Offer of the day"} {
		ref, _ := a.Match(address(t, base+path))
		q, err := a.Quote(context.Background(), ref)
		if want == "" && (err == nil || shop.AsError(err).Kind != shop.KindEmpty) || want != "" && (err != nil || q.Name != want) {
			t.Errorf("%q: %q %v", path, q.Name, err)
		}
	}
	if q, err := a.Quote(context.Background(), shop.Ref{URL: base + "/p/5"}); err != nil || !strings.HasSuffix(q.ItemCode, "/p/2") {
		t.Errorf("where a redirect leads is what it is: %+v %v", q.Ref, err)
	}
}

func TestAShopIsBelievedForADayThatNothingHasChanged(t *testing.T) {
	now := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	s := &rack{etag: `W/"1"`, pages: map[string]string{"/p/1": product("Tea", "5", "")}}
	a, base := open(t, s, func() time.Time { return now })
	price := func(ctx context.Context) (string, time.Time) {
		q, err := a.Quote(ctx, shop.Ref{URL: base + "/p/1"})
		if err != nil {
			return string(shop.AsError(err).Kind), time.Time{}
		}
		return q.Price.Number(), q.ObservedAt
	}
	if got, _ := price(context.Background()); got != "5" {
		t.Fatal(got)
	}
	s.pages["/p/1"] = product("Tea", "4", "") // and the shop forgets to say so
	now = now.Add(time.Hour)
	if got, at := price(context.Background()); got != "5" || !at.Equal(now) {
		t.Errorf("a poll that trusts the shop: %s at %s", got, at)
	}
	if got, _ := price(shop.Anew(context.Background())); got != "4" {
		t.Errorf("what is told rests on the whole page: %s", got)
	}
	s.pages["/p/1"] = product("Tea", "3", "")
	now = now.Add(23 * time.Hour)
	if got, _ := price(context.Background()); got != "4" {
		t.Errorf("within a day: %s", got)
	}
	now = now.Add(2 * time.Hour)
	if got, _ := price(context.Background()); got != "3" {
		t.Errorf("a shop is believed for a day: %s", got)
	}
	s.always = true // "not modified" to who has nothing to compare with
	if got, _ := price(shop.Anew(context.Background())); got != string(shop.KindServer) {
		t.Errorf("an answer without a page: %s", got)
	}
}
