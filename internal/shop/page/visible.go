package page

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
)

// run is a piece of visible text.
type run struct {
	text   string
	struck bool // shown crossed out: not paid
	priced bool // an element around it is called a price
	class  string
}

// block is one line of the page, as a reader sees it.
type block struct {
	runs   []run
	before string // the short block before it: a label often stands there
}

func (b block) text() string {
	var s strings.Builder
	for _, r := range b.runs {
		s.WriteString(r.text)
	}
	return strings.TrimSpace(s.String())
}

func (b block) hasDigit() bool {
	for _, r := range b.runs {
		if strings.ContainsFunc(r.text, unicode.IsDigit) {
			return true
		}
	}
	return false
}

// sighting is an amount that is shown, and what it is shown as.
type sighting struct {
	amount money.Amount
	paid   bool // nothing says that it is another kind of price
	strong bool // something says that it is what is paid
	priced bool // it stands in an element that is called a price
	why    string
	text   string
}

// Regions that are not about the page's own product.
var (
	asideNames = regexp.MustCompile(`(?i)(^|[^a-z])(related|similar|recommend|recommended|recommendations|carousel|slider|upsells?|cross-?sells?|recently|also|minicart|mini-cart|cart|basket|menu|nav|navigation|navbar|footer|sidebar|reviews?|ranking|breadcrumbs?|cookie|newsletter|topbar|header|sponsored|accessories|bundle|bought|viewed|suggestions?)([^a-z]|$)|a-carousel|sims-`)
	asideWords = regexp.MustCompile(`(?i)^\s*(similar|related|you may also|customers (who|also)|recommended|recently viewed|frequently bought|sponsored|ähnliche|kunden|das könnte|produits similaires|vous aimerez|関連|おすすめ|この商品を|最近チェック|よく一緒に)`)
	asideHead  = regexp.MustCompile(`(?i)recently viewed|related|similar|you (may|might) also|also (bought|viewed|like)|recommended|frequently bought|ähnliche|kunden kauften|関連|おすすめ|最近チェック|よく一緒に`)
	struckName = regexp.MustCompile(`(?i)(^|[^a-z])(old|was|strike|struck|crossed|line-through|list-?price|rrp|msrp|uvp|compare|before|original|regular-price|price-regular|price-item--regular|price--original|previous)([^a-z]|$)`)
	pricedName = regexp.MustCompile(`(?i)price|preis|prix|precio|prezzo|preco|preço|kakaku|(^|[^a-z])(cena|hinta|pris|amount|a-offscreen)([^a-z]|$)|価格|値段`)
	hiddenCSS  = regexp.MustCompile(`(?i)display\s*:\s*none|visibility\s*:\s*hidden`)
	struckCSS  = regexp.MustCompile(`(?i)line-through`)
)

// maxBlocks and maxBlock bound the visible text that is looked at.
const (
	maxBlocks = 20_000
	maxBlock  = 400
)

// blocks are the lines of the page that may be about its own product.
func (d *document) blocks() []block {
	if d.lines == nil {
		w := &blockWalker{named: map[string]names{}}
		w.walk(d.root, run{}, 0)
		w.end()
		d.lines = w.out
	}
	return d.lines
}

type blockWalker struct {
	out   []block
	cur   block
	size  int
	named map[string]names // what was found out about a class, which repeats
	aside int              // the level of a heading that leads to other products; 0 for none
}

// names is what the class and id of an element say of it.
type names struct{ aside, struck, priced bool }

func (w *blockWalker) names(name string) names {
	if name == " " {
		return names{}
	}
	n, known := w.named[name]
	if !known {
		n = names{asideNames.MatchString(name), struckName.MatchString(name), pricedName.MatchString(name)}
		w.named[name] = n
	}
	return n
}

func (w *blockWalker) end() {
	if w.aside == 0 && w.cur.text() != "" && len(w.out) < maxBlocks {
		if n := len(w.out); n > 0 {
			if t := w.out[n-1].text(); len(t) < 40 {
				w.cur.before = t
			}
		}
		w.out = append(w.out, w.cur)
	}
	w.cur, w.size = block{}, 0
}

