package page

import (
	"strings"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
)

// Bounds of what is kept of a page.
const (
	maxName    = 300
	maxSnippet = 120
)

// find reads the quote: off the page's one product, else off its meta tags.
func find(d *document) (shop.Quote, *shop.Error) {
	products := d.products()
	p, clear := d.choose(products)
	if !clear {
		return shop.Quote{}, failure(shop.KindParse, "This page shows several products, and does not say which one it is about. Open the product's own page.")
	}
	var candidates []shop.Candidate
	if p != nil {
		f := d.offer(p)
		candidates = f.candidates
		if f.refused != "" {
			return shop.Quote{}, failure(shop.KindParse, f.refused)
		}
		if f.price.Known() {
			q := shop.Quote{Price: f.price, Availability: f.availability, FoundBy: p.source, Candidates: candidates,
				Name: clean(p.text("name"), maxName), ImageURL: d.image(p.text("image", "thumbnailurl"))}
			d.complete(&q)
			return q, nil
		}
	}
	if q, ok := d.openGraph(); ok {
		q.Candidates = append(candidates, q.Candidates...)
		return q, nil
	}
	return shop.Quote{}, failure(shop.KindParse, "No price that can be trusted was found on this page.")
}

// complete takes from the page what the product does not say of itself.
func (d *document) complete(q *shop.Quote) {
	if q.Name == "" {
		q.Name = clean(first(d.meta["og:title"], d.h1, d.title), maxName)
	}
	if q.ImageURL == "" {
		q.ImageURL = d.image(first(d.meta["og:image:secure_url"], d.meta["og:image"], d.meta["twitter:image"]))
	}
	if !q.Quantity.Known() {
		q.Quantity = Quantity(q.Name)
	}
}

func (d *document) image(ref string) string {
	if u := d.resolve(ref); u != nil && len(ref) <= 2048 {
		return u.String()
	}
	return ""
}

func first(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}

// clean makes one bounded line of plain text of whatever a page says.
func clean(s string, runes int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r < 0x20 || r == 0x7f || r == ' ' || r == '\u00a0' || r == '\u2028' || r == '\u2029'
	}), " ")
	if r := []rune(s); len(r) > runes {
		return string(r[:runes])
	}
	return s
}

// openGraph reads product:price:* and og:price:*.
func (d *document) openGraph() (shop.Quote, bool) {
	for _, prefix := range []string{"product:sale_price:", "product:price:", "og:price:", "og:product:price:"} {
		text := d.meta[prefix+"amount"]
		if text == "" {
			continue
		}
		price, ok := d.price(value{text: text}, first(d.meta[prefix+"currency"], d.meta["product:price:currency"], d.meta["og:price:currency"]))
		if !ok {
			continue
		}
		q := shop.Quote{Price: price, FoundBy: "opengraph",
			Availability: availabilityOf(first(d.meta["product:availability"], d.meta["og:availability"])),
			Candidates:   []shop.Candidate{{FoundBy: "opengraph", Price: price, Text: clean(prefix+"amount "+text, maxSnippet), Won: true, Why: "the page's product tags"}}}
		d.complete(&q)
		return q, true
	}
	return shop.Quote{}, false
}

// price reads an amount; false where it is none that somebody could pay.
func (d *document) price(v value, currency string) (money.Amount, bool) {
	code := d.currencyOf(currency, v.text)
	if code == "" {
		return money.Amount{}, false
	}
	n := v.text
	if !v.number || strings.ContainsAny(n, "eE") {
		var ok bool
		if n, ok = number(v.text, code, d.lang); !ok {
			return money.Amount{}, false
		}
	}
	a, err := money.Parse(n, code)
	return a, err == nil && a.Positive()
}
