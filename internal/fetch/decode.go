package fetch

import (
	"bytes"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/saintfish/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// metaCharset finds the declaration at the beginning of HTML.
var metaCharset = regexp.MustCompile(`(?i)<meta[^>]+charset\s*=\s*["']?\s*([a-z0-9_:.-]+)`)

// Decode turns a page's bytes into UTF-8 and names the encoding it took. A byte
// order mark is believed first, then the header, then the page's own meta tag,
// as the HTML standard has it — but only as long as the bytes bear it out: a
// page that is valid UTF-8 and says so is UTF-8 whatever its header claims, and
// a declaration under which the bytes make no sense is passed over. Where
// nothing is declared the bytes decide.
func Decode(body []byte, contentType string) (text, name string) {
	for _, bom := range []struct{ mark, name string }{{"\xef\xbb\xbf", "utf-8"}, {"\xff\xfe", "utf-16le"}, {"\xfe\xff", "utf-16be"}} {
		if bytes.HasPrefix(body, []byte(bom.mark)) {
			if text, ok := decode(body, bom.name); ok {
				return strings.TrimPrefix(text, "\ufeff"), bom.name
			}
		}
	}
	header, meta := fromHeader(contentType), fromMeta(body)
	valid := utf8.Valid(body)
	if name := wide(body); name != "" && header == "" {
		if text, ok := decode(body, name); ok {
			return text, name
		}
	}
	if escapes(body) { // whatever is declared: in no other encoding would it be text
		if text, ok := decode(body, "iso-2022-jp"); ok {
			return text, "iso-2022-jp"
		}
	}
	if valid && (header == "utf-8" || meta == "utf-8" || header == "" && meta == "") {
		return string(body), "utf-8"
	}
	for _, declared := range []string{header, meta} {
		if declared == "windows-1252" && inRuns(body) {
			continue // it reads any bytes, and is a server's default
		}
		if text, ok := decode(body, declared); ok {
			return text, declared
		}
	}
	if valid {
		return string(body), "utf-8"
	}
	if text, name, ok := detect(body); ok {
		return text, name
	}
	text, _ = decode(body, "windows-1252") // reads any bytes; what browsers fall back to
	return text, "windows-1252"
}

func fromHeader(contentType string) string {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	return canonical(params["charset"])
}

// fromMeta reads UTF-16 as UTF-8, as the HTML standard has it: a tag that could be
// read at all is not in UTF-16.
func fromMeta(body []byte) string {
	m := metaCharset.FindSubmatch(body[:min(len(body), 4096)])
	if m == nil {
		return ""
	}
	name := canonical(string(m[1]))
	if strings.HasPrefix(name, "utf-16") {
		return "utf-8"
	}
	return name
}

// wide is UTF-16 without a byte order mark, by the zeros that its ASCII has.
func wide(body []byte) string {
	zeros := [2]int{}
	head := body[:min(len(body), 512)&^1]
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	switch {
	case zeros[1] > len(head)/4 && zeros[0] == 0:
		return "utf-16le"
	case zeros[0] > len(head)/4 && zeros[1] == 0:
		return "utf-16be"
	}
	return ""
}

// inRuns reports whether the bytes beyond ASCII stand together, as in scripts other
// than Latin, where accented letters stand alone.
func inRuns(body []byte) bool {
	runs, alone, length := 0, 0, 0
	for _, b := range append(body[:len(body):len(body)], 0) {
		if b >= utf8.RuneSelf {
			length++
			continue
		}
		switch {
		case length >= 4:
			runs += length
		case length > 0:
			alone += length
		}
		length = 0
	}
	return runs > 2*alone
}

// escapes reports the sequences by which ISO-2022-JP, which is ASCII to the eye,
// begins its Japanese.
func escapes(body []byte) bool {
	return bytes.Contains(body, []byte("\x1b$B")) || bytes.Contains(body, []byte("\x1b$@"))
}

func canonical(label string) string {
	e, err := htmlindex.Get(strings.TrimSpace(label))
	if err != nil {
		return ""
	}
	name, err := htmlindex.Name(e)
	if err != nil {
		return ""
	}
	return name
}

// decode reports false where the bytes do not fit the encoding.
func decode(body []byte, name string) (string, bool) {
	if name == "" {
		return "", false
	}
	if name == "utf-8" {
		return strings.ToValidUTF8(string(body), "\ufffd"), mostlyUTF8(body)
	}
	e, _ := charset.Lookup(name)
	if e == nil || e == encoding.Replacement {
		return "", false
	}
	out, err := e.NewDecoder().Bytes(body)
	if err != nil {
		return "", false
	}
	return string(out), mostlyFine(string(out))
}

// mostlyFine tolerates a stray broken character, as real pages have them, and no more.
func mostlyFine(s string) bool {
	return strings.Count(s, "\ufffd")*1000 < max(len(s), 1)
}

// mostlyUTF8 tolerates a broken character among many whole ones. A page whose
// only bytes beyond ASCII are broken is in another encoding: its one £ counts.
func mostlyUTF8(body []byte) bool {
	bad, good := 0, 0
	for len(body) > 0 {
		r, n := utf8.DecodeRune(body)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		body = body[n:]
	}
	return bad*10 <= good
}

// detect asks the statistics of saintfish/chardet, which knows the Japanese
// encodings apart where golang.org/x/net takes undeclared Shift_JIS for Latin-1.
func detect(body []byte) (text, name string, ok bool) {
	if bytes.Contains(body, []byte("\xa3")) && !bytes.ContainsFunc(bytes.ReplaceAll(body, []byte("\xa3"), nil), func(r rune) bool { return r >= utf8.RuneSelf }) {
		return "", "", false // a pound's sign alone is nothing for statistics
	}
	// The head of a page is ASCII and says nothing.
	from := max(bytes.IndexFunc(body, func(r rune) bool { return r >= utf8.RuneSelf }), 0)
	results, err := chardet.NewHtmlDetector().DetectAll(body[from:min(len(body), from+64<<10)])
	if err != nil {
		return "", "", false
	}
	for _, r := range results {
		if name := canonical(r.Charset); name != "" {
			if text, ok := decode(body, name); ok {
				return text, name, true
			}
		}
	}
	return "", "", false
}
