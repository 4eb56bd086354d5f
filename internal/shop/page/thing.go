package page

import (
	"slices"
	"strings"
)

// thing is a node of the page's data, wherever it was written.
type thing struct {
	source string   // "json-ld", "microdata" or "rdfa"
	id     string   // absolute where it is an address
	types  []string // in lower case, without their address: "product"
	props  map[string][]value
	joined *thing // the mention that stands for this one
}

// value is a text or a thing.
type value struct {
	text   string
	number bool // a number of JSON: digits and a decimal point by definition
	thing  *thing
}

// term is a name of schema.org without its address or prefix, in lower case.
func term(s string) string {
	s = strings.TrimSuffix(strings.TrimSpace(s), "/")
	if i := strings.LastIndexAny(s, "/#"); i >= 0 {
		s = s[i+1:]
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		s = s[i+1:]
	}
	return strings.ToLower(s)
}

func (t *thing) is(types ...string) bool {
	for _, have := range t.types {
		for _, want := range types {
			if have == want {
				return true
			}
		}
	}
	return false
}

// text is the first text of a property; a thing's name or address serves too.
func (t *thing) text(names ...string) string {
	for _, n := range names {
		for _, v := range t.props[n] {
			if v.thing != nil {
				if s := v.thing.text("name", "url", "@id"); s != "" {
					return s
				}
				if v.thing.id != "" {
					return v.thing.id
				}
				continue
			}
			if v.text != "" {
				return v.text
			}
		}
	}
	return ""
}

func (t *thing) has(name string) bool { return len(t.props[name]) > 0 }

func (t *thing) things(names ...string) []*thing {
	var out []*thing
	for _, n := range names {
		for _, v := range t.props[n] {
			if v.thing != nil {
				out = append(out, v.thing)
			}
		}
	}
	return out
}

// graph is all data of a page in one: what JSON-LD says of an @id, microdata of
// an itemid and RDFa of a resource may be the same thing.
type graph struct{ all []*thing }

// link joins what the formats and blocks say of one thing, and turns offers that
// name their product ("itemOffered") into offers of that product.
func (g *graph) link() {
	byID := map[string]*thing{}
	for _, t := range g.all {
		if t.id == "" {
			continue
		}
		if byID[t.id] == nil || len(t.types) > 0 && len(byID[t.id].types) == 0 {
			byID[t.id] = t
		}
	}
	for _, t := range g.all {
		if first := byID[t.id]; first != nil && first != t {
			first.join(t)
		}
	}
	for _, t := range g.all {
		if !t.isOffer() {
			continue
		}
		for _, p := range t.things("itemoffered", "includes") {
			if len(p.types) == 0 {
				p.types = []string{"product"}
			}
			if !slices.ContainsFunc(p.things("offers"), func(o *thing) bool { return o.one() == t.one() }) {
				p.props["offers"] = append(p.props["offers"], value{thing: t})
			}
		}
	}
}

// join makes two mentions of one thing share what they say. Mentions that
// contradict each other, as where a list gives all its products one id, stay apart.
func (t *thing) join(other *thing) {
	if len(other.types) > 0 && len(t.types) > 0 && !t.is(other.types...) {
		return
	}
	for name, vs := range other.props {
		if have, both := t.props[name]; both && !slices.EqualFunc(have, vs, func(a, b value) bool { return a == b }) {
			return
		}
	}
	for name, vs := range other.props {
		t.props[name] = vs
	}
	if len(t.types) == 0 {
		t.types = other.types
	}
	other.props, other.types, other.joined = t.props, t.types, t
}

// one is the mention that stands for all of the same thing.
func (t *thing) one() *thing {
	if t.joined != nil {
		return t.joined
	}
	return t
}

func (t *thing) isOffer() bool {
	return t.is("offer", "aggregateoffer", "offerfordemand", "offering")
}
