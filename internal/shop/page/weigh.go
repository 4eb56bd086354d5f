package page

import "strings"

// maxAttributes of one element.
const maxAttributes = 2_000

// weigh estimates how many nodes a page becomes. The HTML standard has
// a parser open formatting elements that were left open (<b>, <font>, <a> …) anew
// in each element that follows, so that forty kilobytes can become millions of
// nodes; and the parser has no limit of its own. It reports false for more than
// maxNodes, or for an element with attributes without end.
func weigh(s string) bool {
	w := weigher{open: map[string][]string{}}
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			return true
		}
		s = s[i+1:]
		var ok bool
		if s, ok = w.tag(s); !ok || w.nodes > maxNodes {
			return false
		}
	}
}

type weigher struct {
	nodes   int
	open    map[string][]string // formatting elements by name, as they were written
	opened  int                 // of all names
	foreign int                 // levels of SVG and MathML, where scripts are no raw text
	points  int                 // levels in them where HTML is allowed again
}

// formatting elements of the HTML standard, section 13.2.4.3.
func formatting(name string) bool {
	switch name {
	case "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		return true
	}
	return false
}

// integration points of SVG and MathML.
func integration(name string) bool {
	switch name {
	case "foreignobject", "desc", "title", "annotation-xml", "mi", "mo", "mn", "ms", "mtext":
		return true
	}
	return false
}

// tag weighs what begins behind a "<", and returns what follows it.
func (w *weigher) tag(s string) (rest string, ok bool) {
	switch {
	case strings.HasPrefix(s, "!--"):
		_, rest, _ = strings.Cut(s[3:], "-->")
		w.nodes++
		return rest, true
	case w.foreign > 0 && strings.HasPrefix(s, "![CDATA["):
		_, rest, _ = strings.Cut(s, "]]>")
		return rest, true
	}
	closing := strings.HasPrefix(s, "/")
	s = strings.TrimPrefix(s, "/")
	if s == "" || !latin(s[0]) {
		return s, true
	}
	n := 0
	for s[n] != '>' && !parts(s[n]) {
		if n++; n == len(s) {
			return "", true
		}
	}
	name := strings.ToLower(s[:min(n, 16)])
	end, attributes := tagEnd(s[n:])
	if attributes > maxAttributes {
		return "", false
	}
	written, rest := s[:n+end], s[n+end:]
	if !closing || name == "p" || name == "br" { // </p> that closes none makes one
		w.nodes += 1 + w.opened
	}
	if !strings.HasPrefix(rest, "<") { // a text follows
		w.nodes += 1 + w.opened
	}
	switch {
	case formatting(name) && closing:
		if same := w.open[name]; len(same) > 0 {
			w.nodes += min(len(same), 8) // the adoption agency's copies
			w.open[name] = same[:len(same)-1]
			w.opened--
		}
	case formatting(name):
		// Three of a kind are kept, and no more.
		alike := 0
		for _, other := range w.open[name] {
			if other == written {
				alike++
			}
		}
		if alike < 3 {
			w.open[name] = append(w.open[name], written)
			w.opened++
		}
	case (name == "svg" || name == "math") && !closing && !strings.HasSuffix(written, "/>"):
		w.foreign++
	case (name == "svg" || name == "math") && closing && w.points == 0:
		w.foreign = max(w.foreign-1, 0)
	case w.foreign > 0 && integration(name):
		if w.points++; closing {
			w.points = max(w.points-2, 0)
		}
	case (name == "script" || name == "style") && !closing && w.foreign == 0:
		return pastRawText(rest, name), true
	}
	return rest, true
}

// tagEnd is the length of a tag behind its name, and how many attributes it has.
func tagEnd(s string) (end, attributes int) {
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '>':
			return i + 1, attributes
		case (c == '"' || c == '\'') && i > 0 && s[i-1] == '=':
			quote = c
		case parts(c):
			if i+1 < len(s) && s[i+1] != '>' && !parts(s[i+1]) {
				attributes++
			}
		}
	}
	return len(s), attributes
}

// parts reports whether a byte parts a tag's name and its attributes.
func parts(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '/'
}

// pastRawText is what follows the text of a script or a style sheet.
func pastRawText(s, name string) string {
	for from := 0; ; {
		i := strings.Index(s[from:], "</")
		if i < 0 {
			return ""
		}
		from += i
		if rest := s[from+2:]; len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name) {
			return s[from:]
		}
		from += 2
	}
}
