package page

import (
	"slices"
	"strings"
	"time"

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

const (
	variantsDiffer = "The variants of this product cost different prices, and the address names none of them. Choose one on the page and copy the address again."
	variantGone    = "The variant that this address names is not on the page any more. Choose one on the page and copy the address again."
	tooMany        = "This product has more variants than can be told apart."
)

// offer finds the price that is paid for the product: of the variant that the
// address names, else of all its offers. Offers that are no sale to everybody are
// left out; of the others the one that the page shows counts, else the lowest that
// can be bought.
func (d *document) offer(p *thing) (f finding) {
	offers, variants, refused := d.variantOffers(p)
	if refused != "" {
		f.refused = refused
		return f
	}
	type priced struct {
		amount money.Amount
		stock  shop.Availability
	}
	var got []priced
	leftOut := d.leftOut(offers)
	for _, o := range offers {
		why := leftOut[o]
		stock := availabilityOf(o.text("availability"))
		if f.availability == "" && why == "" {
			f.availability = stock
		}
		for _, c := range d.prices(o, p) {
			if why != "" {
				c.Won, c.Why = false, why
			}
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
	// Where they differ, the one that the page shows as paid is meant.
	if slices.ContainsFunc(got, func(g priced) bool { return !g.amount.Equal(got[0].amount) }) {
		if shown, ok := d.visiblePrice(); ok {
			as := func(g priced) bool { return g.amount.Equal(shown.amount) }
			if slices.ContainsFunc(got, as) {
				got = slices.DeleteFunc(got, func(g priced) bool { return !as(g) })
			}
		}
	}
	best, same := got[0], true
	for _, g := range got[1:] {
		if !g.amount.SameCurrency(best.amount) {
			f.refused = "The page states its price in several currencies, and not which one is paid."
			return f
		}
		same = same && g.amount.Equal(best.amount)
		better := g.amount.Less(best.amount)
		if buyable(g.stock) != buyable(best.stock) {
			better = buyable(g.stock)
		}
		if better || g.amount.Equal(best.amount) && (best.stock == "" || best.stock == shop.Unknown) {
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
	if variants && !same {
		f.refused = variantsDiffer
	}
	return f
}

// leftOut are the offers that are no sale of the new product to everybody, with the
// reasons: rent and member prices always; used goods, subscriptions, prices from a
// number of pieces on, and what has run out, where other offers remain.
func (d *document) leftOut(offers []*thing) map[*thing]string {
	reasons := map[*thing]string{}
	for _, no := range []struct {
		why    string
		is     func(*thing) bool
		always bool
	}{
		{"rent, or a service", func(o *thing) bool { return lease[term(o.text("businessfunction"))] }, true},
		{"a price for members", func(o *thing) bool { return o.has("validformembertier") }, true},
		{"a price for businesses", forBusinesses, false},
		{"a price for one way of paying", func(o *thing) bool { return o.has("acceptedpaymentmethod") }, false},
		{"a price for another country", d.forAbroad, false},
		{"used", used, false},
		{"a subscription", subscription, false},
		{"a price for those who buy several", fromSeveral, false},
		{"not valid now", d.expired, false},
	} {
		var out []*thing
		remain := false
		for _, o := range offers {
			switch {
			case reasons[o] != "":
			case no.is(o):
				out = append(out, o)
			default:
				remain = true
			}
		}
		if remain || no.always {
			for _, o := range out {
				reasons[o] = no.why
			}
		}
	}
	return reasons
}

// listed are the kinds of a price that nobody pays (schema.org PriceTypeEnumeration).
var listed = map[string]bool{"listprice": true, "msrp": true, "srp": true, "strikethroughprice": true, "regularprice": true, "minimumadvertisedprice": true, "invoiceprice": true}

// component are the kinds of what is paid besides, before or in parts (schema.org
// PriceComponentTypeEnumeration). A subscription is apart: see periodic.
var component = map[string]bool{"activationfee": true, "cleaningfee": true, "distancefee": true, "downpayment": true, "installment": true}

// lease marks an offer that is not a sale.
var lease = map[string]bool{"leaseout": true, "lease": true, "rent": true, "hire": true, "constructioninstallation": true, "repair": true, "maintain": true, "provideservice": true, "buy": true, "dispose": true}

func buyable(a shop.Availability) bool { return a != shop.OutOfStock }

func used(o *thing) bool {
	switch term(o.text("itemcondition")) {
	case "usedcondition", "refurbishedcondition", "damagedcondition", "used", "refurbished", "damaged":
		return true
	}
	return false
}

func forBusinesses(o *thing) bool {
	switch term(o.text("eligiblecustomertype")) {
	case "business", "reseller", "publicinstitution":
		return true
	}
	return false
}

// forAbroad reports an offer for a country with another currency than the page's.
func (d *document) forAbroad(o *thing) bool {
	there, here := regionCurrency("und-"+o.text("eligibleregion")), d.pageCurrency()
	return there != "" && here != "" && there != here
}

// subscription reports an offer whose price is paid again and again.
func subscription(o *thing) bool {
	specs := o.things("pricespecification")
	return periodic(o) || len(specs) > 0 && !slices.ContainsFunc(specs, func(s *thing) bool { return !periodic(s) })
}

func periodic(t *thing) bool {
	return t.has("billingduration") || t.has("billingincrement") || t.has("billingstart") || term(t.text("pricetype")) == "subscription" || term(t.text("pricecomponenttype")) == "subscription"
}

// fromSeveral reports a price that only those pay who buy several.
func fromSeveral(t *thing) bool {
	for _, q := range t.things("eligiblequantity") {
		if n, ok := number(q.text("minvalue", "value"), "", ""); ok && n != "1" && n != "0" && n != "" {
			return true
		}
	}
	return false
}

// expired reports a time of validity that is over, or has not begun.
func (d *document) expired(t *thing) bool {
	if d.now.IsZero() {
		return false
	}
	day := d.now.UTC().Format(time.DateOnly)
	through, from := t.text("validthrough"), t.text("validfrom")
	return isDate(through) && through[:len(day)] < day || isDate(from) && from[:len(day)] > day
}

func isDate(s string) bool {
	if len(s) < len(time.DateOnly) {
		return false
	}
	_, err := time.Parse(time.DateOnly, s[:len(time.DateOnly)])
	return err == nil
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
	if v, cur, ok := amountOf(o, "price"); ok {
		add(v, first(cur, currency), "price", true, "the offer's price")
	} else if len(specs) == 0 {
		if v, cur, ok := amountOf(o, "lowprice", "minprice"); ok {
			add(v, first(cur, currency), "lowPrice", true, "the range of offers starts here")
		}
	}
	for _, s := range specs {
		v, cur, ok := amountOf(s, "price")
		if !ok {
			continue
		}
		kind := term(s.text("pricetype"))
		paid, why := true, "the price specification"
		switch {
		case listed[kind]:
			paid, why = false, "a list price"
		case component[term(s.text("pricecomponenttype"))]:
			paid, why = false, "a part of a price, or a fee"
		case perUnit(s):
			paid, why = false, "a price for a unit"
		case s.has("validformembertier"):
			paid, why = false, "a price for members"
		case s.is("deliverychargespecification", "paymentchargespecification"):
			paid, why = false, "a charge"
		case periodic(s) && (len(specs) > 1 || len(out) > 0):
			paid, why = false, "an instalment or a subscription"
		case fromSeveral(s):
			paid, why = false, "a price for those who buy several"
		case d.expired(s) && slices.ContainsFunc(specs, func(s *thing) bool { return !d.expired(s) }):
			paid, why = false, "not valid now"
		case strings.EqualFold(s.text("valueaddedtaxincluded"), "false") && hasTaxed(specs):
			paid, why = false, "without tax"
		}
		add(v, first(s.text("pricecurrency"), cur, currency), strings.TrimRight("priceSpecification "+kind, " "), paid, why)
	}
	// A sale that is said on purpose stands before the offer's own price.
	if i := slices.IndexFunc(out, func(c shop.Candidate) bool { return c.Won && strings.Contains(c.Text, "priceSpecification saleprice") }); i >= 0 {
		for j := range out {
			if j != i && out[j].Won {
				out[j].Won, out[j].Why = false, "a sale price is named"
			}
		}
	}
	return out
}

// perUnit reports a price of so much of the product: per kg, and not per piece,
// which is the product.
func perUnit(s *thing) bool {
	for _, ref := range s.things("referencequantity") {
		if ref.has("valuereference") {
			continue // it says how much the product holds, and by what its price is compared
		}
		unit := unitCodes[strings.ToLower(first(ref.text("unitcode"), ref.text("unittext"), "c62"))]
		if n := first(ref.text("value"), "1"); unit.base != "piece" || n != "1" && n != "1.0" {
			return true
		}
	}
	return false
}

// amountOf is the first amount among properties, and the currency that it brings
// along: some write a MonetaryAmount where a number is due.
func amountOf(t *thing, names ...string) (v value, currency string, ok bool) {
	for _, n := range names {
		for _, v := range t.props[n] {
			if v.thing != nil {
				if inner, cur, ok := amountOf(v.thing, "value", "price", "amount"); ok {
					return inner, first(v.thing.text("currency", "pricecurrency"), cur), true
				}
			} else if v.text != "" {
				return v, "", true
			}
		}
	}
	return value{}, "", false
}

func hasTaxed(specs []*thing) bool {
	for _, s := range specs {
		if strings.EqualFold(s.text("valueaddedtaxincluded"), "true") {
			return true
		}
	}
	return false
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
				v, _, ok := amountOf(s, "price")
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