func (w *blockWalker) walk(n *html.Node, style run, depth int) {
	if depth > 600 {
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			if w.size < maxBlock {
				style.text = spaced(c.Data)
				w.cur.runs = append(w.cur.runs, style)
				w.size += len(style.text)
			}
		case html.ElementNode:
			w.element(c, style, depth)
		}
	}
}

func (w *blockWalker) element(e *html.Node, style run, depth int) {
	switch e.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Head, atom.Nav, atom.Footer, atom.Aside, atom.Select, atom.Svg, atom.Iframe, atom.Textarea:
		return
	}
	name := attr(e, "class") + " " + attr(e, "id")
	css := attr(e, "style")
	_, hidden := attrOK(e, "hidden")
	is := w.names(name)
	if hidden || css != "" && hiddenCSS.MatchString(css) || attr(e, "aria-hidden") == "true" && !is.priced {
		return
	}
	if is.aside && e.DataAtom != atom.Body && e.DataAtom != atom.Main && e.DataAtom != atom.Html {
		return
	}
	if level := headings[e.DataAtom]; level > 0 {
		w.end()
		switch {
		case level > 1 && asideHead.MatchString(headOf(e)) && (w.aside == 0 || level < w.aside):
			w.aside = level
		case level <= w.aside:
			w.aside = 0
		}
	}
	isBlock := blockLevel[e.DataAtom]
	if isBlock && w.size == 0 && depth < 40 && asideWords.MatchString(headOf(e)) && e.DataAtom != atom.Body && e.DataAtom != atom.Main {
		return
	}
	switch e.DataAtom {
	case atom.Del, atom.S, atom.Strike:
		style.struck = true
	case atom.Ins:
		style.struck = false
	}
	if is.struck || css != "" && struckCSS.MatchString(css) {
		style.struck = true
	}
	if is.priced || strings.EqualFold(attr(e, "itemprop"), "price") {
		style.priced = true
	}
	style.class = strings.TrimSpace(name + " " + style.class)
	if len(style.class) > 300 {
		style.class = style.class[:300]
	}
	if isBlock || e.DataAtom == atom.Br {
		w.end()
	}
	after := w.fraction(e, style)
	w.walk(e, style, depth+1)
	if after != "" {
		style.text = after
		w.cur.runs = append(w.cur.runs, style)
	}
	if isBlock {
		w.end()
	}
}

// fraction writes the decimal point that a fraction set small stands for: 12 99,
// and 35€ 90, where the sign stands in its place. It returns what must follow.
func (w *blockWalker) fraction(e *html.Node, style run) (after string) {
	if !isFraction(e) || e.FirstChild == nil || e.FirstChild.Type != html.TextNode {
		return ""
	}
	if t := strings.TrimSpace(e.FirstChild.Data); len(t) != 2 || !digitsOnly(t) {
		return ""
	}
	for i := len(w.cur.runs) - 1; i >= 0; i-- {
		t := strings.TrimSpace(w.cur.runs[i].text)
		if t == "" {
			continue
		}
		whole := strings.TrimRight(t, "€£ ")
		if !endsInDigit(whole) {
			return ""
		}
		w.cur.runs[i].text = whole
		style.text = "."
		w.cur.runs = append(w.cur.runs, style)
		return t[len(whole):]
	}
	return ""
}

var blockLevel = map[atom.Atom]bool{atom.P: true, atom.Div: true, atom.Li: true, atom.Ul: true, atom.Ol: true, atom.Td: true, atom.Th: true, atom.Tr: true, atom.Table: true, atom.Section: true,
	atom.Article: true, atom.Main: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.Form: true, atom.Dl: true, atom.Dt: true, atom.Dd: true, atom.Body: true, atom.Html: true,
	atom.Button: true, atom.Header: true, atom.Fieldset: true, atom.Label: true, atom.Figure: true, atom.Blockquote: true}

