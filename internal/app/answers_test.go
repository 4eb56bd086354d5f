package app

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/page"
	"github.com/sokone/sokone/internal/shop/rakuten"
	"github.com/sokone/sokone/internal/shop/shopify"
	"github.com/sokone/sokone/internal/shop/woocommerce"
	"github.com/sokone/sokone/internal/shop/yahoo"
)

// says answers everything in the same way.
type says struct {
	status      int
	contentType string
	body        []byte
}

func (s says) Get(_ context.Context, r fetch.Request) (*fetch.Page, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, &shop.Error{Kind: shop.KindRefused, Message: "No address."}
	}
	return &fetch.Page{URL: u, Status: s.status, Header: http.Header{}, ContentType: s.contentType, Body: s.body}, nil
}

// Whatever an interface answers, it is a price above zero in a known currency, or
// an error that says which kind.
func FuzzAnswers(f *testing.F) {
	refs := []shop.Ref{
		{Adapter: "rakuten", ItemCode: "exampleshop:1", URL: "https://item.rakuten.co.jp/exampleshop/a/"},
		{Adapter: "rakuten", ItemCode: "https://item.rakuten.co.jp/exampleshop/a/", URL: "https://item.rakuten.co.jp/exampleshop/a/"},
		{Adapter: "yahoo", ItemCode: "mihon_a", URL: "https://store.shopping.yahoo.co.jp/mihon/a.html"},
		{Adapter: "shopify", ItemCode: "shop.example/1/JPY", URL: "https://shop.example/products/a?variant=1"},
		{Adapter: "shopify", ItemCode: "x", URL: "https://shop.example/products/a"},
		{Adapter: "woocommerce", ItemCode: "shop.example#34", URL: "https://shop.example/product/a/"},
		{Adapter: "woocommerce", ItemCode: "x", URL: "https://shop.example/product/a/"},
	}
	for i, body := range []string{
		`{"Items":[{"itemCode":"exampleshop:1","itemPrice":2480,"pointRate":5,"pointRateEndTime":"2026-10-11 01:59","mediumImageUrls":["a"],"postageFlag":0}]}`,
		`<title>【楽天市場】A b：x</title><meta property="apprakuten:item_id" content="1">`,
		`{"totalResultsAvailable":1,"hits":[{"code":"mihon_a","price":2380,"inStock":true,"point":{"amount":1,"bonusAmount":2}}]}`,
		`{"title":"A","variants":[{"id":1,"price":198000,"available":true}]}`,
		`{"title":"A","variants":[{"id":1,"price":"198000"}],"product":{"variants":[{"id":1,"price":"1980","price_currency":"JPY"}]}}`,
		`{"id":34,"name":"A &amp; b","prices":{"currency_code":"JPY","currency_minor_unit":2,"price":"198000"}}`,
		`[{"id":34,"prices":{"currency_code":"EUR","currency_minor_unit":2,"price":"1980","price_range":null}}]`,
	} {
		f.Add(byte(i), uint16(200), []byte(body))
	}
	f.Fuzz(func(t *testing.T, which byte, status uint16, body []byte) {
		ref := refs[int(which)%len(refs)]
		g := says{status: int(status), contentType: "application/json", body: body}
		pages := page.New(g, time.Now)
		var a shop.Adapter
		switch ref.Adapter { // anew, so that no pace is kept
		case "rakuten":
			a = rakuten.New(g, rakuten.Options{ApplicationID: "id", AccessKey: "key", Now: time.Now})
		case "yahoo":
			a = yahoo.New(g, yahoo.Options{AppID: "id", Now: time.Now})
		case "shopify":
			a = shopify.New(g, pages, time.Now)
		default:
			a = woocommerce.New(g, pages, time.Now)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // a second request of one key waits longer
		defer cancel()
		q, err := a.Quote(ctx, ref)
		switch e := shop.AsError(err); {
		case err == nil && (!q.Price.Positive() || q.Price.Currency() == "" || q.ItemCode == "" || q.URL == "" || utf8.RuneCountInString(q.Evidence) > 300):
			t.Errorf("%+v", q)
		case err != nil && (e.Kind == "" || e.Message == ""):
			t.Errorf("%v", err)
		}
	})
}
