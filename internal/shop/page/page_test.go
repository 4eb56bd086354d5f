package page_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/page"
)

func TestAPageThatHasNotChangedIsNotSentAgain(t *testing.T) {
	price, sent := "5.00", 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		etag := `"` + price + `"`
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		sent++
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<title>Tea</title><script type="application/ld+json">{"@type":"Product","name":"Tea","offers":{"price":%q,"priceCurrency":"EUR"}}</script>`, price)
	}))
	defer s.Close()
	now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now, IgnoreRobots: true})
	a := page.New(client, func() time.Time { return now })
	u, err := url.Parse(s.URL + "/p/tea?utm_source=x")
	if err != nil {
		t.Fatal(err)
	}
	ref, _ := a.Match(u)
	for _, step := range []struct {
		price string
		sent  int
	}{{"5.00", 1}, {"5.00", 1}, {"4.50", 2}, {"4.50", 2}} {
		price = step.price
		now = now.Add(time.Hour)
		q, err := a.Quote(context.Background(), ref)
		if err != nil || q.Price.Number() != step.price || sent != step.sent || !q.ObservedAt.Equal(now) || q.ItemCode != ref.ItemCode {
			t.Errorf("at %s: %+v %v, sent %d times", step.price, q, err, sent)
		}
	}
	price = "4.50"
	if _, err := a.Quote(shop.Anew(context.Background()), ref); err != nil || sent != 3 {
		t.Errorf("asked anew: %v, sent %d times", err, sent)
	}
}

func TestManyFormsOfOneAddressAreOneListing(t *testing.T) {
	a := page.New(nil, time.Now)
	codes := map[string]bool{}
	for _, form := range []string{"https://shop.example/p/1?b=2&a=1", "https://SHOP.example:443/p/1?a=1&b=2&utm_source=mail&gclid=x#top", "https://shop.example/p/1?fbclid=1&a=1&b=2"} {
		u, err := url.Parse(form)
		if err != nil {
			t.Fatal(err)
		}
		ref, ok := a.Match(u)
		if !ok {
			t.Fatalf("%s is not matched", form)
		}
		codes[ref.ItemCode] = true
	}
	if len(codes) != 1 {
		t.Errorf("%v", codes)
	}
}

func TestAQuoteSaysWhereItsPriceStood(t *testing.T) {
	u, err := url.Parse("https://shop.example/p/1")
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`<script type="application/ld+json">{"@type":"Product","name":"Tea","offers":{"price":"1298","priceCurrency":"JPY"}}</script>`: `offers.price "1298" JPY`,
		`<meta property="product:price:amount" content="12.50"><meta property="product:price:currency" content="EUR">`:                 `product:price:amount "12.50" EUR`,
		`<h1>Tea</h1><p>Our house blend.</p><p class="price">Now only <b>12,50 €</b> incl. VAT</p>`:                                    `Now only 12,50 € incl. VAT`,
	} {
		q, failed := page.Extract(page.Input{URL: u, Status: 200, ContentType: "text/html", Body: []byte("<title>Tea</title>" + body)})
		if failed != nil || q.Evidence != want {
			t.Errorf("%s: %q %v, want %q", body, q.Evidence, failed, want)
		}
	}
}
