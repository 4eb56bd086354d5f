package page

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// vocabularies are those that speak of products, in the words of schema.org or
// of GoodRelations, from which schema.org took its offers.
var vocabularies = []string{"schema.org/", "purl.org/goodrelations/v1#", "rdf.data-vocabulary.org/#", "data-vocabulary.org/", "www.w3.org/2000/01/rdf-schema#"}

// wellKnown are the prefixes that need no declaration (RDFa 1.1 initial context).
var wellKnown = map[string]string{
	"schema": "http://schema.org/", "gr": "http://purl.org/goodrelations/v1#", "v": "http://rdf.data-vocabulary.org/#", "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
}

// goodRelations are the older names for what schema.org calls otherwise.
var goodRelations = map[string]string{
	"haspricespecification": "pricespecification", "hascurrency": "pricecurrency", "hascurrencyvalue": "price",
	"hasmincurrencyvalue": "minprice", "hasmaxcurrencyvalue": "maxprice", "hasbusinessfunction": "businessfunction",
	"includes": "itemoffered", "offers": "makesoffer", "offering": "offer", "hasunitofmeasurement": "unitcode",
	"someitems": "product", "productorservice": "product", "productorservicessomeinstancesplaceholder": "product", "actualproductorserviceinstance": "product",
	"hasinventorylevel": "inventorylevel", "hasstockkeepingunit": "sku", "hascondition": "itemcondition", "label": "name",
	"offerdetails": "offers", "offer-aggregate": "aggregateoffer", "currency": "pricecurrency", // of data-vocabulary.org, which came between
}

// rdfaThings reads RDFa Lite 1.1, and of RDFa 1.0 what shops use: about, rel and
// rev. The rules are those of RDFa Core 1.1, section 7.5, but for lists, for
// datatypes, and for links and pictures: these never become the subject of what
// stands inside them, as the authors of shops do not mean that.
func (d *document) rdfaThings(g *graph) []*thing {
	if !d.rdfa {
		return nil
	}
	r := &rdfaReader{d: d, byID: map[string]*thing{}}
	r.walk(d.root, rdfaScope{})
	g.all = append(g.all, r.things...)
	pointedAt := map[*thing]bool{}
	for _, t := range r.things {
		for _, vs := range t.props {
			for _, v := range vs {
				pointedAt[v.thing] = true
			}
		}
	}
	return slices.DeleteFunc(r.things, func(t *thing) bool { return pointedAt[t] })
}

type rdfaReader struct {
	d      *document
	things []*thing
	byID   map[string]*thing
}

// rdfaScope is what an element hands to those inside it.
type rdfaScope struct {
	vocab    string
	prefixes *prefix
	subject  *thing // what properties are said of; nil for the page itself
	from     *thing // where relations begin that wait for their other end
	rel, rev []string
}

// prefix is a declared prefix, with those declared before it.
type prefix struct {
	name, iri string
	outer     *prefix
}

func (r *rdfaReader) walk(n *html.Node, s rdfaScope) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && c.DataAtom != atom.Template {
			r.element(c, s)
		}
	}
}

func (r *rdfaReader) element(e *html.Node, s rdfaScope) {
	s.declare(e)
	about, hasAbout := attrOK(e, "about")
	resource, hasResource := attrOK(e, "resource")
	if !hasResource {
		if resource, hasResource = attrOK(e, "href"); !hasResource {
			resource, hasResource = attrOK(e, "src")
		}
	}
	_, hasContent := attrOK(e, "content")
	types, properties := r.names(attr(e, "typeof"), s, true), r.names(attr(e, "property"), s, true)
	rel, rev := r.names(attr(e, "rel"), s, false), r.names(attr(e, "rev"), s, false)

	// Steps 5 and 6: the subject, and the object that it is related to.
	var subject, object *thing
	switch related := len(rel)+len(rev) > 0; {
	case hasAbout:
		subject = r.thing(about)
	case related, len(properties) > 0 && !hasContent:
	case hasResource && (len(types) > 0 || e.DataAtom != atom.A && e.DataAtom != atom.Img && e.DataAtom != atom.Link):
		subject = r.thing(resource)
	case len(types) > 0:
		subject = r.thing("")
	}
	opens := subject != nil
	if !opens {
		subject = s.subject
	}
	if len(rel)+len(rev) > 0 && hasResource {
		object = r.thing(resource)
	} else if len(types) > 0 && !opens {
		object = r.thing(resource)
	}
	if len(types) > 0 {
		typed := subject
		if !opens {
			typed = object
		}
		typed.types = append(typed.types, types...)
	}

	// Steps 9 to 12: relations, properties, and what waits further out.
	inner := s
	if opens || object != nil && len(rel)+len(rev) == 0 {
		meets := subject
		if !opens {
			meets = object
		}
		relate(s.from, meets, s.rel, s.rev)
		inner.from, inner.rel, inner.rev = nil, nil, nil
	}
	if object != nil {
		relate(subject, object, rel, rev)
	} else if len(rel)+len(rev) > 0 {
		inner.from, inner.rel, inner.rev = subject, rel, rev
	}
	for _, name := range properties {
		switch {
		case subject == nil:
		case object != nil && len(rel)+len(rev) == 0:
			subject.add(name, value{thing: object})
		default:
			subject.add(name, value{text: rdfaValue(e, resource, hasResource && !hasContent)})
		}
	}
	inner.subject = subject
	if object != nil {
		inner.subject = object
	}
	r.walk(e, inner)
}

