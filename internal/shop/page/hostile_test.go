package page

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"
)

func extract(t testing.TB, body string) string {
	t.Helper()
	u, err := url.Parse("https://shop.example/p/1")
	if err != nil {
		t.Fatal(err)
	}
	q, failed := Extract(Input{URL: u, Status: 200, ContentType: "text/html; charset=utf-8", Body: []byte(body)})
	if failed != nil {
		if failed.Message == "" || failed.Kind == "" {
			t.Errorf("an error that says nothing: %+v", failed)
		}
		return "error " + string(failed.Kind)
	}
	if !q.Price.Positive() || !utf8.ValidString(q.Name) || utf8.RuneCountInString(q.Name) > maxName || strings.ContainsAny(q.Name, "\n\r\x00") {
		t.Errorf("quote %+v", q)
	}
	if q.Evidence == "" || utf8.RuneCountInString(q.Evidence) > maxSnippet || strings.ContainsAny(q.Evidence, "\n\r\x00") {
		t.Errorf("evidence %q", q.Evidence)
	}
	for _, c := range q.Candidates {
		if utf8.RuneCountInString(c.Text) > maxSnippet {
			t.Errorf("a snippet of %d characters", utf8.RuneCountInString(c.Text))
		}
	}
	return q.Price.String()
}

const ordinary = `<script type="application/ld+json">{"@type":"Product","name":"Tea","offers":{"price":"5","priceCurrency":"EUR"}}</script>`

func TestHostilePages(t *testing.T) {
	for name, body := range map[string]string{
		"a hundred thousand nested tags":  ordinary + strings.Repeat("<div>", 100_000),
		"nested tables":                   ordinary + strings.Repeat("<table><tr><td>", 20_000),
		"nested formatting":               ordinary + strings.Repeat("<b><i>", 50_000) + "x",
		"a million attributes":            ordinary + "<p " + strings.Repeat("a=1 ", 1_000_000) + ">",
		"a million different attributes":  ordinary + "<p " + attributes(200_000) + ">",
		"ten megabytes of text":           ordinary + strings.Repeat("price 5 € ", 1_000_000),
		"ten megabytes of paragraphs":     ordinary + strings.Repeat("<p>5 €</p>", 1_000_000),
		"JSON that is deep":               `<script type="application/ld+json">` + strings.Repeat(`{"a":`, 500_000) + `</script>` + ordinary,
		"JSON lists that are deep":        `<script type="application/ld+json">` + strings.Repeat(`[`, 50_000) + strings.Repeat(`]`, 50_000) + `</script>` + ordinary,
		"things that point at themselves": `<script type="application/ld+json">{"@id":"#a","@type":"Product","name":"x","offers":{"@id":"#a"},"isRelatedTo":{"@id":"#a"}}</script>`,
		"items that point at themselves":  `<div id="a" itemscope itemtype="https://schema.org/Product" itemref="a b"><div id="b" itemprop="offers" itemscope itemref="a b"></div></div>`,
		"many scripts":                    strings.Repeat(ordinary, 20_000),
		"a long number":                   `<script type="application/ld+json">{"@type":"Product","name":"x","offers":{"price":` + strings.Repeat("9", 1_000_000) + `,"priceCurrency":"EUR"}}</script>`,
		"an exponent":                     `<script type="application/ld+json">{"@type":"Product","name":"x","offers":{"price":1e999999999,"priceCurrency":"EUR"}}</script>`,
		"a name of a megabyte":            `<script type="application/ld+json">{"@type":"Product","name":"` + strings.Repeat("é", 1<<20) + `","offers":{"price":"5","priceCurrency":"EUR"}}</script>`,
		"JSON of commas":                  `<script type="application/ld+json">{"a":[` + strings.Repeat(", ", 2_000_000) + `]}</script>` + ordinary,
		"JSON of open comments":           `<script type="application/ld+json">{` + strings.Repeat("/* ", 1_000_000) + `}</script>` + ordinary,
		"things of one id":                `<script type="application/ld+json">[` + strings.Repeat(`{"@id":"#a","@type":"Thing","x":{"@id":"#a"}},`, 50_000) + `{}]</script>` + ordinary,
		"variants without end":            `<script type="application/ld+json">{"@type":"ProductGroup","name":"x","hasVariant":[` + strings.Repeat(`{"@type":"Product","url":"/p/1","offers":{"url":"/p/1","price":"5","priceCurrency":"EUR"}},`, 50_000) + `{}]}</script>`,
		"RDFa that is deep":               `<div vocab="https://schema.org/">` + strings.Repeat(`<div typeof="Product" property="offers" prefix="a: b c: d">`, 400) + ordinary,
		"RDFa without end":                strings.Repeat(`<div vocab="https://schema.org/" typeof="Product" resource="#a"><span property="offers" resource="#a"></span></div>`, 50_000) + ordinary,
		"prices without end in a row":     strings.Repeat(`<span class="price">5,00 €</span>`, 200_000),
		"brackets in the name":            `<title>` + strings.Repeat("(", 100_000) + strings.Repeat("1kg×", 100_000) + `</title><p class="price">5 €</p>`,
		"bytes that are no text":          ordinary + strings.Repeat("\xff\xfe\x00", 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			if got := extract(t, body); got != "5 EUR" && !strings.HasPrefix(got, "error") {
				t.Errorf("%s", got)
			}
			// A second is the aim; the race detector on a busy machine takes many.
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("a")
		b.WriteString(strings.Repeat("b", i%7))
		b.WriteByte(byte('a' + i%26))
		b.WriteString("=1 ")
	}
	return b.String()
}

// TestPagesThatMultiply: what a parser of HTML makes of open formatting elements is
// as many nodes as there are such elements times the elements that follow.
func TestPagesThatMultiply(t *testing.T) {
	var open strings.Builder
	for i := range 400 {
		fmt.Fprintf(&open, "<b a=%d>", i)
	}
	bomb := "<p>" + open.String() + "</p>" + strings.Repeat("<p>x</p>", 5_000)
	for name, body := range map[string]string{
		"plainly":                     bomb,
		"in a style sheet of SVG":     "<svg><style>" + bomb,
		"in SVG that seems to end":    "<svg><foreignObject></svg></foreignObject><style>" + bomb,
		"in SVG that ends in CDATA":   "<svg><![CDATA[</svg>]]><style>" + bomb,
		"in SVG that ends in a quote": `<svg><g id="</svg>"><style>` + bomb,
		"behind a script":             "<script>x</script>" + bomb,
		"attributes":                  ordinary + "<p " + strings.Repeat("a=1 ", 1_000_000) + ">",
		"closed paragraphs":           strings.Repeat("</p>", 1_000_000),
		"elements":                    strings.Repeat("<p>5 €</p>", 1_000_000),
	} {
		if weigh(body) {
			t.Errorf("%s: it is let through", name)
		}
	}
	for name, body := range map[string]string{
		"a long page":              strings.Repeat(`<div class="row"><a href="/somewhere"><b>Word</b></a></div>`, 20_000),
		"scripts that compare":     strings.Repeat(`<script>for(i=0;i<a.length&&b<i;i++)x("<b a="+i)</script>`, 20_000),
		"a picture in its address": `<img src="data:image/png;base64,` + strings.Repeat("iVBORw0KGgo ", 100_000) + `">`,
		"bold that never ends":     strings.Repeat(`<p><b>Word</p>`, 20_000),
	} {
		if !weigh(body) {
			t.Errorf("%s: it is not let through", name)
		}
	}
}

func seeds(f *testing.F) {
	err := fs.WalkDir(os.DirFS("testdata"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".html") {
			return err
		}
		body, err := os.ReadFile("testdata/" + path)
		f.Add(string(body))
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	lists, err := fs.Glob(os.DirFS("testdata"), "*/pages.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, list := range lists {
		cases, err := readCases[pageCase](os.DirFS("testdata"), list)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range cases {
			if c.HTML != "" {
				f.Add(c.HTML)
			}
		}
	}
}

func FuzzExtract(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body string) { extract(t, body) })
}

