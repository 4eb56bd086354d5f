package page_test

import (
	"net/url"
	"testing"

	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/page"
)

func address(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// However a person came by it, one page is one identity.
func TestManyFormsOfOneAddress(t *testing.T) {
	for want, forms := range map[string][]string{
		"https://shop.example/p/1?size=L": {
			"https://shop.example/p/1?size=L", "https://www.shop.example/p/1?size=L", "https://SHOP.example:443/p/1/?size=L#reviews",
			"https://shop.example/p/1?utm_source=mail&utm_medium=x&size=L&gclid=1&fbclid=2&yclid=3&msclkid=4", "https://shop.example/p/1?size=L&ref=home&mc_cid=9&_ga=2.1&srsltid=Af",
			"https://shop.example/%70/1?size=%4C", "https://user:secret@shop.example/p/1?size=L",
		},
		"https://shop.example/%E7%B7%91%E8%8C%B6": {"https://shop.example/緑茶", "https://shop.example/%e7%b7%91%e8%8c%b6/", "https://shop.example/%E7%B7%91%E8%8C%B6?sc_e=slga&amp=1"},
		"https://shop.example/a%2Fb":              {"https://shop.example/a%2Fb"}, // no folder
		"https://amazon.co.jp/dp/B0ABCDEFGH": {
			"https://www.amazon.co.jp/dp/B0ABCDEFGH", "https://www.amazon.co.jp/%E7%B7%91%E8%8C%B6-100g/dp/B0ABCDEFGH/ref=sr_1_1?keywords=tea&qid=1&th=1&psc=1",
			"https://amazon.co.jp/gp/product/B0ABCDEFGH?tag=friend-22", "https://m.amazon.co.jp/gp/aw/d/B0ABCDEFGH/", "https://www.amazon.co.jp/exec/obidos/ASIN/B0ABCDEFGH/x-22/",
		},
		"https://ebay.com/itm/123456789012?var=5": {"https://www.ebay.com/itm/Blue-Tea-Pot/123456789012?var=5&hash=item1", "https://m.ebay.com/itm/123456789012?_trkparms=x&var=5"},
		"https://walmart.com/ip/12345":            {"https://www.walmart.com/ip/Tea-Tin-100g/12345?athcpid=1", "https://walmart.com/ip/12345"},
		"https://etsy.com/listing/987":            {"https://www.etsy.com/de/listing/987/blue-pot?click_key=1", "https://www.etsy.com/listing/987"},
	} {
		for _, f := range forms {
			if got := page.Identity(address(t, f)); got != want {
				t.Errorf("%s is %s, want %s", f, got, want)
			}
		}
	}
}

func TestDifferentPagesStayDifferent(t *testing.T) {
	for _, pair := range [][2]string{
		{"https://shop.example/p/1", "https://shop.example/p/2"},
		{"https://shop.example/p/1?color=red", "https://shop.example/p/1?color=blue"},
		{"https://shop.example/p?id=1", "https://shop.example/p?id=2"},
		{"https://shop.example/P/1", "https://shop.example/p/1"},
		{"https://shop.example:8443/p/1", "https://shop.example/p/1"},
		{"https://m.shop.example/p/1", "https://shop.example/p/1"}, // unless the page says so
		{"https://www.amazon.co.jp/dp/B0ABCDEFGH", "https://www.amazon.com/dp/B0ABCDEFGH"},
		{"https://amazon.example/dp/B0ABCDEFGH/a", "https://amazon.example/dp/B0ABCDEFGH/b"},
		{"https://www.ebay.com/itm/123456789012?var=5", "https://www.ebay.com/itm/123456789012?var=6"},
		{"https://notamazon.com/x/dp/B0ABCDEFGH", "https://www.amazon.com/dp/B0ABCDEFGH"},
	} {
		if a, b := page.Identity(address(t, pair[0])), page.Identity(address(t, pair[1])); a == b {
			t.Errorf("%s and %s are both %s", pair[0], pair[1], a)
		}
	}
}

// The page's own word on its address counts, unless that leads to another page:
// the front page, a category, another site, or the group of a chosen variant.
func TestTheCanonicalLink(t *testing.T) {
	const crumbs = `<script type="application/ld+json">{"@type":"BreadcrumbList","itemListElement":[
		{"@type":"ListItem","position":1,"item":"https://shop.example/drinks"},
		{"@type":"ListItem","position":2,"item":{"@id":"https://shop.example/green-teas","name":"Green teas"}},
		{"@type":"ListItem","position":3,"name":"Tea","item":"https://shop.example/products/tea"}]}</script>`
	for _, tc := range []struct{ at, link, want string }{
		{"https://shop.example/p/1", "https://shop.example/products/tea", "https://shop.example/products/tea"},
		{"https://shop.example/p/1", "/products/tea?utm_source=x", "https://shop.example/products/tea"},
		{"https://shop.example/p/1", "https://www.shop.example/tea", "https://shop.example/tea"},
		{"https://m.shop.example/p/1", "https://www.shop.example/p/1", "https://shop.example/p/1"},
		{"https://amp.shop.example/p/1?amp=1", "https://shop.example/p/1", "https://shop.example/p/1"},
		{"https://shop.example/p/1/green-tea", "https://shop.example/p/1", "https://shop.example/p/1"},
		{"https://shop.example/p?id=7", "https://shop.example/tea-7?id=7", "https://shop.example/tea-7?id=7"},
		{"https://shop.example/p/1", "https://other.example/tea", ""},
		{"https://shop.example/p/1", "https://shop.example/", ""},
		{"https://shop.example/teas/green/sencha", "https://shop.example/teas/green", ""},
		{"https://shop.example/p/1", "https://shop.example/green-teas", ""},
		{"https://shop.example/p/1", "https://shop.example/drinks/", ""},
		{"https://shop.example/p/1?color=red", "https://shop.example/p/1", ""},
		{"https://shop.example/p/1", "javascript:alert(1)", ""},
	} {
		body := `<title>Tea</title><link rel="canonical" href="` + tc.link + `">` + crumbs +
			`<script type="application/ld+json">{"@type":"Product","name":"Tea","offers":{"price":"5","priceCurrency":"EUR"}}</script><h1>Tea</h1>`
		q, failed := page.Extract(page.Input{URL: address(t, tc.at), Status: 200, ContentType: "text/html", Body: []byte(body)})
		if failed != nil && failed.Kind != shop.KindEmpty { // a link to the front page says that the product is gone
			t.Fatalf("%s: %v", tc.link, failed)
		}
		if q.ItemCode != tc.want {
			t.Errorf("%s with a link to %s is %q, want %q", tc.at, tc.link, q.ItemCode, tc.want)
		}
	}
}

func TestQueriesAreKeptPairByPair(t *testing.T) {
	for address, want := range map[string]string{
		"https://shop.example/semi?id=12;color=red":                  "https://shop.example/semi?id=12;color=red",
		"https://shop.example/p?id=12&n=50%off":                      "https://shop.example/p?id=12&n=50%25off",
		"https://shop.example/fiche?ref=101":                         "https://shop.example/fiche?ref=101",
		"https://shop.example/p?ref=homepage&id=1":                   "https://shop.example/p?id=1",
		"https://shop.example/p?b=2&a=1&igsh=abc&li_fat_id=1&mtm_x=": "https://shop.example/p?a=1&b=2",
		"https://shop.example/p?a=2&a=1&&":                           "https://shop.example/p?a=2&a=1",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := page.Canonical(u); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
