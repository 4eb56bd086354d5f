package page

import (
	"slices"
	"strings"
	"unicode"

	"github.com/sokone/sokone/internal/money"
)

// aside are properties that lead away from the page's own product.
var aside = map[string]bool{
	"isrelatedto": true, "issimilarto": true, "isaccessoryorsparepartfor": true, "isconsumablefor": true, "itemlistelement": true,
	"review": true, "brand": true, "manufacturer": true, "isvariantof": true, "model": true, "ispartof": true, "breadcrumb": true,
	"mentions": true, "relatedlink": true, "significantlink": true,
}

func (t *thing) isProduct() bool {
	return t.is("product", "productgroup", "individualproduct", "productmodel", "someproducts", "vehicle", "car") ||
		t.is("book", "softwareapplication", "mobileapplication", "videogame", "course", "event") && len(t.props["offers"]) > 0
}

// found is a product, and whether the page itself calls it its main one.
type found struct {
	*thing
	main   bool
	listed bool // one of a list
}

// products are those of JSON-LD, and only if there are none with an offer those
// of microdata, and then of RDFa: they say the same, and the first is said on
// purpose.
func (d *document) products() []found {
	if d.asked {
		return d.found
	}
	d.asked = true
	g := &graph{}
	formats := [][]*thing{d.jsonLD(g), d.microdata(g), d.rdfaThings(g)}
	g.link()
	for _, roots := range formats {
		d.roots = append(d.roots, roots...)
		seen := map[*thing]bool{}
		for _, r := range roots {
			walk(r, false, false, 0, seen, &d.found)
		}
		d.adopt(roots)
		if slices.ContainsFunc(d.found, found.offered) {
			break
		}
	}
	d.found = slices.DeleteFunc(d.found, d.ofAnotherPage)
	return d.found
}

// ofAnotherPage reports a product that says that its page is another one, and whose
// name has nothing to do with what this one is called: what is recommended where
// the product is gone.
func (d *document) ofAnotherPage(p found) bool {
	u := d.resolve(p.text("url"))
	name, called := strings.ToLower(p.text("name")), strings.ToLower(d.h1+"\n"+d.title)
	if d.url == nil || u == nil || p.main || name == "" || strings.TrimSpace(called) == "" || d.ofThisAddress(p) {
		return false
	}
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		runes := []rune(word)
		if isASCII(word) {
			if len(word) > 2 && strings.Contains(called, word) {
				return false
			}
			continue
		}
		for i := range len(runes) - 1 { // no blanks part the words of Japanese
			if strings.Contains(called, string(runes[i:i+2])) {
				return false
			}
		}
	}
	return true
}

// adopt gives the page's one product the one offer that stands beside it rather
// than in it; an offer that no product is named for is one of its own.
func (d *document) adopt(roots []*thing) {
	var orphans []*thing
	for _, r := range roots {
		if r.isOffer() && len(r.props["itemoffered"]) == 0 {
			orphans = append(orphans, r)
		}
	}
	switch {
	case len(orphans) != 1 || len(d.found) > 1:
	case len(d.found) == 0:
		p := &thing{source: orphans[0].source, types: []string{"product"}, props: map[string][]value{"name": orphans[0].props["name"], "offers": {{thing: orphans[0]}}}}
		d.found = append(d.found, found{thing: p})
	case !d.found[0].offered() && !d.found[0].listed:
		d.found[0].add("offers", value{thing: orphans[0]})
	}
}

func (t *thing) offered() bool { return len(t.props["offers"]) > 0 || len(t.props["hasvariant"]) > 0 }

// maxProducts is more than a page about one product names.
const maxProducts = 500

func walk(t *thing, main, listed bool, depth int, seen map[*thing]bool, out *[]found) {
	if t == nil {
		return
	}
	t = t.one()
	if main && seen[t] { // it came up before, and is now called the page's own
		for i := range *out {
			(*out)[i].main = (*out)[i].main || (*out)[i].thing == t
		}
	}
	if depth > maxDepth || len(*out) >= maxProducts || seen[t] {
		return
	}
	seen[t] = true
	if t.isProduct() {
		*out = append(*out, found{t, main, listed})
		return // what lies inside a product is a part of it
	}
	if t.is("itemlist", "searchresultspage", "collectionpage") && !main {
		for _, x := range t.things("itemlistelement") {
			for _, item := range append(x.things("item"), x) {
				walk(item, false, true, depth+1, seen, out)
			}
		}
		return
	}
	for name, vs := range t.props {
		if aside[name] {
			continue
		}
		for _, v := range vs {
			walk(v.thing, main || name == "mainentity", listed, depth+1, seen, out)
		}
	}
}

