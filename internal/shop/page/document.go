package page

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits on what a hostile page can make us do.
const (
	maxNodes = 400_000
	maxText  = 4096 // of one element's text
)

// document is a parsed page, with what one walk over it found worth keeping.
// Nothing of a <template> is kept: it is not shown.
type document struct {
	root      *html.Node
	url       *url.URL
	now       time.Time // zero where nothing may depend on it
	lang      string    // a language tag in lower case: "de-ch"
	title     string
	heading   *html.Node        // the h1 that the title repeats, else the first
	h1        string            // its text
	meta      map[string]string // by name or property, lower case; the first counts
	canonical *url.URL          // <link rel=canonical>, else og:url
	scripts   []*html.Node      // that hold text
	sources   []*html.Node      // scripts that are elsewhere
	items     []*html.Node      // microdata items that are no property of another
	props     []*html.Node      // elements with an itemprop
	fields    []*html.Node      // <input>
	headings  []*html.Node      // <h1>
	rdfa      bool              // some element has a typeof

	roots []*thing // all that the page says in a machine's words, once the products were asked for
	found []found  // the products, once they were asked for
	asked bool
	signs map[string]string // what a shared sign stands for, once it was asked for
	key   string            // pageKey of the address, once it was asked for
	lines []block           // of the page's own text, once they were asked for
	seen  []sighting        // the amounts in it
}

func parse(text string, u *url.URL) (*document, error) {
	if !weigh(text) {
		return nil, fmt.Errorf("it would become more than %d nodes, or has an element with more than %d attributes", maxNodes, maxAttributes)
	}
	root, err := html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(true))
	if err != nil {
		return nil, err
	}
	d := &document{root: root, url: u, meta: map[string]string{}}
	n := 0
	for e := root; e != nil; e = following(e, e.DataAtom == atom.Template) {
		if n++; n > maxNodes {
			return nil, fmt.Errorf("more than %d nodes", maxNodes)
		}
		if e.Type == html.ElementNode {
			d.index(e)
		}
	}
	d.chooseHeading()
	if d.canonical == nil {
		d.canonical = d.resolve(d.meta["og:url"])
	}
	d.lang = strings.ToLower(strings.ReplaceAll(first(d.lang, d.meta["content-language"], d.meta["og:locale"]), "_", "-"))
	return d, nil
}

// following is the next node of the page in its order; the inside of e is passed
// over on request.
func following(e *html.Node, skip bool) *html.Node {
	if e.FirstChild != nil && !skip {
		return e.FirstChild
	}
	for ; e != nil; e = e.Parent {
		if e.NextSibling != nil {
			return e.NextSibling
		}
	}
	return nil
}

func (d *document) index(e *html.Node) {
	scope, prop := false, false
	for _, a := range e.Attr {
		switch a.Key {
		case "itemscope":
			scope = true
		case "itemprop":
			prop = true
		case "typeof":
			d.rdfa = true
		}
	}
	if prop {
		d.props = append(d.props, e)
	} else if scope {
		d.items = append(d.items, e)
	}
	switch e.DataAtom {
	case atom.Html:
		d.lang = first(attr(e, "lang"), attr(e, "xml:lang"))
	case atom.Title:
		if d.title == "" && e.Namespace == "" {
			d.title = textOf(e)
		}
	case atom.H1:
		d.headings = append(d.headings, e)
	case atom.Meta:
		d.addMeta(e)
	case atom.Link:
		if d.canonical == nil && hasWord(attr(e, "rel"), "canonical") {
			d.canonical = d.resolve(attr(e, "href"))
		}
	case atom.Script:
		if e.FirstChild != nil && e.FirstChild.Type == html.TextNode {
			d.scripts = append(d.scripts, e)
		} else {
			d.sources = append(d.sources, e)
		}
	case atom.Input:
		d.fields = append(d.fields, e)
	}
}

// chooseHeading: some shops set their own name as an h1 too.
func (d *document) chooseHeading() {
	title := strings.ToLower(first(d.meta["og:title"], d.title))
	named := -1
	for _, e := range d.headings {
		text := textOf(e)
		if text == "" {
			continue
		}
		length := 0
		if strings.Contains(title, strings.ToLower(text)) {
			length = len(text)
		}
		if length > named {
			named, d.heading, d.h1 = length, e, text
		}
	}
}

func (d *document) addMeta(e *html.Node) {
	content, ok := attrOK(e, "content")
	if !ok {
		return
	}
	for _, a := range []string{"property", "name", "http-equiv"} {
		for _, key := range strings.Fields(strings.ToLower(attr(e, a))) {
			if _, seen := d.meta[key]; !seen {
				d.meta[key] = strings.TrimSpace(content)
			}
		}
	}
}

// resolve makes an address absolute; nil where it is none of the web.
func (d *document) resolve(ref string) *url.URL {
	ref = strings.TrimSpace(ref)
	if ref == "" {
		return nil
	}
	u, err := url.Parse(ref)
	if err != nil {
		return nil
	}
	if d.url != nil {
		u = d.url.ResolveReference(u)
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	return u
}

// identifier makes what names a thing one form: an absolute address, or itself.
func (d *document) identifier(ref string) string {
	if u := d.resolve(ref); u != nil && !strings.HasPrefix(ref, "_:") {
		return u.String()
	}
	return strings.TrimSpace(ref)
}

func attr(e *html.Node, name string) string {
	v, _ := attrOK(e, name)
	return v
}

func attrOK(e *html.Node, name string) (string, bool) {
	for _, a := range e.Attr {
		if a.Namespace == "" && a.Key == name { // the parser has made names lower case
			return a.Val, true
		}
	}
	return "", false
}

func hasWord(list, word string) bool {
	for _, w := range strings.Fields(list) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

func within(e *html.Node, a atom.Atom) *html.Node {
	for p := e.Parent; p != nil; p = p.Parent {
		if p.DataAtom == a {
			return p
		}
	}
	return nil
}

// textOf is what a reader sees of an element, in one line.
func textOf(e *html.Node) string {
	var b strings.Builder
	for n := range e.Descendants() {
		if b.Len() > maxText {
			break
		}
		if n.Type == html.TextNode && n.Parent != nil && n.Parent.DataAtom != atom.Script && n.Parent.DataAtom != atom.Style {
			b.WriteString(n.Data[:min(len(n.Data), maxText)])
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// visibleText is the text of the body, up to a limit of bytes.
func (d *document) visibleText(limit int) string {
	var b strings.Builder
	for n := d.root; n != nil && b.Len() <= limit; n = following(n, unseen(n.DataAtom)) {
		if n.Type != html.TextNode {
			continue
		}
		if s := strings.TrimSpace(n.Data); s != "" {
			b.WriteString(s)
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// unseen reports whether nobody reads the text of an element.
func unseen(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Title:
		return true
	}
	return false
}
