package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// microdata reads the items of the page (HTML standard, section 5.2) into things.
func (d *document) microdata(g *graph) []*thing {
	m := &microReader{d: d, g: g}
	var out []*thing
	for _, e := range d.items {
		out = append(out, m.item(e, 0))
	}
	return out
}

type microReader struct {
	d    *document
	g    *graph
	byID map[string]*html.Node // once it was asked for
}

// elementOf finds one by its id.
func (m *microReader) elementOf(id string) *html.Node {
	if m.byID == nil {
		m.byID = map[string]*html.Node{}
		for e := m.d.root; e != nil; e = following(e, e.DataAtom == atom.Template) {
			if id := attr(e, "id"); id != "" && m.byID[id] == nil {
				m.byID[id] = e
			}
		}
	}
	return m.byID[id]
}

func (m *microReader) item(e *html.Node, depth int) *thing {
	t := &thing{source: "microdata", props: map[string][]value{}}
	for _, typ := range strings.Fields(attr(e, "itemtype")) {
		t.types = append(t.types, term(typ))
	}
	t.id = m.d.identifier(attr(e, "itemid"))
	m.g.all = append(m.g.all, t)
	if depth > maxDepth {
		return t
	}
	seen := map[*html.Node]bool{e: true}
	m.children(e, t, depth, seen)
	for _, id := range strings.Fields(attr(e, "itemref")) {
		if ref := m.elementOf(id); ref != nil && !seen[ref] {
			seen[ref] = true
			m.element(ref, t, depth, seen)
		}
	}
	return t
}

func (m *microReader) children(e *html.Node, t *thing, depth int, seen map[*html.Node]bool) {
	for c := e.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && !seen[c] {
			m.element(c, t, depth, seen)
		}
	}
}

func (m *microReader) element(e *html.Node, t *thing, depth int, seen map[*html.Node]bool) {
	if e.DataAtom == atom.Template {
		return
	}
	_, scope := attrOK(e, "itemscope")
	names := strings.Fields(attr(e, "itemprop"))
	if len(names) > 0 {
		v := value{}
		if scope {
			v.thing = m.item(e, depth+1)
		} else {
			v.text = valueOf(e)
		}
		for _, n := range names {
			n = term(n)
			t.props[n] = append(t.props[n], v)
		}
	}
	if !scope {
		m.children(e, t, depth, seen)
	}
}

// valueOf is the property's value by the kind of its element.
func valueOf(e *html.Node) string {
	if v, ok := attrOK(e, "content"); ok {
		return strings.TrimSpace(v)
	}
	name := ""
	switch e.DataAtom {
	case atom.A, atom.Area, atom.Link:
		name = "href"
	case atom.Img, atom.Audio, atom.Embed, atom.Iframe, atom.Source, atom.Track, atom.Video:
		name = "src"
	case atom.Object:
		name = "data"
	case atom.Data, atom.Meter:
		name = "value"
	case atom.Time:
		name = "datetime"
	}
	if v, ok := attrOK(e, name); ok {
		return strings.TrimSpace(v)
	}
	return priceText(e)
}

// priceText is an element's text with a fraction set small made a fraction: in
// 12<sup>99</sup> nothing else says that it is 12.99.
func priceText(e *html.Node) string {
	var b strings.Builder
	for n := range e.Descendants() {
		if n.Type != html.TextNode {
			continue
		}
		s := strings.TrimSpace(n.Data[:min(len(n.Data), maxText)])
		if p := n.Parent; p != nil && p != e && isFraction(p) && len(s) == 2 && digitsOnly(s) && endsInDigit(b.String()) {
			b.WriteByte('.')
		} else if b.Len() > 0 && s != "" {
			b.WriteByte(' ')
		}
		b.WriteString(s)
		if b.Len() > maxText {
			break
		}
	}
	return strings.TrimSpace(b.String())
}

// TextOf is an element's text in one line, with a fraction set small made one.
func TextOf(e *html.Node) string { return strings.Join(strings.Fields(priceText(e)), " ") }

func isFraction(e *html.Node) bool {
	class := strings.ToLower(attr(e, "class"))
	return e.DataAtom == atom.Sup || strings.Contains(class, "fraction") || strings.Contains(class, "cents") || strings.Contains(class, "decimal")
}

func digitsOnly(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}

func endsInDigit(s string) bool { return s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' }
