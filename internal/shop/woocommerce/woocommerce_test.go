package woocommerce_test

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
	"github.com/sokone/sokone/internal/shop/woocommerce"
)

const soap = `{"id":34,"name":"洗剤 &amp; 詰替","slug":"soap","type":"simple","prices":{"currency_code":"%s","currency_minor_unit":%d,"price":"%s","price_range":%s},
	"images":[{"src":"https://shop.example/a.jpg"}],"is_purchasable":true,"is_in_stock":%t,"is_password_protected":false}`

func serve(t *testing.T, product string) (base string, quote func(path string, established bool) (shop.Quote, error)) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case product == "":
			if strings.HasPrefix(r.URL.Path, "/product/") {
				_, _ = fmt.Fprint(w, `<title>Soap</title><script type="application/ld+json">{"@type":"Product","name":"Soap","offers":{"price":"12.50","priceCurrency":"EUR"}}</script>`)
				return
			}
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"code":"rest_no_route"}`)
		case r.URL.Path == "/wp-json/wc/store/v1/products" && r.URL.Query().Get("slug") == "soap":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, "["+product+"]")
		case r.URL.Path == "/wp-json/wc/store/v1/products/34":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, product)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"code":"woocommerce_rest_product_invalid_id","data":{"status":404}}`)
		}
	}))
	t.Cleanup(s.Close)
	client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now})
	a := woocommerce.New(client, page.New(client, time.Now), time.Now)
	return s.URL, func(path string, established bool) (shop.Quote, error) {
		u, err := url.Parse(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		ref, ok := a.Match(u)
		if !ok {
			t.Fatalf("%s is not matched", path)
		}
		q, err := a.Quote(context.Background(), ref)
		if err == nil && established {
			return a.Quote(context.Background(), q.Ref)
		}
		return q, err
	}
}

func TestPricesInTheShopsOwnUnit(t *testing.T) {
	for _, tc := range []struct {
		currency string
		unit     int
		price    string
		want     string // "" for a refusal
	}{
		{"JPY", 0, "1980", "1980"},
		{"JPY", 2, "50000", "500"}, // a shop that shows yen with decimals
		{"JPY", 2, "50050", ""},    // digits would be lost
		{"EUR", 2, "1250", "12.50"},
		{"USD", 0, "13", "13.00"},
		{"KWD", 3, "4250", "4.250"},
		{"USD", 2, "19.00", ""}, // no integer
		{"EUR", 2, "0", ""},
		{"EUR", 2, "", ""},
		{"XXXX", 2, "100", ""},
	} {
		_, quote := serve(t, fmt.Sprintf(soap, tc.currency, tc.unit, tc.price, "null", true))
		for _, established := range []bool{false, true} {
			q, err := quote("/product/soap/", established)
			if tc.want == "" {
				if err == nil || shop.AsError(err).Kind != shop.KindParse {
					t.Errorf("%+v: %s %v", tc, q.Price, err)
				}
				continue
			}
			if err != nil || q.Adapter != "woocommerce" || q.Price.Number() != tc.want && !strings.HasPrefix(q.Price.Number(), tc.want) || q.Availability != shop.InStock || q.Name != "洗剤 & 詰替" || q.Evidence != fmt.Sprintf("prices.price %s (currency_minor_unit %d)", tc.price, tc.unit) {
				t.Errorf("%+v: %+v %v", tc, q, err)
			}
		}
	}
}

func TestSoldOutAndVariants(t *testing.T) {
	_, quote := serve(t, fmt.Sprintf(soap, "JPY", 0, "1980", "null", false))
	if q, err := quote("/product/soap/", true); err != nil || q.Availability != shop.OutOfStock {
		t.Errorf("%+v %v", q, err)
	}
	_, quote = serve(t, fmt.Sprintf(soap, "JPY", 0, "1980", `{"min_amount":"1980","max_amount":"2980"}`, true))
	if q, err := quote("/product/soap/", false); err == nil || shop.AsError(err).Kind != shop.KindParse {
		t.Errorf("%+v %v", q, err)
	}
}

func TestASubscriptionIsNoPriceOfOnePurchase(t *testing.T) {
	for _, kind := range []string{"subscription", "variable-subscription", "subscription_variation"} {
		_, quote := serve(t, strings.Replace(fmt.Sprintf(soap, "JPY", 0, "1980", "null", true), `"simple"`, `"`+kind+`"`, 1))
		if q, err := quote("/product/soap/", true); err == nil || shop.AsError(err).Kind != shop.KindParse || !strings.Contains(err.Error(), "subscription") {
			t.Errorf("%s: %+v %v", kind, q, err)
		}
	}
}

