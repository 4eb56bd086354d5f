package page

import (
	"fmt"
	"html"
	"slices"
	"strings"

	xhtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
)

// Bounds of what is kept of a page.
const (
	maxName    = 300
	maxSnippet = 120
)

// find reads the quote: off the page's one product, else off its meta tags.
func find(d *document) (q shop.Quote, e *shop.Error) {
	products := d.products()
	p, clear := d.choose(products)
	if !clear {
		return shop.Quote{}, failure(shop.KindParse, "This page shows several products, and does not say which one it is about. Open the product's own page.")
	}
	var candidates []shop.Candidate
	soldOut, name, image := false, "", ""
	seen := d.sightings()
	if p != nil {
		f := d.offer(p)
		candidates = append(f.candidates, candidatesOf(seen, f.price)...)
		if f.refused != "" {
			return shop.Quote{}, failure(shop.KindParse, f.refused)
		}
		if f.price.Known() {
			q := shop.Quote{Price: f.price, Availability: f.availability, FoundBy: p.source, Candidates: candidates, Quantity: f.quantity,
				Name: clean(html.UnescapeString(p.text("name")), maxName), ImageURL: d.image(p.text("image", "thumbnailurl"))}
			return d.confirmed(q, seen)
		}
		soldOut = f.availability == shop.OutOfStock
		name, image = clean(html.UnescapeString(p.text("name")), maxName), d.image(p.text("image", "thumbnailurl"))
		if stock := f.availability; stock != "" && stock != shop.Unknown {
			defer func() { // it says no price, and yet whether it is there
				if e == nil && q.Availability == shop.Unknown {
					q.Availability = stock
				}
			}()
		}
	}
	if q, ok := d.openGraph(); ok {
		q.Candidates = append(candidates, q.Candidates...)
		return d.confirmed(q, seen)
	}
	if price, ok := d.looseItemprop(); ok {
		q := shop.Quote{Price: price, Availability: shop.Unknown, FoundBy: "microdata", Candidates: append(candidatesOf(seen, price), shop.Candidate{FoundBy: "microdata", Price: price, Text: snippet("itemprop=price", price.Number(), price.Currency()), Won: true, Why: "the one price that is marked"})}
		return d.confirmed(q, seen)
	}
	if g, ok := d.visiblePrice(); ok {
		q := shop.Quote{Price: g.amount, Availability: shop.Unknown, FoundBy: "page", Candidates: candidatesOf(seen, g.amount)}
		d.complete(&q)
		return q, nil
	}
	if price, ok := d.formPrice(); ok && len(seen) == 0 {
		q := shop.Quote{Price: price, Availability: shop.Unknown, FoundBy: "form", Candidates: []shop.Candidate{{FoundBy: "form", Price: price, Text: snippet("the form of the cart", price.Number(), price.Currency()), Won: true, Why: "the page shows no other"}}}
		d.complete(&q)
		return q, nil
	}
	if soldOut {
		q := shop.Quote{Name: name, ImageURL: image}
		d.complete(&q)
		q.Availability = shop.OutOfStock
		return q, &shop.Error{Kind: shop.KindParse, SoldOut: true, Message: "The product is sold out, and the shop shows no price meanwhile."}
	}
	if price, ok := d.dataPrice(); ok && len(seen) == 0 {
		q := shop.Quote{Price: price, Availability: shop.Unknown, FoundBy: "data-price", Candidates: []shop.Candidate{{FoundBy: "data-price", Price: price, Text: snippet("data-price", price.Number(), price.Currency()), Won: true, Why: "the page shows no other"}}}
		d.complete(&q)
		return q, nil
	}
	return shop.Quote{}, failure(shop.KindParse, "No price that can be trusted was found on this page.")
}

// confirmed compares what the page says to machines with what it shows, and its
// tags with its product. In this order:
//
//   - where the price shown as paid is the same, it stands
//   - where the page shows that price as one without tax, and one with tax beside
//     it, the one with tax is paid
//   - where the page shows another as paid, neither can be trusted
//   - where the page shows none and its tags say another, neither can be trusted
func (d *document) confirmed(q shop.Quote, seen []sighting) (shop.Quote, *shop.Error) {
	g, ok := d.visiblePrice()
	shown := ok && g.amount.SameCurrency(q.Price)
	agrees := shown && (g.amount.Equal(q.Price.Round()) || g.amount.Equal(q.Price))
	switch {
	case agrees:
	case ok && g.priced && !shown && !among(seen, q.Price, func(sighting) bool { return true }):
		return shop.Quote{}, failure(shop.KindParse, "The page states its price in one currency to machines and shows another, so neither can be trusted.")
	case shown && among(seen, q.Price, func(g sighting) bool { return !g.paid && !g.struck && g.why != withoutTax }):
		return shop.Quote{}, failure(shop.KindParse, "The page states to machines what it shows as another kind of price, so neither can be trusted.")
	case shown && g.strong && untaxed(seen, q.Price):
		for i := range q.Candidates {
			q.Candidates[i].Won = false
		}
		q.Price, q.FoundBy = g.amount, "page"
		q.Candidates = append(q.Candidates, candidatesOf([]sighting{g}, g.amount)...)
	case shown && g.priced:
		return shop.Quote{}, failure(shop.KindParse, "The page states one price to machines and shows another, so neither can be trusted.")
	default:
		if tag, ok := d.openGraph(); ok && !tag.Price.Round().Equal(q.Price.Round()) {
			return shop.Quote{}, failure(shop.KindParse, "The page states two prices to machines and shows neither plainly, so neither can be trusted.")
		}
	}
	d.complete(&q)
	return q, nil
}

