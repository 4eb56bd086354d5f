package shop_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/custom"
	"github.com/sokone/sokone/internal/shop/page"
	"github.com/sokone/sokone/internal/shop/shopify"
	"github.com/sokone/sokone/internal/shop/woocommerce"
)

// tea answers as each kind of shop does, with an ETag of the price.
type tea struct {
	euro int
	sent int // whole answers of what is polled
}

func (s *tea) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	etag := fmt.Sprintf(`"%d"`, s.euro)
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	answer := func(kind, format string) {
		w.Header().Set("Content-Type", kind)
		_, _ = fmt.Fprintf(w, format, s.euro)
	}
	switch r.URL.Path {
	case "/p/tea", "/custom/tea":
		answer("text/html", `<title>Tea</title><b class="now">%[1]d €</b><script type="application/ld+json">{"@type":"Product","name":"Tea","offers":{"price":"%[1]d","priceCurrency":"EUR"}}</script>`)
		s.sent++
	case "/products/tea.js":
		answer("text/javascript", `{"title":"Tea","handle":"tea","variants":[{"id":1,"price":%d00,"available":true}]}`)
		s.sent++
	case "/products/tea.json":
		answer("application/json", `{"product":{"variants":[{"id":1,"price":"%d","price_currency":"EUR"}]}}`)
	case "/wp-json/wc/store/v1/products":
		answer("application/json", `[{"id":34,"name":"Tea","slug":"tea","type":"simple","prices":{"currency_code":"EUR","currency_minor_unit":0,"price":"%d"},"is_in_stock":true,"is_purchasable":true}]`)
	case "/wp-json/wc/store/v1/products/34":
		answer("application/json", `{"id":34,"name":"Tea","slug":"tea","type":"simple","prices":{"currency_code":"EUR","currency_minor_unit":0,"price":"%d"},"is_in_stock":true,"is_purchasable":true}`)
		s.sent++
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func TestWhatHasNotChangedIsNotSentAgain(t *testing.T) {
	for path, make := range map[string]func(get *fetch.Client, host string, now func() time.Time) shop.Adapter{
		"/p/tea": func(get *fetch.Client, _ string, now func() time.Time) shop.Adapter { return page.New(get, now) },
		"/products/tea": func(get *fetch.Client, _ string, now func() time.Time) shop.Adapter {
			return shopify.New(get, page.New(get, now), now)
		},
		"/product/tea": func(get *fetch.Client, _ string, now func() time.Time) shop.Adapter {
			return woocommerce.New(get, page.New(get, now), now)
		},
		"/custom/tea": func(get *fetch.Client, host string, now func() time.Time) shop.Adapter {
			file := filepath.Join(t.TempDir(), "shops.yaml")
			if err := os.WriteFile(file, []byte("shops:\n  - name: tea\n    host: "+host+"\n    price: {css: .now}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			shops, err := custom.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			return custom.New(shops[0], get, now)
		},
	} {
		t.Run(strings.Trim(path, "/"), func(t *testing.T) {
			s := &tea{euro: 5}
			server := httptest.NewServer(s)
			defer server.Close()
			now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
			client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now, IgnoreRobots: true})
			u, err := url.Parse(server.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			a := make(client, u.Host, func() time.Time { return now })
			ref, ok := a.Match(u)
			if !ok {
				t.Fatalf("%s is not matched", u)
			}
			first, err := a.Quote(shop.Anew(context.Background()), ref)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Quote(context.Background(), first.Ref); err != nil {
				t.Fatal(err)
			}
			s.sent = 0
			for i, step := range []struct {
				euro  int
				anew  bool
				after time.Duration
				sent  int
			}{
				{euro: 5, after: time.Hour},
				{euro: 4, after: time.Hour, sent: 1},
				{euro: 4, after: time.Hour, sent: 1},
				{euro: 4, after: time.Hour, anew: true, sent: 2},
				{euro: 4, after: 25 * time.Hour, sent: 3}, // a shop's word is not believed for ever
			} {
				s.euro, now = step.euro, now.Add(step.after)
				ctx := context.Background()
				if step.anew {
					ctx = shop.Anew(ctx)
				}
				q, err := a.Quote(ctx, first.Ref)
				if err != nil || q.Price.Round().Number() != fmt.Sprintf("%d.00", step.euro) || s.sent != step.sent || !q.ObservedAt.Equal(now) || q.Ref != first.Ref {
					t.Errorf("step %d: %+v %v, sent %d times", i, q, err, s.sent)
				}
			}
		})
	}
}
