package page

import (
	"net/url"
	"slices"
	"strings"
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
		seen := map[*thing]bool{}
		for _, r := range roots {
			walk(r, false, false, 0, seen, &d.found)
		}
		d.adopt(roots)
		if slices.ContainsFunc(d.found, found.offered) {
			break
		}
	}
	return d.found
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

func walk(t *thing, main, listed bool, depth int, seen map[*thing]bool, out *[]found) {
	if t == nil {
		return
	}
	if t = t.one(); depth > maxDepth || seen[t] {
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

// choose finds the product that the page is about: by mainEntity, by address,
// by name, or because it is the only one. It reports false where there are
// several and nothing says which.
func (d *document) choose(products []found) (*thing, bool) {
	if len(products) == 0 {
		return nil, true
	}
	for _, test := range []func(found) bool{
		func(p found) bool { return p.main },
		func(p found) bool { return !p.listed },
		d.ofThisAddress,
		d.ofThisName,
		found.offered,
	} {
		var fit []found
		for _, p := range products {
			if test(p) {
				fit = append(fit, p)
			}
		}
		if len(fit) == 1 {
			return fit[0].thing, true
		}
		if len(fit) > 1 {
			products = fit // a narrower choice; the next test decides
		}
	}
	if d.sameAgain(products) {
		return products[0].thing, true
	}
	return nil, false
}

// sameAgain reports whether all are one product, said several times: by name, and
// at one price.
func (d *document) sameAgain(products []found) bool {
	name, price := products[0].text("name"), d.offer(products[0].thing).price
	for _, p := range products[1:] {
		if p.text("name") != name || !d.offer(p.thing).price.Equal(price) {
			return false
		}
	}
	return price.Known()
}

func (d *document) ofThisAddress(p found) bool {
	for _, ref := range []string{p.text("url"), p.text("mainentityofpage"), p.id} {
		if u := d.resolve(ref); u != nil && d.url != nil && ref != "" && (samePage(u, d.url) || d.matchesCanonical(u)) {
			return true
		}
	}
	return false
}

func (d *document) matchesCanonical(u *url.URL) bool {
	c := d.canonical
	return c != nil && samePage(u, c)
}

func (d *document) ofThisName(p found) bool {
	name := strings.ToLower(clean(p.text("name"), maxName))
	if name == "" {
		return false
	}
	if d.h1 != "" {
		return strings.ToLower(d.h1) == name
	}
	return strings.Contains(strings.ToLower(d.title), name)
}
