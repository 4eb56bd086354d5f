package page

import (
	"slices"
	"strings"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
)

// finding is what the offers of one product say.
type finding struct {
	price        money.Amount
	availability shop.Availability
	quantity     shop.Quantity // by the price of a unit, where one is stated
	candidates   []shop.Candidate
	refused      string // why nothing is taken though prices are there
}

// listed are the kinds of a price that nobody pays (schema.org PriceTypeEnumeration).
var listed = map[string]bool{"listprice": true, "msrp": true, "srp": true, "strikethroughprice": true, "regularprice": true, "minimumadvertisedprice": true, "invoiceprice": true}

// lease marks an offer that is not a sale.
var lease = map[string]bool{"leaseout": true, "lease": true, "rent": true, "hire": true, "constructioninstallation": true}

// offer finds the price that is paid for the product.
func (d *document) offer(p *thing) (f finding) {
	offers := d.variantOffers(p)
	type priced struct {
		amount money.Amount
		stock  shop.Availability
	}
	var got []priced
	onlyUsed := !slices.ContainsFunc(offers, func(o *thing) bool { return !used(o) })
	for _, o := range offers {
		stock := availabilityOf(o.text("availability"))
		if lease[term(o.text("businessfunction"))] || used(o) && !onlyUsed {
			continue
		}
		if f.availability == "" {
			f.availability = stock
		}
		for _, c := range d.prices(o, p) {
			f.candidates = append(f.candidates, c)
			if c.Won {
				got = append(got, priced{c.Price, stock})
			}
		}
	}
	if len(got) == 0 {
		return f
	}
	defer func() { f.quantity = d.quantityByUnitPrice(offers, f.price) }()
	// The page's own currency decides between several.
	if foreign := func(g priced) bool { return !g.amount.SameCurrency(got[0].amount) }; slices.ContainsFunc(got, foreign) {
		main := d.pageCurrency()
		if i := slices.IndexFunc(got, func(g priced) bool { return g.amount.Currency() == main }); i >= 0 {
			got = slices.DeleteFunc(got, func(g priced) bool { return g.amount.Currency() != main })
		}
	}
	best := got[0]
	for _, g := range got[1:] {
		if !g.amount.SameCurrency(best.amount) {
			f.refused = "The page states its price in several currencies, and not which one is paid."
			return f
		}
		better := g.amount.Less(best.amount)
		if buyable(g.stock) != buyable(best.stock) {
			better = buyable(g.stock)
		}
		if better {
			best = g
		}
	}
	f.price, f.availability = best.amount, best.stock
	for i := range f.candidates {
		c := &f.candidates[i]
		if c.Won && !c.Price.Equal(best.amount) {
			c.Won, c.Why = false, "another offer is lower, or can be bought"
		}
	}
	if p.is("productgroup") && !d.allSame(offers, p) {
		f.refused = "The variants of this product cost different prices, and the address names none of them. Choose one on the page and copy the address again."
	}
	return f
}

// unitCodes of UN/CEFACT, as schema.org uses them: the base unit, and how much of
// it one is.
var unitCodes = map[string]struct{ base, size string }{
	"grm": {"g", "1"}, "g": {"g", "1"}, "kgm": {"g", "1000"}, "kg": {"g", "1000"}, "mlt": {"ml", "1"}, "ml": {"ml", "1"}, "ltr": {"ml", "1000"}, "l": {"ml", "1000"},
	"mtr": {"m", "1"}, "m": {"m", "1"}, "h87": {"piece", "1"}, "c62": {"piece", "1"}, "ea": {"piece", "1"},
}

// quantityByUnitPrice is the content that a stated price of a unit implies:
// 2.40 at 0.80 per 100 g is 300 g.
func (d *document) quantityByUnitPrice(offers []*thing, price money.Amount) shop.Quantity {
	for _, o := range offers {
		for _, s := range o.things("pricespecification") {
			for _, ref := range s.things("referencequantity") {
				unit, known := unitCodes[strings.ToLower(first(ref.text("unitcode"), ref.text("unittext")))]
				v, ok := firstValue(s, "price")
				each, priced := d.price(v, first(s.text("pricecurrency"), price.Currency()))
				times, _ := number(first(ref.text("value"), "1"), "", "")
				if !known || !ok || !priced || !each.SameCurrency(price) {
					continue
				}
				amount, err1 := price.Div(each.Number())
				amount, err2 := amount.Mul(times)
				amount, err3 := amount.Mul(unit.size)
				if err1 == nil && err2 == nil && err3 == nil {
					return shop.Quantity{Amount: amount.Round().Number(), Unit: unit.base}
				}
			}
		}
	}
	return shop.Quantity{}
}