// What is found by another slug is another product: the page is read instead.
func TestAProductOfAnotherSlugIsNotTaken(t *testing.T) {
	for asked, tc := range map[string]struct{ slug, adapter string }{
		"soap":                        {"soap", "woocommerce"},
		"SOAP":                        {"soap", "woocommerce"},
		"%E6%B4%97%E5%89%A4":          {"%e6%b4%97%e5%89%a4", "woocommerce"},
		"%E6%B4%97%E5%89%A4-refill-2": {"洗剤-refill-2", "woocommerce"},
		"gone":                        {"soap", "page"},
	} {
		product := strings.Replace(fmt.Sprintf(soap, "EUR", 2, "999", "null", true), `"slug":"soap"`, `"slug":"`+tc.slug+`"`, 1)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/product/") {
				_, _ = fmt.Fprint(w, `<title>Soap</title><script type="application/ld+json">{"@type":"Product","name":"Soap","offers":{"price":"12.50","priceCurrency":"EUR"}}</script>`)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, "["+product+"]")
		}))
		client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now, IgnoreRobots: true})
		address := s.URL + "/product/" + asked + "/"
		q, err := woocommerce.New(client, page.New(client, time.Now), time.Now).Quote(context.Background(), shop.Ref{Adapter: "woocommerce", ItemCode: address, URL: address})
		if err != nil || q.Adapter != tc.adapter {
			t.Errorf("%s: %+v %v", asked, q, err)
		}
		s.Close()
	}
}

func TestAShopWithoutTheInterfaceIsReadByItsPage(t *testing.T) {
	_, quote := serve(t, "")
	if q, err := quote("/product/soap/", false); err != nil || q.Adapter != "page" || q.Price.Number() != "12.50" {
		t.Errorf("%+v %v", q, err)
	}
}

func TestAnotherProductIsDiscarded(t *testing.T) {
	base, _ := serve(t, strings.Replace(fmt.Sprintf(soap, "JPY", 0, "1980", "null", true), `"id":34`, `"id":35`, 1))
	client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now})
	a := woocommerce.New(client, page.New(client, time.Now), time.Now)
	host := strings.TrimPrefix(base, "http://")
	if q, err := a.Quote(context.Background(), shop.Ref{Adapter: "woocommerce", ItemCode: host + "#34", URL: base + "/product/soap/"}); err == nil || shop.AsError(err).Kind != shop.KindParse {
		t.Errorf("%+v %v", q, err)
	}
}

// A shop that has closed its interface is not one whose product is gone.
func TestAnInterfaceThatIsClosedIsNoProductThatIsGone(t *testing.T) {
	base, _ := serve(t, "")
	client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now})
	a := woocommerce.New(client, page.New(client, time.Now), time.Now)
	host := strings.TrimPrefix(base, "http://")
	if q, err := a.Quote(context.Background(), shop.Ref{Adapter: "woocommerce", ItemCode: host + "#34", URL: base + "/product/soap/"}); err == nil || shop.AsError(err).Kind != shop.KindParse {
		t.Errorf("%+v %v", q, err)
	}
	base, _ = serve(t, soap)
	host = strings.TrimPrefix(base, "http://")
	if q, err := a.Quote(context.Background(), shop.Ref{Adapter: "woocommerce", ItemCode: host + "#99", URL: base + "/product/soap/"}); err == nil || shop.AsError(err).Kind != shop.KindEmpty {
		t.Errorf("%+v %v", q, err)
	}
}

func TestTheShopsOwnNameIsItsIdentity(t *testing.T) {
	base, quote := serve(t, fmt.Sprintf(soap, "JPY", 0, "1980", "null", true))
	want, err := quote("/product/soap/", false)
	if err != nil {
		t.Fatal(err)
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, base+r.URL.RequestURI(), http.StatusMovedPermanently)
	}))
	defer other.Close()
	client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now})
	a := woocommerce.New(client, page.New(client, time.Now), time.Now)
	if q, err := a.Quote(context.Background(), shop.Ref{Adapter: "woocommerce", ItemCode: other.URL + "/product/soap/", URL: other.URL + "/product/soap/"}); err != nil || q.Ref != want.Ref {
		t.Errorf("%+v %v, want %+v", q.Ref, err, want.Ref)
	}
}
