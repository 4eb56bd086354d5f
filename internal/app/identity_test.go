package app

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/page"
	"github.com/sokone/sokone/internal/shop/rakuten"
	"github.com/sokone/sokone/internal/shop/shopify"
	"github.com/sokone/sokone/internal/shop/woocommerce"
	"github.com/sokone/sokone/internal/shop/yahoo"
)

// mall answers as a shop of each kind does.
func mall(w http.ResponseWriter, r *http.Request) {
	html := func(body string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, body)
	}
	json := func(body string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, body)
	}
	const tea = `<title>Tea</title><link rel="canonical" href="/tea"><script type="application/ld+json">{"@type":"Product","name":"Tea","offers":{"price":"5","priceCurrency":"EUR"}}</script>`
	switch r.URL.Path {
	case "/tea", "/tea/", "/m/tea", "/shop/tea.html":
		html(tea)
	case "/exampleshop/det/":
		html(`<title>Soap</title><meta property="apprakuten:item_id" content="10001234">`)
	case "/rakuten":
		json(`{"Items":[{"itemCode":"exampleshop:10001234","itemName":"Soap","itemPrice":2480,"availability":1,"taxFlag":0,"postageFlag":1,"itemUrl":"https://item.rakuten.co.jp/exampleshop/det/?rafcid=x"}]}`)
	case "/yahoo":
		json(`{"totalResultsAvailable":1,"hits":[{"code":"mihon_det","name":"Soap","inStock":true,"price":2380}]}`)
	case "/products/soap.js":
		json(`{"title":"Soap","variants":[{"id":1,"price":198000,"available":true},{"id":2,"price":298000,"available":true}]}`)
	case "/products/soap.json":
		json(`{"product":{"variants":[{"id":1,"price":"1980","price_currency":"JPY"},{"id":2,"price":"2980","price_currency":"JPY"}]}}`)
	case "/amp/soap":
		html(`<html amp><title>Soap</title><link rel="canonical" href="/products/soap?variant=2"><script type="application/ld+json">{"@type":"Product","name":"Soap","offers":{"price":"2980","priceCurrency":"JPY"}}</script>`)
	case "/products/soap":
		html(`<title>Soap</title><script type="application/ld+json">{"@type":"Product","name":"Soap","offers":{"price":"2980","priceCurrency":"JPY"}}</script>`)
	case "/wp-json/wc/store/v1/products", "/wp-json/wc/store/v1/products/34":
		product := `{"id":34,"name":"Soap","type":"simple","prices":{"currency_code":"JPY","currency_minor_unit":0,"price":"1980"},"is_purchasable":true,"is_in_stock":true}`
		if r.URL.RawQuery != "" {
			product = "[" + product + "]"
		}
		json(product)
	default:
		http.NotFound(w, r)
	}
}

// However a person came by an address, it ends at one item of one adapter: also
// by a short link of any host, and also where the shop is read by an interface.
// What was settled on is settled: a poll of it is read by the same adapter.
func TestManyFormsOfOneAddressAreOneListing(t *testing.T) {
	t.Parallel()
	var server [3]*httptest.Server // the two malls want hosts of their own
	for i := range server {
		server[i] = httptest.NewServer(http.HandlerFunc(mall))
		t.Cleanup(server[i].Close)
	}
	short := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusMovedPermanently)
	}))
	t.Cleanup(short.Close)
	sho := func(to string) string { return short.URL + "/x?to=" + url.QueryEscape(to) }
	at, rakutens, yahoos := server[0].URL, server[1].URL, server[2].URL
	host := strings.TrimPrefix(at, "http://")
	client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now})
	pages := page.New(client, time.Now)
	shops := shop.NewRegistry(
		rakuten.New(client, rakuten.Options{ApplicationID: "id", AccessKey: "key", Endpoint: at + "/rakuten", ItemHost: strings.TrimPrefix(rakutens, "http://"), Now: time.Now}),
		yahoo.New(client, yahoo.Options{AppID: "id", Endpoint: at + "/yahoo", StoreHost: strings.TrimPrefix(yahoos, "http://"), Now: time.Now}),
		shopify.New(client, pages, time.Now), woocommerce.New(client, pages, time.Now), pages,
	)
	for want, forms := range map[shop.Ref][]string{
		{Adapter: "page", ItemCode: at + "/tea"}: {
			at + "/tea", at + "/tea/?yclid=1", at + "/m/tea?utm_campaign=a&gclid=b&mc_eid=c&_ga=d", at + "/shop/tea.html?ref=x&scid=y&fbclid=z#reviews",
			"Tea, 100 g " + at + "/tea", "「Tea」\n" + at + "/m/tea\nをシェア", strings.Replace(at, "http", "HTTP", 1) + "/%74ea", sho(at + "/tea"), sho(at + "/m/tea?amp=1"),
		},
		{Adapter: "rakuten", ItemCode: "exampleshop:10001234"}: {
			rakutens + "/exampleshop/det/", rakutens + "/exampleshop/det?scid=af_pc_etc&sc2id=af_1", rakutens + "/exampleshop/det/?iasid=07rpp&variantId=1#top",
			sho(rakutens + "/exampleshop/det/?rafcid=wsc_i_is_1"), "https://m.rakuten.co.jp/exampleshop/i/10001234/",
		},
		{Adapter: "yahoo", ItemCode: "mihon_det"}: {
			yahoos + "/mihon/det.html", yahoos + "/mihon/DET.html?sc_e=slga_pla&__ysp=x", yahoos + "/Mihon/det.html#a", sho(yahoos + "/mihon/det.html?sc_i=shp"),
		},
		{Adapter: "shopify", ItemCode: host + "/2/JPY"}: {
			at + "/products/soap?variant=2", at + "/products/soap/?_pos=1&_sid=a&_ss=r&variant=2&pr_prod_strat=x", at + "/collections/all/products/soap?variant=2",
			sho(at + "/collections/sale/products/soap?utm_source=x&variant=2"), at + "/amp/soap",
		},
		{Adapter: "woocommerce", ItemCode: host + "#34"}: {at + "/product/soap/", at + "/product/soap?utm_source=x", sho(at + "/product/soap/?fbclid=1")},
	} {
		t.Run(want.Adapter, func(t *testing.T) {
			t.Parallel()
			for i, form := range forms {
				ref, err := shops.Resolve(form)
				if err != nil {
					t.Errorf("%s: %v", form, err)
					continue
				}
				q, err := shops.Quote(shop.Anew(context.Background()), ref)
				if err != nil || q.Adapter != want.Adapter || q.ItemCode != want.ItemCode {
					t.Errorf("%s is %s %s, %v; want %s %s", form, q.Adapter, q.ItemCode, err, want.Adapter, want.ItemCode)
					continue
				}
				if i > 0 {
					continue
				}
				if again, err := shops.Quote(context.Background(), q.Ref); err != nil || again.Ref != q.Ref {
					t.Errorf("%s: a poll of %+v is %+v, %v", form, q.Ref, again.Ref, err)
				}
			}
		})
	}
}
