package custom

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/shop"
)

const good = "shops:\n  - name: mihon\n    host: shop.example\n    price: {css: .now}\n"

func TestFaultsNameLineAndField(t *testing.T) {
	if shops, err := parse(strings.NewReader(good)); err != nil || len(shops) != 1 {
		t.Fatalf("%v", err)
	}
	for file, want := range map[string]string{
		"":        "shops:",
		"shops:":  "shops",
		"shop: x": "line 1: shop",
		"shops:\n  - name: Mihon!\n    host: shop.example\n    price: {css: a}":                            "line 2: name",
		"shops:\n  - name: mihon\n    price: {css: a}":                                                     "line 2: host",
		"shops:\n  - name: mihon\n    host: https://shop.example/\n    price: {css: a}":                    "line 3: host",
		"shops:\n  - name: mihon\n    host: shop.example":                                                  "line 2: price",
		"shops:\n  - name: mihon\n    host: shop.example\n    price: .now":                                 "line 4: price",
		"shops:\n  - name: mihon\n    host: shop.example\n    price: {css: \"[\"}":                         "line 4: price.css",
		"shops:\n  - name: mihon\n    host: shop.example\n    price: {json: \"price\"}":                    "line 4: price.json",
		"shops:\n  - name: mihon\n    host: shop.example\n    price: {css: a, json: $.b}":                  "line 4: price",
		"shops:\n  - name: mihon\n    host: shop.example\n    price: {xpath: //b}":                         "line 4: xpath",
		"shops:\n  - name: mihon\n    host: shop.example\n    path: \"(\"\n    price: {css: a}":            "line 4: path",
		"shops:\n  - name: mihon\n    host: shop.example\n    price: {css: a}\n    currency: {value: YEN}": "line 5: currency",
		"shops:\n  - name: mihon\n    host: shop.example\n    price: {css: a}\n    colour: {value: red}":   "line 5: colour",
		good + "  - name: mihon\n    host: other.example\n    price: {css: a}\n":                           "line 5: name",
		"shops:\n  - name: mihon\n    host: shop.example\n    price: {css: \"\"}":                          "line 4: price.css",
		"shops:\n  - name: mihon\n    host: shop.example\n    price: {css: a, in: b}":                      "line 4: price.in",
		"shops:\n  - name: mihon\n    host: shop.example\n    price: {json: $.a, attr: b}":                 "line 4: price.attr",
		"shops:\n  - name: mihon\n    host: shop.example\n    price: {value: 5}":                           "line 4: price",
		"shops:\n  - name: mihon\n    host: shop.example\n    price: {css: a}\n    price: {css: b}":        "line 5: price",
		"shops:\n  - name: mihon\n    host: shop.example\n    price:\n      css: [a]":                      "line 5: price.css",
		good + "---\nshops: []": "one document",
		"shops:\n  - name: A\n    host: shop.example\n  - name: b\n    host: a b\n": "line 2: name",
		"shops:\n  - name: a\n    host: shop.example\n  - name: b\n    host: a b\n": "line 5: host", // each fault of the file
		"shops:\n\t- name: a": "line 2",
		"shops: [":            "line 1",
		"- a\n- b":            "line 1",
	} {
		if _, err := parse(strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
}

func TestADescribedShopIsRead(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/item/tea":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(`<html><body><h1>玄米茶 500g</h1><b class="now">1,280円</b><i data-stock="在庫あり"></i><script id="d" type="application/json">{"p":{"price":1190.5,"ok":false}}</script></body></html>`))
		case "/item/api":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"p":{"price":"19.90","cur":"EUR","ok":true,"name":"Tea"}}`))
		case "/item/thousandth":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"p":{"price":1.234,"cur":"EUR"}}`))
		case "/item/exponent":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"p":{"price":1.98e3,"cur":"JPY"}}`))
		case "/item/wall":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
		case "/any/several":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"a":{"price":"100"},"b":{"price":"200"},"c":{"price":"300"}}`))
		case "/any/same":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"a":{"price":"100"},"b":{"price":"100"}}`))
		case "/item/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/item/short":
			http.Redirect(w, r, "/item/tea?utm_source=x", http.StatusFound)
		case "/item/gone":
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write([]byte("<html><body><h1>x</h1></body></html>"))
		}
	}))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	shops, err := parse(strings.NewReader(`shops:
  - name: html
    host: ` + host + `
    path: "^/item/tea$"
    price: {css: ".now"}
    availability: {css: "i", attr: data-stock}
    product: {css: h1}
  - name: script
    host: ` + host + `
    path: "^/item/tea$"
    price: {json: "$.p.price", in: "script#d"}
    currency: {value: USD}
    availability: {json: "$.p.ok", in: "script#d"}
  - name: json
    host: ` + host + `
    path: "^/item/"
    price: {json: "$.p.price"}
    currency: {json: "$.p.cur"}
    availability: {json: "$.p.ok"}
    product: {json: "$.p.name"}
  - name: any
    host: ` + host + `
    path: "^/any/"
    price: {json: "$..price"}
    currency: {value: JPY}
