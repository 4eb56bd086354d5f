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

// metaCharset finds the declaration in the first kilobyte of HTML.
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
	if valid && (header == "utf-8" || meta == "utf-8" || header == "" && meta == "") && !bytes.Contains(body, []byte("\x1b$")) {
		return string(body), "utf-8"
	}
	for _, declared := range []string{header, meta} {
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

func fromMeta(body []byte) string {
	if m := metaCharset.FindSubmatch(body[:min(len(body), 4096)]); m != nil {
		return canonical(string(m[1]))
	}
	return ""
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
		return strings.ToValidUTF8(string(body), "\ufffd"), mostlyFine(string(body))
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
	bad := strings.Count(s, "\ufffd")
	if !utf8.ValidString(s) {
		for i := 0; i < len(s); {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				bad++
			}
			i += n
		}
	}
	return bad == 0 || bad*1000 < len(s)
}

// detect asks the statistics of saintfish/chardet, which knows the Japanese
// encodings apart where golang.org/x/net takes undeclared Shift_JIS for Latin-1.
func detect(body []byte) (text, name string, ok bool) {
	results, err := chardet.NewHtmlDetector().DetectAll(body[:min(len(body), 64<<10)])
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