// hasProduct reports whether the page states a product with an offer.
func (d *document) hasProduct() bool { return slices.ContainsFunc(d.products(), found.offered) }

// choose finds the product that the page is about: the one that the page calls its
// main entity, or that is in no list, or has the page's address, code or name; at
// last the only one with an offer. It reports false where there are several and
// nothing says which. One of a list is only ever taken for its address or name.
func (d *document) choose(products []found) (*thing, bool) {
	if len(products) == 0 {
		return nil, true
	}
	named := false
	for _, test := range []struct {
		names bool
		fits  func(found) bool
	}{
		{false, func(p found) bool { return p.main }},
		{false, func(p found) bool { return !p.listed }},
		{true, d.ofThisAddress},
		{true, d.ofThisCode},
		{true, d.ofThisName},
		{false, d.ofAlmostThisName},
		{false, found.offered},
	} {
		var fit []found
		for _, p := range products {
			if test.fits(p) {
				fit = append(fit, p)
			}
		}
		if len(fit) > 0 {
			products = fit // a narrower choice; the next test decides
			named = named || test.names
		}
		if len(products) == 1 && (named || !products[0].listed) {
			return products[0].thing, true
		}
	}
	return d.sameAgain(products)
}

// ofOneGroup reports two variants of one product.
func ofOneGroup(a, b *thing) bool {
	if id := a.text("inproductgroupwithid"); id != "" && id == b.text("inproductgroupwithid") {
		return true
	}
	of := func(t *thing) *thing {
		for _, g := range t.things("isvariantof") {
			return g.one()
		}
		return nil
	}
	return of(a) != nil && of(a) == of(b)
}

// sameAgain is the product that all are, said several times: by name or as variants
// of one, and at one price in the page's currency.
func (d *document) sameAgain(products []found) (*thing, bool) {
	if products[0].listed {
		return nil, false
	}
	var one *thing
	var price money.Amount
	for _, p := range products {
		if p.text("name") != products[0].text("name") && !ofOneGroup(p.thing, products[0].thing) {
			return nil, false
		}
		mine := d.offer(p.thing).price
		switch {
		case !price.Known() || mine.Known() && !mine.SameCurrency(price) && mine.Currency() == d.pageCurrency():
			one, price = p.thing, mine
		case mine.SameCurrency(price) && !mine.Equal(price), !mine.SameCurrency(price) && price.Currency() != d.pageCurrency():
			return nil, false
		}
	}
	return one, price.Known()
}

func (d *document) ofThisAddress(p found) bool {
	here, canonical := d.here(), ""
	if d.canonical != nil {
		canonical = pageKey(d.canonical)
	}
	for _, ref := range []string{p.text("url"), p.text("mainentityofpage"), p.id, firstURL(p.things("offers"))} {
		if u := d.resolve(ref); u != nil {
			if key := pageKey(u); key == here || key == canonical {
				return true
			}
		}
	}
	return false
}

// ofThisCode: a part of the address is the product's code.
func (d *document) ofThisCode(p found) bool {
	if d.url == nil {
		return false
	}
	for _, code := range []string{p.text("sku"), p.text("productid"), p.text("mpn"), p.text("gtin13", "gtin")} {
		if len(code) < 3 {
			continue
		}
		for _, part := range strings.FieldsFunc(d.url.EscapedPath(), func(r rune) bool { return r == '/' || r == '.' }) {
			if strings.EqualFold(part, code) {
				return true
			}
		}
	}
	return false
}

// ofThisName: the heading is the product's name, or without one the title has it.
func (d *document) ofThisName(p found) bool {
	name := strings.ToLower(clean(p.text("name"), maxName))
	if d.h1 != "" {
		return strings.ToLower(d.h1) == name
	}
	return name != "" && strings.Contains(strings.ToLower(d.title), name)
}

// ofAlmostThisName: the heading has the product's name in it, or the name the heading.
func (d *document) ofAlmostThisName(p found) bool {
	name, h1 := strings.ToLower(clean(p.text("name"), maxName)), strings.ToLower(d.h1)
	return name != "" && h1 != "" && (strings.Contains(name, h1) || strings.Contains(h1, name))
}
