package page_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/shop/page"
)

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