`))
	if err != nil {
		t.Fatal(err)
	}
	client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now, IgnoreRobots: true})
	for _, tc := range []struct {
		shop  int
		path  string
		price string
		stock shop.Availability
		kind  shop.Kind
	}{
		{0, "/item/tea", "1280 JPY", shop.InStock, ""},
		{1, "/item/tea", "1190.5 USD", shop.OutOfStock, ""},
		{2, "/item/api", "19.90 EUR", shop.InStock, ""},
		{2, "/item/gone", "", "", shop.KindEmpty},
		{2, "/item/thousandth", "1.2340 EUR", shop.Unknown, ""},
		{2, "/item/exponent", "1980 JPY", shop.Unknown, ""},
		{2, "/item/wall", "", "", shop.KindBlocked},
		{3, "/any/several", "", "", shop.KindParse},
		{3, "/any/same", "100 JPY", shop.Unknown, ""},
		{2, "/item/other", "", "", shop.KindParse},
		{2, "/item/moved", "", "", shop.KindEmpty},
	} {
		a := New(shops[tc.shop], client, time.Now)
		u, err := url.Parse(s.URL + tc.path)
		if err != nil {
			t.Fatal(err)
		}
		ref, ok := a.Match(u)
		if !ok {
			t.Fatalf("%s is not matched by %s", tc.path, a.Name())
		}
		q, err := a.Quote(context.Background(), ref)
		if tc.kind != "" {
			if err == nil || shop.AsError(err).Kind != tc.kind {
				t.Errorf("%s: %+v %v", tc.path, q, err)
			}
			continue
		}
		if err != nil || q.Price.String() != tc.price || q.Availability != tc.stock || q.Adapter != a.Name() {
			t.Errorf("%s %s: %+v %v", a.Name(), tc.path, q, err)
		}
	}
}

func TestAQuoteSaysWhereItsPriceStoodAndWhatItIs(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/item/short" {
			http.Redirect(w, r, "/item/tea?utm_source=x", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte(`<html><body><h1>Tea</h1><b class="now">1,280円</b></body></html>`))
	}))
	defer s.Close()
	shops, err := parse(strings.NewReader("shops:\n  - name: a\n    host: " + strings.TrimPrefix(s.URL, "http://") + "\n    path: ^/item/\n    price: {css: .now}\n"))
	if err != nil {
		t.Fatal(err)
	}
	client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now, IgnoreRobots: true})
	q, err := New(shops[0], client, time.Now).Quote(context.Background(), shop.Ref{Adapter: "custom-a", URL: s.URL + "/item/short"})
	if err != nil || q.Evidence != "css .now: 1,280円" || q.URL != s.URL+"/item/tea" {
		t.Errorf("%+v %v", q, err)
	}
}

func FuzzFile(f *testing.F) {
	f.Add(good)
	f.Add("shops: &a [*a]")
	f.Fuzz(func(t *testing.T, file string) {
		shops, err := parse(strings.NewReader(file))
		if err == nil && len(shops) == 0 {
			t.Error("a file without shops is taken")
		}
	})
}

func TestMatch(t *testing.T) {
	shops, err := parse(strings.NewReader("shops:\n  - {name: a, host: \"*.shop.example\", path: ^/p/, price: {css: b}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	a := New(shops[0], nil, time.Now)
	for address, want := range map[string]bool{"https://www.shop.example/p/1": true, "https://WWW.shop.example/p/1": true, "https://shop.example/p/1": false, "https://evilshop.example/p/1": false, "https://www.shop.example/c/1": false} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := a.Match(u); ok != want {
			t.Errorf("%s: %t", address, ok)
		}
	}
}
