package page

import (
	"slices"
	"strings"
)

// maxVariants is more than any product has.
const maxVariants = 5_000

// variantOffers are the product's offers: those of the variant that the address
// names, or all. Variants are said to be such, or are offers whose addresses
// differ in their query alone. One that the address names and the page does not
// have is gone, and no other takes its place.
func (d *document) variantOffers(p *thing) (offers []*thing, variants bool, refused string) {
	offers = flatten(p.things("offers"))
	if len(offers)+len(p.things("hasvariant")) > maxVariants {
		return nil, true, tooMany
	}
	here := d.here()
	of := map[*thing][]*thing{}
	list := p.things("hasvariant")
	for _, v := range list {
		of[v] = flatten(v.things("offers"))
	}
	if len(list) == 0 && len(offers) > 1 {
		for _, o := range offers {
			of[o] = []*thing{o}
		}
		list = offers
	}
	chosenBy := map[string][]string{} // the query's names that choose a variant, with their values
	queries := map[string]bool{}
	var mine []*thing // the variants with the page's own address: it names one only if it is one's alone
	for _, v := range list {
		same := false
		for _, ref := range []string{v.text("url"), v.id, firstURL(of[v])} {
			u := d.resolve(ref)
			if u == nil || d.url == nil || u.Fragment != "" { // "#offer" names a thing, and no page
				continue
			}
			same = same || pageKey(u) == here
			if strings.TrimSuffix(u.Path, "/") == strings.TrimSuffix(d.url.Path, "/") && u.RawQuery != "" {
				queries[pageKey(u)] = true
				for name, values := range u.Query() {
					chosenBy[name] = append(chosenBy[name], values...)
				}
			}
		}
		if same {
			mine = append(mine, v)
		}
	}
	if len(mine) == 1 {
		return of[mine[0]], false, ""
	}
	if d.url != nil {
		for name, values := range d.url.Query() {
			if tracking.MatchString(name) || values[0] == "" {
				continue
			}
			for _, v := range list {
				if slices.Contains([]string{v.text("sku"), v.text("productid"), v.text("mpn"), v.text("gtin", "gtin13")}, values[0]) {
					return of[v], false, ""
				}
			}
			if known := chosenBy[name]; len(known) > 0 && !slices.Contains(known, values[0]) {
				return nil, true, variantGone
			}
		}
	}
	for _, v := range p.things("hasvariant") {
		offers = append(offers, of[v]...)
	}
	return offers, p.is("productgroup") || len(p.things("hasvariant")) > 0 || len(queries) > 1 || differ(offers), ""
}

// differ reports offers that each have a code or a name of their own: they are of
// several things, whoever sells them.
func differ(offers []*thing) bool {
	for _, name := range []string{"sku", "name"} {
		own := map[string]bool{}
		for _, o := range offers {
			own[o.text(name)] = true
		}
		if len(own) > 1 && !own[""] {
			return true
		}
	}
	return false
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