// declare takes in the vocabulary and the prefixes that an element declares.
func (s *rdfaScope) declare(e *html.Node) {
	for _, a := range e.Attr {
		name, isPrefix := strings.CutPrefix(a.Key, "xmlns:")
		switch {
		case isPrefix:
			s.prefixes = &prefix{name, a.Val, s.prefixes}
		case a.Key == "vocab":
			s.vocab = strings.TrimSpace(a.Val)
		case a.Key == "prefix":
			for words := strings.Fields(a.Val); len(words) >= 2; words = words[2:] {
				s.prefixes = &prefix{strings.ToLower(strings.TrimSuffix(words[0], ":")), words[1], s.prefixes}
			}
		}
	}
}

func relate(from, to *thing, rel, rev []string) {
	for _, name := range rel {
		if from != nil {
			from.add(name, value{thing: to})
		}
	}
	for _, name := range rev {
		if from != nil {
			to.add(name, value{thing: from})
		}
	}
}

func (t *thing) add(name string, v value) { t.props[name] = append(t.props[name], v) }

// thing is the one of an address, or a new one without.
func (r *rdfaReader) thing(ref string) *thing {
	ref = strings.Trim(strings.TrimSpace(ref), "[]")
	id := r.d.identifier(ref)
	if t := r.byID[id]; t != nil && ref != "" {
		return t
	}
	t := &thing{source: "rdfa", id: id, props: map[string][]value{}}
	if ref != "" {
		r.byID[id] = t
	}
	r.things = append(r.things, t)
	return t
}

// names resolves terms, prefixed names and addresses to names of schema.org. A
// bare term counts without a vocabulary too, as many pages forget to declare it;
// not so in rel, whose bare words are HTML's.
func (r *rdfaReader) names(list string, s rdfaScope, bare bool) []string {
	var out []string
	for _, word := range strings.Fields(list) {
		iri := word
		if p, local, ok := strings.Cut(word, ":"); !ok {
			if s.vocab == "" && !bare {
				continue
			}
			iri = first(s.vocab, "schema.org/")
			if !strings.HasSuffix(iri, "/") && !strings.HasSuffix(iri, "#") {
				iri += "/"
			}
			iri += word
		} else if !strings.HasPrefix(local, "//") {
			iri = s.prefixes.iriOf(strings.ToLower(p)) + local
		}
		for _, v := range vocabularies {
			if strings.Contains(iri, v) {
				name := term(iri)
				if other, ok := goodRelations[name]; ok && (name != "offers" || strings.Contains(iri, "goodrelations")) {
					name = other
				}
				out = append(out, name)
				break
			}
		}
	}
	return out
}

func (p *prefix) iriOf(name string) string {
	for ; p != nil; p = p.outer {
		if p.name == name {
			if !strings.HasSuffix(p.iri, "/") && !strings.HasSuffix(p.iri, "#") {
				return p.iri + "/"
			}
			return p.iri
		}
	}
	return wellKnown[name]
}

// rdfaValue is a property's text: its content, the address it links to, or what
// stands in the element.
func rdfaValue(e *html.Node, resource string, linked bool) string {
	if v, ok := attrOK(e, "content"); ok {
		return strings.TrimSpace(v)
	}
	if v, ok := attrOK(e, "datetime"); ok {
		return strings.TrimSpace(v)
	}
	if linked {
		return strings.TrimSpace(resource)
	}
	return priceText(e)
}
