package shopify_test

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
	"github.com/sokone/sokone/internal/shop/shopify"
)

const soap = `{"id":900100200300,"title":"Dish Soap Refill","handle":"soap","featured_image":"//cdn.example/x.jpg","variants":[
	{"id":41000000000001,"title":"1 L","public_title":"1 L","price":%s,"available":true,"requires_selling_plan":false},
	{"id":41000000000002,"title":"3 L","public_title":"3 L","price":528000,"available":false,"requires_selling_plan":false}]}`

// theShop answers as Shopify does; a price of "" makes it another kind of shop.
type theShop struct {
	price, json string
	status      int
}

func (s *theShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.status != 0:
		w.WriteHeader(s.status)
	case r.URL.Path == "/products/one.js":
		_, _ = fmt.Fprint(w, `{"title":"Plan","variants":[{"id":1,"price":198000,"available":true,"requires_selling_plan":true}]}`)
	case r.URL.Path == "/products/old.js":
		http.Redirect(w, r, "/products/soap.js", http.StatusMovedPermanently)
	case r.URL.Path == "/products/soap.js" && s.price != "":
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = fmt.Fprintf(w, soap, s.price)
	case r.URL.Path == "/products/soap.json" && s.price != "" && s.json != "none":
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"product":{"variants":[{"id":41000000000001,"price":%q,"price_currency":"JPY"},{"id":41000000000002,"price":"5280","price_currency":"JPY"}]}}`, s.json)
	case r.URL.Path == "/products/soap":
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<title>Soap</title><script type="application/ld+json">{"@type":"Product","name":"Soap","offers":{"price":"12.50","priceCurrency":"EUR"}}</script>`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func quote(t *testing.T, s *theShop, path string, code string) (shop.Quote, error) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now})
	a := shopify.New(client, page.New(client, time.Now), time.Now)
	u, err := url.Parse(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	ref, ok := a.Match(u)
	if !ok {
		t.Fatalf("%s is not matched", path)
	}
	if code != "" {
		ref.ItemCode = u.Host + "/" + code
	}
	return a.Quote(context.Background(), ref)
}

func TestTheVariantOfTheAddressIsRead(t *testing.T) {
	q, err := quote(t, &theShop{price: "198000", json: "1980"}, "/products/soap?variant=41000000000001", "")
	if err != nil || q.Adapter != "shopify" || q.Price.Currency() != "JPY" || q.Price.Round().Number() != "1980" || q.Availability != shop.InStock || q.Name != "Dish Soap Refill 1 L" || q.Evidence != "variants[0].price 198000 (hundredths)" || q.ImageURL != "http://cdn.example/x.jpg" {
		t.Errorf("%+v %v", q, err)
	}
	again, err := quote(t, &theShop{price: "178000"}, "/products/soap?variant=41000000000001", "41000000000001/JPY")
	if err != nil || again.Price.Round().Number() != "1780" {
		t.Errorf("later: %+v %v", again, err)
	}
	out, err := quote(t, &theShop{price: "198000", json: "1980"}, "/products/soap?variant=41000000000002", "")
	if err != nil || out.Availability != shop.OutOfStock {
		t.Errorf("sold out: %+v %v", out, err)
	}
}

func TestARenamedHandleKeepsTheItem(t *testing.T) {
	q, err := quote(t, &theShop{price: "198000"}, "/products/old?variant=41000000000001", "41000000000001/JPY")
	if u, perr := url.Parse(q.URL); err != nil || perr != nil || u.Path != "/products/soap" {
		t.Errorf("%+v %v", q, err)
	}
}

func TestWhatShopifyCannotSayIsNotGuessed(t *testing.T) {
	for name, tc := range map[string]struct {
		s    theShop
		path string
		code string
		want shop.Kind
	}{
		"which variant, at one price?": {theShop{price: "528000", json: "5280"}, "/products/soap", "", shop.KindParse},
		"by subscription only":         {theShop{price: "1"}, "/products/one", "", shop.KindParse},
		"which variant?":               {theShop{price: "198000", json: "1980"}, "/products/soap", "", shop.KindParse},
		"a variant that is gone":       {theShop{price: "198000"}, "/products/soap?variant=1", "1/JPY", shop.KindEmpty},
		"two prices":                   {theShop{price: "198000", json: "1980.50"}, "/products/soap?variant=41000000000001", "", shop.KindParse},
		"no price":                     {theShop{price: "0"}, "/products/soap?variant=41000000000001", "41000000000001/JPY", shop.KindParse},
		"slow down":                    {theShop{status: 430}, "/products/soap?variant=41000000000001", "41000000000001/JPY", shop.KindRateLimited},
		"a wall":                       {theShop{status: 403}, "/products/soap?variant=41000000000001", "41000000000001/JPY", shop.KindBlocked},
		"not there":                    {theShop{status: 404}, "/products/soap?variant=41000000000001", "41000000000001/JPY", shop.KindEmpty},
		"down":                         {theShop{status: 503}, "/products/soap?variant=41000000000001", "41000000000001/JPY", shop.KindServer},
	} {
		if q, err := quote(t, &tc.s, tc.path, tc.code); err == nil || shop.AsError(err).Kind != tc.want {
			t.Errorf("%s: %+v %v, want %s", name, q, err, tc.want)
		}
	}
}

func TestAShopThatIsNotShopifysIsReadByItsPage(t *testing.T) {
	q, err := quote(t, &theShop{}, "/products/soap", "")
	if err != nil || q.Adapter != "page" || q.Price.Number() != "12.50" {
		t.Errorf("%+v %v", q, err)
	}
}

func TestMatch(t *testing.T) {
	a := shopify.New(nil, page.New(nil, time.Now), time.Now)
	for address, want := range map[string]string{
		"https://Shop.example/products/soap":                         "https://shop.example/products/soap",
		"https://shop.example/products/soap?utm_source=x":            "https://shop.example/products/soap",
		"https://shop.example/en-gb/products/soap?variant=7&ref=abc": "https://shop.example/en-gb/products/soap?variant=7",
		"https://shop.example/products/item?id=77&size=xl":           "https://shop.example/products/item?id=77&size=xl", // of another kind of shop
		"https://shop.example/products/detail.php?product_id=12":     "",
		"https://shop.example/products/soap.json":                    "https://shop.example/products/soap.json",
		"https://shop.example/product/soap":                          "",
		"https://shop.example/products/":                             "",
		"https://shop.example/a/b/products/soap":                     "",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if ref, ok := a.Match(u); ok != (want != "") || ref.URL != want {
			t.Errorf("%s: %q, want %q", address, ref.URL, want)
		}
	}
}

func TestAShopThatDoesNotSayItsCurrencyIsReadByItsPage(t *testing.T) {
	q, err := quote(t, &theShop{price: "198000", json: "none"}, "/products/soap?variant=41000000000001", "")
	if err != nil || q.Adapter != "page" || q.Price.Currency() != "EUR" {
		t.Errorf("%+v %v", q, err)
	}
}