// among reports an amount that is shown as something.
func among(seen []sighting, price money.Amount, as func(sighting) bool) bool {
	return slices.ContainsFunc(seen, func(g sighting) bool { return g.amount.Equal(price.Round()) && as(g) })
}

// untaxed reports an amount that the page itself calls a price without tax.
func untaxed(seen []sighting, price money.Amount) bool {
	return slices.ContainsFunc(seen, func(g sighting) bool { return g.why == withoutTax && g.amount.Equal(price.Round()) })
}

// looseItemprop is a price that is marked up in no item, as some pages do in
// their head. Several that differ say nothing.
func (d *document) looseItemprop() (money.Amount, bool) {
	var price money.Amount
	currency := ""
	for _, e := range d.props {
		if term(attr(e, "itemprop")) == "pricecurrency" {
			currency = valueOf(e)
		}
	}
	for _, e := range d.props {
		if term(attr(e, "itemprop")) != "price" || inItem(e) {
			continue
		}
		a, ok := d.price(value{text: valueOf(e)}, currency)
		if !ok || price.Known() && !a.Equal(price) {
			return money.Amount{}, false
		}
		price = a
	}
	return price, price.Known()
}

func inItem(e *xhtml.Node) bool {
	for p := e.Parent; p != nil; p = p.Parent {
		if _, scope := attrOK(p, "itemscope"); scope {
			return true
		}
	}
	return false
}

// formPrice is a price that stands only in the fields of the cart's form.
func (d *document) formPrice() (money.Amount, bool) {
	fields := map[string]string{}
	for _, e := range d.fields {
		if within(e, atom.Form) != nil {
			fields[strings.ToLower(attr(e, "name"))] = attr(e, "value")
		}
	}
	if fields["price"] == "" {
		return money.Amount{}, false
	}
	return d.price(value{text: fields["price"]}, first(fields["currency"], fields["pricecurrency"], d.pageCurrency()))
}

// snippet is how a machine's statement is shown to a person: offers.price "1298" JPY.
func snippet(where, text, currency string) string {
	return clean(fmt.Sprintf("%s %q %s", where, clean(text, maxSnippet/2), clean(currency, 8)), maxSnippet)
}

// dataPrice is the one price that elements hold for the page's scripts. One
// without decimals may be in cents, unless its currency has none.
func (d *document) dataPrice() (price money.Amount, ok bool) {
	for e := d.root; e != nil; e = following(e, e.DataAtom == atom.Template) {
		text := first(attr(e, "data-price"), attr(e, "data-product-price"), attr(e, "data-price-amount"))
		if text == "" {
			continue
		}
		a, ok := d.price(value{text: text}, first(attr(e, "data-currency"), attr(e, "data-price-currency"), d.taggedCurrency(), d.scriptCurrency()))
		if !ok || price.Known() && !a.Equal(price) || money.Digits(a.Currency()) > 0 && !strings.ContainsAny(text, ".,") {
			return money.Amount{}, false
		}
		price = a
	}
	return price, price.Known()
}

// complete takes from the page what the product does not say of itself.
func (d *document) complete(q *shop.Quote) {
	if q.Name == "" {
		q.Name = clean(first(d.meta["og:title"], d.h1, d.title), maxName)
	}
	if q.ImageURL == "" {
		q.ImageURL = d.image(first(d.meta["og:image:secure_url"], d.meta["og:image"], d.meta["twitter:image"]))
	}
	if q.Availability == shop.Unknown || q.Availability == "" {
		if q.Availability = d.stockJSON(); q.Availability == shop.Unknown {
			q.Availability = d.stockText()
		}
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
			Candidates:   []shop.Candidate{{FoundBy: "opengraph", Price: price, Text: snippet(prefix+"amount", text, price.Currency()), Won: true, Why: "the page's product tags"}}}
		return q, true
	}
	for i := '1'; i <= '4'; i++ {
		label, text := strings.ToLower(d.meta["twitter:label"+string(i)]), d.meta["twitter:data"+string(i)]
		if label != "price" && label != "preis" && label != "価格" && label != "prix" {
			continue
		}
		if price, ok := d.price(value{text: text}, ""); ok {
			q := shop.Quote{Price: price, Availability: shop.Unknown, FoundBy: "twitter", Candidates: []shop.Candidate{{FoundBy: "twitter", Price: price, Text: snippet("twitter:data", text, price.Currency()), Won: true, Why: "the page's card"}}}
			return q, true
		}
	}
	return shop.Quote{}, false
}

// price reads an amount; false where it is none that somebody could pay, or where
// its text names another currency than the one declared.
func (d *document) price(v value, currency string) (money.Amount, bool) {
	code := d.currencyOf(currency, v.text)
	if code == "" {
		return money.Amount{}, false
	}
	n := v.text
	if !v.number || strings.ContainsAny(n, "eE") {
		if other := signCurrency(digitsOf(n)); other != "" && other != code || other == "" && strings.Contains(n, "$") && !slices.Contains(sharedSigns["$"], code) {
			return money.Amount{}, false
		}
		var ok bool
		if n, ok = number(n, code, d.lang); !ok || groupOrFraction(v.text, code, d.lang) {
			return money.Amount{}, false
		}
	}
	a, err := money.Parse(n, code)
	return a, err == nil && a.Positive()
}

// groupOrFraction reports "1.299" where neither the language nor the currency says
// which: machines write a point before fractions, and people between groups.
func groupOrFraction(text, currency, lang string) bool {
	_, frac, ok := strings.Cut(strings.TrimSpace(text), ".")
	return ok && len(frac) == 3 && digitsOnly(frac) && !strings.HasSuffix(frac, "00") && money.Digits(currency) == 2 && !pointCurrencies[currency] && !wholeInPractice[currency] && !commaLanguages[baseLanguage(lang)]
}
