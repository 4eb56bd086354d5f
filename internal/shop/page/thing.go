package page

import (
	"strings"
)

// thing is a node of the page's data, wherever it was written.
type thing struct {
	source string // "json-ld" or "microdata"
	id     string
	types  []string // in lower case, without their address: "product"
	props  map[string][]value
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