var headings = map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4}

// headOf is how an element's text begins.
func headOf(e *html.Node) string {
	for n := range e.Descendants() {
		if n.Type == html.TextNode {
			if t := strings.TrimSpace(n.Data); t != "" {
				return t[:min(len(t), 60)]
			}
		}
	}
	return ""
}

// spaced makes every run of blanks one, also at the ends.
func spaced(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	blank := false
	for _, r := range s {
		switch {
		case !unicode.IsSpace(r):
			blank = false
			b.WriteRune(r)
		case !blank:
			blank = true
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// What the words around an amount say of it. Other kinds of price first.
var (
	kindBefore = []struct {
		why string
		re  *regexp.Regexp
	}{
		{"an instalment", regexp.MustCompile(`(?i)\d+\s*(x|×|mal|fois|veces)\s*(de|à|a|zu)?\s*$|payments? of\s*$|\d+\s*回払い|月々|raten? (von|à)`)},
		{"a price for a unit", regexp.MustCompile(`(?i)(1|100|10)\s*(kg|g|l|ml|m|st|stück|個|枚|本)\s*[=:]\s*$|grundpreis|unit price|per unit|あたり\s*$`)},
		{"without tax", regexp.MustCompile(`(?i)税抜|税別|本体|netto|\b(ex|excl|exkl)\.?\s*(vat|tax|mwst|btw)\b|hors taxe|\bHT\b`)},
		{"a list price", regexp.MustCompile(`(?i)定価|通常価格|希望小売|参考価格|旧価格|\b(statt|uvp|rrp|msrp|list price|was|instead of|before|prix conseillé|antes|avant)\b`)},
		{"a price for members", regexp.MustCompile(`(?i)会員|\b(member|club|prime|karte|clubkarte|card|loyalty)`)},
		{"a subscription", regexp.MustCompile(`(?i)subscri|定期|sparabo|\babo\b|autoship|auto-?delivery`)},
		{"shipping", regexp.MustCompile(`(?i)versand|shipping|delivery|送料|livraison|spedizione|porto|frete|frakt|import`)},
		{"a saving", regexp.MustCompile(`(?i)\b(save|saving|you save|sparen|ersparnis|économisez|ahorra|discount|off|gutschein|coupon|cashback)\b|お得|割引|クーポン`)},
		{"a deposit or a fee", regexp.MustCompile(`(?i)pfand|deposit|éco-?part|\bdont\b|davon|of which|fee\b|手数料|protection|warranty|garantie`)},
		{"a threshold", regexp.MustCompile(`(?i)\b(over|above|ab einem|mindest|minimum|from orders|dès|orders of)\s*$|以上`)},
	}
	kindAfter = []struct {
		why string
		re  *regexp.Regexp
	}{
		{"an instalment", regexp.MustCompile(`(?i)^\s*(x\s*\d|mtl|sem juros|per instal|interest-free)`)},
		{"a price for a unit", regexp.MustCompile(`(?i)^\s*(/|per|pro|je|al|por)\s*(1\s*|100\s*|10\s*)?(kg|g|l|ml|m|lb|oz|st|stk|stück|unit|piece|個|枚|本|ロール)\b|^\s*[（(]?\s*\d*\s*(g|ml|個|枚|本)あたり`)},
		{"without tax", regexp.MustCompile(`(?i)^\s*[（(]?\s*(税抜|税別|\+\s*税|zzgl|exkl|excl|ex\.?\s*(vat|tax)|netto|HT\b|h\.t)`)},
		{"points", regexp.MustCompile(`(?i)^\s*(ポイント|pt\b|points?\b|p\b)`)},
		{"a saving", regexp.MustCompile(`(?i)^\s*(off|gespart|割引|引き|お得|クーポン|saved)`)},
	}
	strongBefore = regexp.MustCompile(`(?i)税込|特価|販売価格|セール価格|\b(now|jetzt|nur|sale price|our price|one-?time|einmal|total|incl|inkl|brutto)\b`)
	strongAfter  = regexp.MustCompile(`(?i)^\s*[（(]?\s*(税込み?(?:[）)\s]|$)|inkl|incl|inc\.?\s*(vat|tax)|ttc|brutto|iva incl)`)
	otherClass   = []struct {
		why string
		re  *regexp.Regexp
	}{
		{"a price for members", regexp.MustCompile(`(?i)(^|[^a-z])(club|member|prime|loyalty)([^a-z]|$)`)},
		{"a subscription", regexp.MustCompile(`(?i)(^|[^a-z])(sns|subscribe|subscription|autoship)([^a-z]|$)`)},
		{"a price for a unit", regexp.MustCompile(`(?i)unit-?price|price-?(per-)?unit|grundpreis|ppu`)},
		{"a saving", regexp.MustCompile(`(?i)(^|[^a-z])(saving|savings|discount|badge|coupon)([^a-z]|$)`)},
		{"shipping", regexp.MustCompile(`(?i)shipping|delivery`)},
		{"a deposit or a fee", regexp.MustCompile(`(?i)eco-?(tax|part)|deposit|pfand|warranty`)},
		{"points", regexp.MustCompile(`(?i)(^|[^a-z])points?([^a-z]|$)`)},
		{"without tax", regexp.MustCompile(`(?i)price--withoutTax|excl-?tax|ex-?vat|price-ht|without-?tax`)},
	}
)

// sightings finds the amounts that the page shows about its own product.
func (d *document) sightings() []sighting {
	var out []sighting
	for _, b := range d.blocks() {
		out = append(out, d.sightingsIn(b)...)
		if len(out) > 200 {
			break
		}
	}
	return out
}

func (d *document) sightingsIn(b block) []sighting {
	if !b.hasDigit() {
		return nil
	}
	var text strings.Builder
	owner := []int{} // of each byte, the run
	for i, r := range b.runs {
		t := signAsPoint.ReplaceAllString(digitsOf(r.text), "$1.$3 $2")
		t = manYen.ReplaceAllStringFunc(t, func(m string) string { return tenThousands(manYen.FindStringSubmatch(m)) + "円" })
		text.WriteString(t)
		for range len(t) {
			owner = append(owner, i)
		}
	}
	s := text.String()
	if len(s) > 2*maxBlock {
		return nil
	}
	spans := prices(s)
	var out []sighting
	from := 0 // behind the amount before
	for i, sp := range spans {
		r := b.runs[owner[min(sp[0], len(owner)-1)]]
		to := len(s)
		if i+1 < len(spans) {
			to = spans[i+1][0]
		}
		before, after := s[from:sp[0]], s[sp[1]:to]
		near := before[max(0, len(before)-12):] + s[sp[0]:sp[1]] + after
		if i > 0 {
			near = s[spans[i-1][1]:to]
		}
		if !signBeside(before, after) && !(r.priced && len(spans) == 1) {
			continue
		}
		amount, ok := d.shown(near, s, r.priced)
		if !ok {
			continue
		}
		label := beforeSign(before)
		if strings.TrimSpace(before) == "" && i == 0 {
			label = b.before
		}
		ranged := len(out) > 0 && between.MatchString(afterSign(s[from:sp[0]]))
		from = sp[1]
		g := sighting{amount: amount, paid: true, priced: r.priced, text: around(s, sp), why: "shown on the page"}
		g.judge(r, label, afterSign(after))
		if ranged {
			g.paid, g.why = false, "the end of a range"
		}
		out = append(out, g)
	}
	return out
}

// around is the line that an amount stands in, as far as a snippet goes.
func around(line string, span []int) string {
	const before = maxSnippet / 3
	head := []rune(line[:span[0]])
	return clean(string(head[max(0, len(head)-before):])+line[span[0]:], maxSnippet)
}

// shown reads the amount in its surroundings; the whole block may hold the sign.
func (d *document) shown(near, whole string, priced bool) (money.Amount, bool) {
	n, currency, ok := ReadPrice(near, "", d.lang)
	if !ok {
		return money.Amount{}, false
	}
	if currency == "" {
		currency = d.currencyOf("", near)
	}
	if currency == "" && priced {
		if currency = d.currencyOf("", whole); currency == "" {
			currency = d.pageCurrency()
		}
		if n, _, ok = ReadPrice(near+" "+currency, "", d.lang); !ok {
			return money.Amount{}, false
		}
	}
	a, err := money.Parse(n, currency)
	return a, err == nil && a.Positive()
}

func (g *sighting) judge(r run, before, after string) {
	if r.struck {
		g.paid, g.why = false, "crossed out"
		return
	}
	for _, k := range otherClass {
		if k.re.MatchString(r.class) {
			g.paid, g.why = false, k.why
			return
		}
	}
	for _, k := range kindAfter {
		if k.re.MatchString(after) {
			g.paid, g.why = false, k.why
			return
		}
	}
	g.strong = strongAfter.MatchString(after)
	for _, k := range kindBefore {
		if k.re.MatchString(before) && !(g.strong && k.why == "without tax") {
			if k.why == "without tax" && strongBefore.MatchString(before) {
				break
			}
			g.paid, g.strong, g.why = false, false, k.why
			return
		}
	}
	g.strong = g.strong || strongBefore.MatchString(before)
}

var anySign = regexp.MustCompile(`[€£$¥￥₹₩₽₺฿₫₪₴₱円元]|zł|Kč|kr\b|kr\.|руб|грн|Ft\b|Rs\.?|ر\.س|\b[A-Z]{3}\b|:-|:–|\.–|p$`)

// signBeside reports whether a mark of a currency touches the number.
func signBeside(before, after string) bool {
	b := strings.TrimRight(before, " \u00a0\u202f")
	a := strings.TrimLeft(after, " \u00a0\u202f")
	if loc := anySign.FindStringIndex(a[:min(len(a), 8)]); loc != nil && loc[0] == 0 {
		return true
	}
	all := anySign.FindAllStringIndex(b, -1)
	return len(all) > 0 && all[len(all)-1][1] == len(b)
}

// beforeSign is what stands before the number without its own sign.
func beforeSign(s string) string {
	s = strings.TrimRight(s, " \u00a0\u202f")
	if all := anySign.FindAllStringIndex(s, -1); len(all) > 0 && all[len(all)-1][1] == len(s) {
		s = strings.TrimSuffix(s[:all[len(all)-1][0]], "R")
	}
	return s
}

// afterSign is what follows the number once its own sign is gone.
func afterSign(s string) string {
	s = strings.TrimLeft(s, " \u00a0\u202f")
	if loc := anySign.FindStringIndex(s); loc != nil && loc[0] == 0 {
		s = s[loc[1]:]
	}
	return s
}

// visiblePrice is the one price that the page shows as paid. It reports false
// where there is none, or several and nothing says which.
func visiblePrice(all []sighting) (sighting, bool) {
	for _, want := range []func(sighting) bool{
		func(g sighting) bool { return g.priced && g.strong },
		func(g sighting) bool { return g.priced },
		func(g sighting) bool { return g.strong },
		func(g sighting) bool { return true },
	} {
		var fit []sighting
		for _, g := range all {
			if g.paid && want(g) {
				fit = append(fit, g)
			}
		}
		if len(fit) == 0 {
			continue
		}
		for _, g := range fit[1:] {
			if !g.amount.Equal(fit[0].amount) {
				return sighting{}, false
			}
		}
		return fit[0], true
	}
	return sighting{}, false
}

func candidatesOf(all []sighting, won money.Amount) []shop.Candidate {
	var out []shop.Candidate
	for _, g := range all[:min(len(all), 20)] {
		out = append(out, shop.Candidate{FoundBy: "page", Price: g.amount, Text: g.text, Won: g.paid && g.amount.Equal(won), Why: g.why})
	}
	return out
}
