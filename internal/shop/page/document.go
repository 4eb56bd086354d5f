package page

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits on what a hostile page can make us do.
const (
	maxNodes = 400_000
	maxText  = 4096 // of one element's text
)

// document is a parsed page.
type document struct {
	root  *html.Node
	url   *url.URL
	lang  string
	title string
	h1    string
	meta  map[string]string // by name or property, lower case; the first counts
	lines []block           // of the page's own text, once they were asked for
}

func parse(text string, u *url.URL) (*document, error) {
	root, err := html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(true))
	if err != nil {
		return nil, err
	}
	d := &document{root: root, url: u, meta: map[string]string{}}
	n := 0
	for e := range root.Descendants() {
		if n++; n > maxNodes {
			return nil, fmt.Errorf("more than %d nodes", maxNodes)
		}
		if e.Type != html.ElementNode {
			continue
		}
		switch e.DataAtom {
		case atom.Html:
			d.lang = strings.ToLower(attr(e, "lang"))
		case atom.Title:
			if d.title == "" && within(e, atom.Svg) == nil {
				d.title = textOf(e)
			}
		case atom.H1:
			if d.h1 == "" {
				d.h1 = textOf(e)
			}
		case atom.Meta:
			d.addMeta(e)
		}
	}
	return d, nil
}

func (d *document) addMeta(e *html.Node) {
	content, ok := attrOK(e, "content")
	if !ok || within(e, atom.Template) != nil {
		return
	}
	for _, a := range []string{"property", "name"} {
		for _, key := range strings.Fields(strings.ToLower(attr(e, a))) {
			if _, seen := d.meta[key]; !seen {
				d.meta[key] = strings.TrimSpace(content)
			}
		}
	}
}

// canonicalLink is the page's <link rel=canonical>, or og:url.
func (d *document) canonicalLink() *url.URL {
	for e := range d.root.Descendants() {
		if e.DataAtom == atom.Link && hasWord(attr(e, "rel"), "canonical") {
			if u := d.resolve(attr(e, "href")); u != nil {
				return u
			}
		}
	}
	return d.resolve(d.meta["og:url"])
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

func attr(e *html.Node, name string) string {
	v, _ := attrOK(e, name)
	return v
}

func attrOK(e *html.Node, name string) (string, bool) {
	for _, a := range e.Attr {
		if a.Namespace == "" && strings.EqualFold(a.Key, name) {
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
			b.WriteString(n.Data)
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// visibleText is the text of the body, up to a limit of bytes.
func (d *document) visibleText(limit int) string {
	var b strings.Builder
	for n := range d.root.Descendants() {
		if b.Len() > limit {
			break
		}
		if n.Type != html.TextNode || n.Parent == nil {
			continue
		}
		switch n.Parent.DataAtom {
		case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Title:
			continue
		}
		if s := strings.TrimSpace(n.Data); s != "" {
			b.WriteString(s)
			b.WriteByte(' ')
		}
	}
	return b.String()
}
