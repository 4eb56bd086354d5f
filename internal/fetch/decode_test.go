package fetch

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

func in(t *testing.T, e encoding.Encoding, s string) []byte {
	t.Helper()
	b, err := e.NewEncoder().Bytes([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	japan = "<title>食器用洗剤 詰替</title><p>税込 1,980円、送料無料。在庫があります。お届けは三日ほどかかります。</p>"
	latin = "<title>Kaffee für zwei</title><p>Größe: groß. Prix réduit à 19,90 €, livré chez vous à Orléans. Über 20 € ist der Versand frei.</p>"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	utf16 := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	meta := func(charset, page string) string { return `<meta charset="` + charset + `">` + page }
	for _, tc := range []struct {
		what   string
		body   []byte
		header string
		want   string // "" where the page itself is wanted as in text
		name   string
	}{
		{"UTF-8, undeclared", []byte(japan), "text/html", japan, "utf-8"},
		{"UTF-8 by its mark, whatever the header says", []byte("\xef\xbb\xbf" + japan), "text/html; charset=shift_jis", japan, "utf-8"},
		{"UTF-16 by its mark", in(t, utf16, japan), "text/html", japan, "utf-16le"},
		{"Shift_JIS by header", in(t, japanese.ShiftJIS, japan), "text/html; charset=Shift_JIS", japan, "shift_jis"},
		{"Shift_JIS under another name", in(t, japanese.ShiftJIS, japan), `text/html; charset="x-sjis"`, japan, "shift_jis"},
		{"EUC-JP by meta", in(t, japanese.EUCJP, meta("EUC-JP", japan)), "text/html", meta("EUC-JP", japan), "euc-jp"},
		{"EUC-JP by header over a wrong meta", in(t, japanese.EUCJP, meta("shift_jis", japan)), "text/html; charset=euc-jp", meta("shift_jis", japan), "euc-jp"},
		{"ISO-2022-JP by meta", in(t, japanese.ISO2022JP, meta("iso-2022-jp", japan)), "", meta("iso-2022-jp", japan), "iso-2022-jp"},
		{"windows-1252 called Latin-1", in(t, charmap.Windows1252, latin), "text/html; charset=ISO-8859-1", latin, "windows-1252"},
		{"UTF-8 that says so under a header that does not", []byte(meta("utf-8", latin)), "text/html; charset=ISO-8859-1", meta("utf-8", latin), "utf-8"},
		{"a header of no charset we know", []byte(japan), "text/html; charset=klingon", japan, "utf-8"},
		{"a header that does not parse", []byte(meta("utf-8", japan)), "text/html; charset=utf-8; charset=utf-8", meta("utf-8", japan), "utf-8"},
		{"Shift_JIS that says UTF-8", in(t, japanese.ShiftJIS, meta("utf-8", japan)), "text/html; charset=utf-8", meta("utf-8", japan), "shift_jis"},
		{"Shift_JIS, undeclared", in(t, japanese.ShiftJIS, japan), "text/html", japan, "shift_jis"},
		{"EUC-JP, undeclared", in(t, japanese.EUCJP, japan), "text/html", japan, "euc-jp"},
		{"windows-1252, undeclared", in(t, charmap.Windows1252, latin), "text/html", latin, "windows-1252"},
		{"nothing", nil, "", "", "utf-8"},
	} {
		text, name := Decode(tc.body, tc.header)
		if text != tc.want || name != tc.name {
			t.Errorf("%s: %s %q", tc.what, name, text[:min(len(text), 80)])
		}
	}
}

func TestOneBrokenCharacterInALongPageIsNoOtherEncoding(t *testing.T) {
	t.Parallel()
	page := strings.Repeat(japan, 20) + "\xe3\x81"
	text, name := Decode([]byte(page), "text/html; charset=utf-8")
	if name != "utf-8" || !strings.HasPrefix(text, japan) {
		t.Errorf("%s %.60q", name, text)
	}
}

func TestDecodeReadsAnyBytes(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{{0xff}, {0xfe, 0xff}, {0xff, 0xfe, 0x00}, {0x1b, '$'}, {0x80, 0x81, 0xff}, {0, 0, 0}} {
		if text, _ := Decode(b, "text/html; charset=utf-16"); !strings.Contains(text, "") || strings.ToValidUTF8(text, "") != text {
			t.Errorf("% x: %q", b, text)
		}
	}
}

func TestMetaInACommentIsNoDeclaration(t *testing.T) {
	t.Parallel()
	page := `<!-- <meta charset="shift_jis"> --><meta charset="utf-8">` + japan
	if text, name := Decode([]byte(page), "text/html"); text != page {
		t.Errorf("%s %.40q", name, text)
	}
}

func TestUndeclaredISO2022JP(t *testing.T) {
	if text, name := Decode(in(t, japanese.ISO2022JP, japan), "text/html"); text != japan {
		t.Errorf("%s %.40q", name, text)
	}
}

// The HTML standard reads a meta tag that says UTF-16 as UTF-8: it could not be
// read at all otherwise.
func TestMetaThatSaysUTF16(t *testing.T) {
	page := `<meta charset="utf-16">` + japan
	if text, name := Decode([]byte(page), "text/html"); text != page {
		t.Errorf("%s %.40q", name, text)
	}
}

// Shop pages begin with a long head: the bytes that tell come late.
func TestDetectionLooksWhereTheBytesAre(t *testing.T) {
	head := "<script>" + strings.Repeat("var shop = 1;\n", 6000) + "</script>"
	if text, name := Decode(append([]byte(head), in(t, japanese.ShiftJIS, japan)...), "text/html"); text != head+japan {
		t.Errorf("%s %.40q", name, text[len(head):])
	}
}

// A short page that says UTF-8 twice and has one broken character.
func TestABrokenCharacterInAShortPage(t *testing.T) {
	page := `<meta charset="utf-8">` + japan + "\xe3\x81"
	if text, name := Decode([]byte(page), "text/html; charset=utf-8"); !strings.Contains(text, "食器用洗剤") {
		t.Errorf("%s %.60q", name, text)
	}
}

// A page in Latin-1 that says UTF-8: its only byte beyond ASCII is the currency.
func TestAPoundSignUnderTheWrongDeclaration(t *testing.T) {
	page := `<meta charset="utf-8">` + strings.Repeat("<p>an ordinary page of a shop</p>", 100) + "<b>\xa319.99</b>"
	if text, name := Decode([]byte(page), "text/html; charset=utf-8"); !strings.Contains(text, "£19.99") {
		t.Errorf("%s %.60q", name, text[len(text)-20:])
	}
}

func TestDeclarationsThatTheBytesBelie(t *testing.T) {
	const page = "<!doctype html><html lang=\"ja\"><title>銅のやかん</title><p>毎日の台所で使いやすい、昔ながらの銅のやかんです。</p><p>3,980円</p>"
	for name, e := range map[string]encoding.Encoding{"shift_jis": japanese.ShiftJIS, "euc-jp": japanese.EUCJP, "iso-2022-jp": japanese.ISO2022JP, "utf-16le": unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "utf-16be": unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)} {
		body := in(t, e, page)
		for _, declared := range []string{"text/html", "text/html; charset=iso-8859-1"} {
			if strings.HasPrefix(name, "utf-16") && declared != "text/html" {
				continue
			}
			if text, got := Decode(body, declared); text != page || got != name {
				t.Errorf("%s as %q: read as %s: %.80q", name, declared, got, text)
			}
		}
	}
	if text, _ := Decode([]byte("<p>\xa342.50</p>"), "text/html"); text != "<p>£42.50</p>" {
		t.Errorf("a pound's sign alone: %q", text)
	}
	if text, _ := Decode([]byte("<p>Bouilloire cuivr\xe9e, tr\xe8s jolie</p>"), "text/html; charset=iso-8859-1"); text != "<p>Bouilloire cuivrée, très jolie</p>" {
		t.Errorf("accented letters under their own declaration: %q", text)
	}
}