func FuzzReadPrice(f *testing.F) {
	for _, s := range []string{"1.299,00 €", "1万2,800円", "35€ 90", "$..75", "12 x de R$ 9,99", "٬٫١", "1 2 3 4 5 6 7 8 9", "1e9", "999999999999999999999999999999999999999999"} {
		f.Add(s, "EUR", "de")
	}
	f.Fuzz(func(t *testing.T, text, hint, lang string) {
		amount, _, ok := ReadPrice(text, hint, lang)
		if ok && (amount == "" || strings.Trim(amount, "0123456789.") != "" || strings.Count(amount, ".") > 1) {
			t.Errorf("%q was read as %q", text, amount)
		}
	})
}

func FuzzQuantity(f *testing.F) {
	for _, s := range []string{"500ml×24本", "12ロール×6", "1.5kg (3袋)", "6 x 330 ml", "1 lb 8 oz", "9999999999999999999999999kg x 99999999999", "0 g", "1/0 kg"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, title string) {
		if q := Quantity(title); q.Known() && (q.Amount == "0" || strings.Trim(q.Amount, "0123456789.") != "") {
			t.Errorf("%q holds %+v", title, q)
		}
	})
}

func FuzzJSONLD(f *testing.F) {
	for _, s := range []string{`{"@type":"Product"}`, `<!-- {"a":1,} -->`, `//<![CDATA[` + "\n" + `{"a":"\'"} //]]>`, `{"a":/* x */1};`, `{} {}`, "{\"a\":\"\n\"}", `&quot;`} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, block string) {
		r := &ldReader{d: &document{}, g: &graph{}}
		for _, v := range readJSON(block) {
			r.add(v)
		}
		r.g.link()
	})
}

// BenchmarkExtract: megabytes a second through the whole extraction, against
// tokenizing alone. Aim: half of it.
func BenchmarkExtract(b *testing.B) {
	body := "<!doctype html><html lang=\"de\"><head><title>Tee</title>" + ordinary + "</head><body><h1>Tea</h1><p class=\"price\">5,00 €</p>" +
		strings.Repeat(`<div class="row"><a href="/somewhere"><img src="/i.png" alt=""><span>Ein Satz, der weitergeht.</span></a></div>`, 900) + "</body></html>"
	u, err := url.Parse("https://shop.example/p/1")
	if err != nil {
		b.Fatal(err)
	}
	answer := Input{URL: u, Status: 200, ContentType: "text/html; charset=utf-8", Body: []byte(body)}
	var floor time.Duration
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		// By turns, for the machine may become busier or idler.
		b.StopTimer()
		began := time.Now()
		for z := html.NewTokenizer(strings.NewReader(body)); z.Next() != html.ErrorToken; {
			z.Token()
		}
		floor += time.Since(began)
		b.StartTimer()
		if _, failed := Extract(answer); failed != nil {
			b.Fatal(failed)
		}
	}
	b.ReportMetric(float64(floor)/float64(b.Elapsed()), "ratio")
}