func buyable(a shop.Availability) bool { return a != shop.OutOfStock }

func used(o *thing) bool {
	c := term(o.text("itemcondition"))
	return c == "usedcondition" || c == "refurbishedcondition" || c == "damagedcondition"
}

// variantOffers are the product's offers; of a group, those of the variant that
// the address names, or of all.
func (d *document) variantOffers(p *thing) []*thing {
	offers := flatten(p.things("offers"))
	variants := p.things("hasvariant")
	for _, v := range variants {
		for _, ref := range []string{v.text("url"), v.id, firstURL(v.things("offers"))} {
			if u := d.resolve(ref); u != nil && d.url != nil && samePage(u, d.url) {
				p.types = []string{"product"} // one variant is meant
				return flatten(v.things("offers"))
			}
		}
	}
	for _, v := range variants {
		offers = append(offers, flatten(v.things("offers"))...)
	}
	return offers
}

func firstURL(offers []*thing) string {
	for _, o := range offers {
		if u := o.text("url"); u != "" {
			return u
		}
	}
	return ""
}

// flatten opens AggregateOffers that hold offers of their own.
func flatten(offers []*thing) []*thing {
	var out []*thing
	for _, o := range offers {
		if inner := o.things("offers"); len(inner) > 0 && o.text("price") == "" {
			out = append(out, inner...)
			continue
		}
		out = append(out, o)
	}
	return out
}

// prices lists what an offer says it costs, the paid one marked.
func (d *document) prices(o, p *thing) []shop.Candidate {
	currency := first(o.text("pricecurrency"), p.text("pricecurrency"))
	var out []shop.Candidate
	add := func(v value, cur, where string, paid bool, why string) {
		amount, ok := d.price(v, cur)
		if !ok {
			why, paid = "not a price above zero, or in no currency that can be told", false
		}
		out = append(out, shop.Candidate{FoundBy: p.source, Price: amount, Text: snippet("offers."+where, v.text, cur), Won: paid, Why: why})
	}
	specs := o.things("pricespecification")
	own := len(out)
	for _, v := range o.props["price"] {
		if v.thing == nil {
			add(v, currency, "price", true, "the offer's price")
			break
		}
	}
	if len(out) == own && len(specs) == 0 {
		low, high := o.text("lowprice", "minprice"), o.text("highprice", "maxprice")
		if v, ok := firstValue(o, "lowprice", "minprice"); ok {
			add(v, currency, "lowPrice", high == "" || high == low || o.text("offercount") == "1", "the range of offers starts here")
		}
	}
	for _, s := range specs {
		v, ok := firstValue(s, "price")
		if !ok {
			continue
		}
		kind := term(s.text("pricetype"))
		paid, why := true, "the price specification"
		switch {
		case listed[kind] || kind == "":
			if listed[kind] {
				paid, why = false, "a list price"
			}
		}
		switch {
		case len(s.things("referencequantity")) > 0:
			paid, why = false, "a price for a unit"
		case len(s.things("validformembertier")) > 0 || s.text("validformembertier") != "":
			paid, why = false, "a price for members"
		case s.is("deliverychargespecification", "paymentchargespecification"):
			paid, why = false, "a charge"
		case strings.EqualFold(s.text("valueaddedtaxincluded"), "false") && hasTaxed(specs):
			paid, why = false, "without tax"
		}
		add(v, first(s.text("pricecurrency"), currency), strings.TrimRight("priceSpecification "+kind, " "), paid, why)
	}
	return out
}

func hasTaxed(specs []*thing) bool {
	for _, s := range specs {
		if strings.EqualFold(s.text("valueaddedtaxincluded"), "true") {
			return true
		}
	}
	return false
}

func firstValue(t *thing, names ...string) (value, bool) {
	for _, n := range names {
		for _, v := range t.props[n] {
			if v.thing == nil && v.text != "" {
				return v, true
			}
		}
	}
	return value{}, false
}

// allSame reports whether all variants cost the same.
func (d *document) allSame(offers []*thing, p *thing) bool {
	var one money.Amount
	for _, o := range offers {
		for _, c := range d.prices(o, p) {
			if !c.Won {
				continue
			}
			if one.Known() && !one.Equal(c.Price) {
				return false
			}
			one = c.Price
		}
	}
	return true
}
