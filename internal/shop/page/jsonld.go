package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// jsonLD reads all blocks of JSON-LD into things.
func (d *document) jsonLD(g *graph) []*thing {
	r := &ldReader{d: d, g: g}
	left := maxLD
	for _, e := range d.scripts {
		if isJSONLD(attr(e, "type")) {
			if left -= len(e.FirstChild.Data); left < 0 {
				break
			}
			for _, v := range readJSON(e.FirstChild.Data) {
				r.add(v)
			}
		}
	}
	return r.roots
}

// maxLD is how much of it is read, in bytes: decoded, it takes forty times the room.
const maxLD = 3 << 19

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

// noise is what templates and old advice put around and into JSON. CDATA and HTML
// comment marks go as they are; a JavaScript comment goes with what it holds.
var noise = []struct{ begin, end string }{
	{"<![CDATA[", ""}, {"]]>", ""}, {"<!--", ""}, {"-->", ""}, {"\ufeff", ""}, {";", ""}, {"//", "\n"}, {"/*", "*/"},
}

// mend turns what people and templates write into JSON: without comments, marks
// and surplus commas, with quotes around keys, and with what may not stand raw in
// a string escaped. It knows where strings begin and end, so that "https://" is
// no comment.
func mend(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		rest := s[i:]
		if n := noiseAt(rest); n > 0 {
			i += n
			continue
		}
		switch c := s[i]; {
		case c == '"' || c == '\'':
			if t := bytes.TrimRight(b, " \t\r\n"); len(t) > 0 && (latin(t[len(t)-1]) || strings.IndexByte(`"}]0123456789`, t[len(t)-1]) >= 0) {
				b = append(t, ',') // a comma is missing
			}
			var n int
			b, n = mendString(b, rest)
			i += n
		case c == '}' || c == ']':
			b = append(bytes.TrimRight(b, ", \t\r\n"), c)
			i++
		case c == ',':
			if b = bytes.TrimRight(b, " \t\r\n"); len(b) > 0 && strings.IndexByte(",{[", b[len(b)-1]) < 0 {
				b = append(b, c)
			}
			i++
		case c == '_' || c == '$' || latin(c):
			n := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			if n < 0 {
				n = len(rest)
			}
			b = append(b, mendWord(rest[:n], strings.HasPrefix(strings.TrimLeft(rest[n:], " \t\r\n"), ":"))...)
			i += n
		case c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.':
			n := 1
			for n < len(rest) && strings.IndexByte("0123456789.eE+-", rest[n]) >= 0 {
				n++
			}
			b = append(b, rest[:n]...)
			i += n
		default:
			b = append(b, c)
			i++
		}
	}
	return string(bytes.TrimRight(b, ", \t\r\n"))
}

// noiseAt is the length of the noise that s begins with.
func noiseAt(s string) int {
	for _, x := range noise {
		rest, found := strings.CutPrefix(s, x.begin)
		switch {
		case !found:
		case x.end == "":
			return len(x.begin)
		default:
			inside, _, closed := strings.Cut(rest, x.end)
			if !closed {
				return len(s)
			}
			return len(x.begin) + len(inside) + len(x.end)
		}
	}
	return 0
}

// mendWord quotes a key; JavaScript's words for nothing are null in JSON.
func mendWord(word string, key bool) string {
	switch {
	case key:
		return `"` + word + `"`
	case word == "undefined" || word == "NaN" || word == "Infinity":
		return "null"
	}
	return word
}

// mendString appends the string that s begins with, in double quotes, and returns
// its length in s.
func mendString(b []byte, s string) ([]byte, int) {
	quote := s[0]
	b = append(b, '"')
	i := 1
	for ; i < len(s) && s[i] != quote; i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			if strings.IndexByte(`"\/bfnrtu`, s[i]) >= 0 {
				b = append(b, c) // \' is no escape of JSON: the backslash goes
			}
			b = append(b, s[i])
		case c == '"':
			b = append(b, `\"`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < 0x20:
		default:
			b = append(b, c)
		}
	}
	return append(b, '"'), i + 1
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
		if list, ok := numbered(v); ok {
			return r.values(list, depth)
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

// numbered is a list that PHP wrote as an object: {"0": …, "1": …}.
func numbered(m map[string]any) ([]any, bool) {
	list := make([]any, 0, len(m))
	for i := range len(m) {
		v, ok := m[strconv.Itoa(i)]
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, len(list) > 0
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
