package page

import (
	"encoding/json"
	"errors"
	"html"
	"io"
	"strings"
)

// jsonLD reads all blocks of JSON-LD into things.
func (d *document) jsonLD(g *graph) []*thing {
	r := &ldReader{d: d, g: g}
	for _, e := range d.scripts {
		if isJSONLD(attr(e, "type")) {
			for _, v := range readJSON(e.FirstChild.Data) {
				r.add(v)
			}
		}
	}
	return r.roots
}

func isJSONLD(contentType string) bool {
	mime, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(mime), "application/ld+json")
}

// readJSON reads the values of a block: strictly, and only if that fails after
// mending what people and templates do to JSON.
func readJSON(block string) []any {
	if vs, err := decodeAll(block); err == nil {
		return vs
	}
	for _, mended := range []string{mend(block), mend(html.UnescapeString(block))} {
		if vs, err := decodeAll(mended); err == nil {
			return vs
		}
	}
	return nil
}

func decodeAll(s string) ([]any, error) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber() // 19.90 stays 19.90
	var vs []any
	for {
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			return vs, nil
		}
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
}

// mend drops comments, CDATA and HTML comment marks, trailing commas and
// semicolons, and escapes what may not stand raw in a string. It knows where
// strings begin and end, so that "https://" is no comment.
func mend(s string) string {
	var b strings.Builder
	inString := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if inString {
			i = mendString(&b, s, i, &inString)
			continue
		}
		rest := s[i:]
		switch {
		case c == '"':
			inString = true
			b.WriteByte(c)
		case strings.HasPrefix(rest, "<!--"), strings.HasPrefix(rest, "<![CDATA["):
			i += strings.IndexAny(rest, "-[") + 1
			if strings.HasPrefix(rest, "<![CDATA[") {
				i = i - 2 + len("<![CDATA[") - 1
			}
		case strings.HasPrefix(rest, "-->"), strings.HasPrefix(rest, "]]>"):
			i += 2
		case strings.HasPrefix(rest, "//"):
			if n := strings.IndexByte(rest, '\n'); n >= 0 {
				// "//]]>" and "//<![CDATA[" are comments that hold marks: all go.
				i += n
			} else {
				i = len(s)
			}
		case strings.HasPrefix(rest, "/*"):
			if n := strings.Index(rest[2:], "*/"); n >= 0 {
				i += n + 3
			} else {
				i = len(s)
			}
		case c == ';':
		case c == ',':
			if next := strings.TrimLeft(rest[1:], " \t\r\n"); next == "" || next[0] == '}' || next[0] == ']' {
				continue
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// mendString writes one character of a string, and returns the place of the last
// byte taken.
func mendString(b *strings.Builder, s string, i int, inString *bool) int {
	switch c := s[i]; {
	case c == '"':
		*inString = false
		b.WriteByte(c)
	case c == '\\' && i+1 < len(s):
		if strings.IndexByte(`"\/bfnrtu`, s[i+1]) < 0 {
			return i // \' is no escape of JSON: the backslash goes
		}
		b.WriteByte(c)
		b.WriteByte(s[i+1])
		return i + 1
	case c == '\n':
		b.WriteString(`\n`)
	case c == '\t':
		b.WriteString(`\t`)
	case c < 0x20:
	default:
		b.WriteByte(c)
	}
	return i
}

// ldReader turns JSON into things.
type ldReader struct {
	d     *document
	g     *graph
	roots []*thing
}

// maxDepth is deeper than honest data goes.
const maxDepth = 64

func (r *ldReader) add(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			r.add(x)
		}
	case map[string]any:
		if graph, ok := v["@graph"]; ok {
			r.add(graph)
			if len(v) <= 3 && v["@type"] == nil {
				return
			}
		}
		if t := r.thing(v, 0); t != nil {
			r.roots = append(r.roots, t)
		}
	}
}

func (r *ldReader) thing(m map[string]any, depth int) *thing {
	if depth > maxDepth {
		return nil
	}
	t := &thing{source: "json-ld", props: map[string][]value{}}
	for key, v := range m {
		switch k := term(key); k {
		case "@type", "type":
			for _, s := range texts(v) {
				t.types = append(t.types, term(s))
			}
		case "@id":
			if s, ok := v.(string); ok {
				t.id = r.d.identifier(s)
			}
		case "@reverse":
			r.reverse(t, v, depth)
		case "@context", "@graph":
		default:
			t.props[k] = append(t.props[k], r.values(v, depth+1)...)
		}
	}
	r.g.all = append(r.g.all, t)
	return t
}

// reverse reads properties that lead from another thing to this one.
func (r *ldReader) reverse(t *thing, v any, depth int) {
	props, ok := v.(map[string]any)
	if !ok {
		return
	}
	for key, v := range props {
		for _, from := range r.values(v, depth+1) {
			if from.thing != nil {
				k := term(key)
				from.thing.props[k] = append(from.thing.props[k], value{thing: t})
			}
		}
	}
}

func (r *ldReader) values(v any, depth int) []value {
	switch v := v.(type) {
	case []any:
		var out []value
		for _, x := range v {
			out = append(out, r.values(x, depth)...)
		}
		return out
	case map[string]any:
		if s, ok := v["@value"]; ok {
			return r.values(s, depth)
		}
		if t := r.thing(v, depth); t != nil {
			return []value{{thing: t}}
		}
	case string:
		return []value{{text: strings.TrimSpace(v)}}
	case json.Number:
		return []value{{text: v.String(), number: true}}
	case bool:
		if v {
			return []value{{text: "true"}}
		}
		return []value{{text: "false"}}
	}
	return nil
}

func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, x := range v {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}
