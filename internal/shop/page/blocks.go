package page

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// run is a piece of visible text, and what the elements around it are called.
type run struct {
	text   string
	struck bool   // shown crossed out: not paid
	priced bool   // something called a price
	taxed  bool   // something called a price with tax
	box    bool   // something called the price of the page's product, by well-known software
	kind   string // another kind of price, by name: "a price for members"
	near   int    // how far down the innermost element around both it and the heading is
}

// block is one line of the page, as a reader sees it.
type block struct {
	runs     []run
	before   string // the short block before it: a label often stands there
	disabled bool   // a button that cannot be pressed
	naming   bool   // the page's heading, or a product's name: no label, whatever it says
}

func (b block) text() string {
	if len(b.runs) == 1 {
		return strings.TrimSpace(b.runs[0].text)
	}
	var s strings.Builder
	for _, r := range b.runs {
		s.WriteString(r.text)
	}
	return strings.TrimSpace(s.String())
}

// near is how near to the heading the block begins.
func (b block) near() int {
	if len(b.runs) == 0 {
		return 0
	}
	return b.runs[0].near
}

func (b block) blank() bool {
	for _, r := range b.runs {
		if strings.TrimSpace(r.text) != "" {
			return false
		}
	}
	return true
}

func (b block) hasDigit() bool {
	for _, r := range b.runs {
		if strings.ContainsFunc(r.text, unicode.IsDigit) {
			return true
		}
	}
	return false
}

// Regions that are not about the page's own product.
var (
	asideNames = words(`(^|[^a-z])(related|similar|recommend|recommended|recommendations|carousel|slider|upsells?|cross-?sells?|recently|also|mini-?cart|(header|side|top|nav|my|shopping)-?(cart|basket)|(cart|basket)-?(drawer|preview|dropdown|summary|count|total|totals|widget|link|icon|modal|popup)|menu|nav|navigation|navbar|footer|sidebar|reviews?|ranking|breadcrumbs?|cookie|consent|newsletter|topbar|header|sponsored|accessory|accessories|bundle|bought|viewed|suggestions?|alternatives?|alternativen|alternativas|alternative-?products?)([^a-z]|$)|a-carousel|sims-`)
	asideWords = regexp.MustCompile(`(?i)^\s*(similar|related|you may also|customers (who|also)|recommended|recently viewed|frequently bought|sponsored|alternativ(en|es|as|e produkte)\b|ähnliche|kunden|anderen (bekeken|kochten)|das könnte|passend(es zubehör| dazu)|zubehör:|produits similaires|vous aimerez|関連|おすすめ|この商品を|最近チェック|よく一緒に|함께|추천|관련 상품|다른 고객|похожие|рекомендуем|с этим товаром|相关|相關|推荐|推薦|猜你喜欢)`)
	asideHead  = words(`recently viewed|related|similar|you (may|might) also|also (bought|viewed|like)|recommended|frequently bought|^alternativ(en|es|as)\b|ähnliche|kunden kauften|anderen (bekeken|kochten)|zubehör|accessor(y|ies)|accessoires|accesorios|accessori|passend dazu|함께|추천|관련 상품|похожие|рекомендуем|с этим товаром|相关商品|相關商品|推荐|推薦|猜你喜欢|アクセサリー|関連|おすすめ|最近チェック|よく一緒に`)
	struckName = words(`(^|[^a-z])(old|was|strike|struck|crossed|line-through|list-?price|rrp|msrp|uvp|compare|before|original|origin-?price|through|non-sale|former|price--original|previous|org|orig)([^a-z]|$)`)
	pricedName = words(`price|(^|[^a-z])prc([^a-z]|$)|preis|prix|precio|prezzo|preco|preço|kakaku|(^|[^a-z])(cena|hinta|pris|amount|a-offscreen)([^a-z]|$)|価格|値段`)
	taxedName  = words(`incl(uding)?\.?[ -]?(tax|vat)`)
	hiddenCSS  = regexp.MustCompile(`(?i)display\s*:\s*none|visibility\s*:\s*hidden`)
	struckCSS  = regexp.MustCompile(`(?i)line-through`)
)

// qualified are names that say that there is something else: "has-discount".
var qualified = regexp.MustCompile(`(?i)(^|[^a-z])(has|with|is|no|show)-[a-z-]+`)

// cartName is the whole name of the shopper's cart; "add-to-cart" is the
// product's own form.
var cartName = regexp.MustCompile(`(?i)^(cart|basket|warenkorb|panier)$`)

// boxName are the names that well-known shops and shop software give the box
// with the price of the page's own product, and nothing else:
// Amazon, eBay, AliExpress, Magento, PrestaShop, EC-CUBE, Color Me Shop.
var boxName = regexp.MustCompile(`^(corePrice(Display)?(_desktop|_mobile)?_feature_div|corePrice_desktop|price_inside_buybox|newBuyBoxPrice|priceblock_(our|deal|sale)price|x-price-primary|prcIsum|product-price-current|product-info-price|current-price|ec-productRole__price|sales_price)$`)

// maxBlocks and maxBlock bound the visible text that is looked at.
const (
	maxBlocks = 20_000
	maxBlock  = 400
)

// blocks are the lines of the page that may be about its own product.
func (d *document) blocks() []block {
	if d.lines == nil {
		w := &blockWalker{named: map[string]names{}, heading: map[*html.Node]int{}, title: strings.ToLower(d.title)}
		var above []*html.Node
		for n := d.heading; n != nil; n = n.Parent {
			above = append(above, n)
		}
		for i, n := range above {
			w.heading[n] = len(above) - i
		}
		w.walk(d.root, run{}, 0)
		w.end()
		d.lines = w.out
	}
	return d.lines
}

type blockWalker struct {
	out     []block
	cur     block
	size    int
	named   map[string]names   // what was found out about a name, which repeats
	heading map[*html.Node]int // the elements around the page's heading, and how far down they are
	aside   int                // the level of a heading that leads to other products; 0 for none
	title   string             // of the page, in lower case
}

// names is what the class or id of an element says of it.
type names struct {
	aside, struck, priced, taxed, box bool
	kind                              string
}

// names reads an attribute with names.
func (w *blockWalker) names(list string) names {
	n, known := w.named[list]
	if known {
		return n
	}
	n = names{aside: asideNames.MatchString(list), struck: struckName.MatchString(list), priced: pricedName.MatchString(list), taxed: taxedName.MatchString(list)}
	for _, name := range strings.Fields(list) {
		n.box = n.box || boxName.MatchString(name)
		n.aside = n.aside || cartName.MatchString(name)
	}
	own := qualified.ReplaceAllString(list, " ")
	for _, k := range kindOfClass {
		if k.re.MatchString(own) {
			n.kind = k.why
			break
		}
	}
	w.named[list] = n
	return n
}

func (w *blockWalker) end() {
	if w.aside == 0 && len(w.out) < maxBlocks && !w.cur.blank() {
		if n := len(w.out); n > 0 && w.cur.hasDigit() {
			// Another price is no label, and neither is what a product is called: "Bio Kaffee" ends in "fee".
			if b := w.out[n-1]; !b.naming {
				if t := b.text(); len(t) < 40 && !(b.hasDigit() && anySign.MatchString(t)) && !strings.Contains(w.title, strings.ToLower(t)) {
					w.cur.before = t
				}
			}
		}
		w.out = append(w.out, w.cur)
		w.cur.runs = w.cur.runs[len(w.cur.runs):] // the rest of the array serves the blocks that follow
		if cap(w.cur.runs) < 8 {
			w.cur.runs = make([]run, 0, 512)
		}
	}
	w.cur, w.size = block{runs: w.cur.runs[:0]}, 0
}

func (w *blockWalker) walk(n *html.Node, style run, depth int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			if w.endsInDigit() && percentNext.MatchString(c.Data) { // "$45.999" and "23% OFF" are two numbers
				style.text = " "
				w.cur.runs = append(w.cur.runs, style)
			}
			if style.text = spaced(c.Data[:min(len(c.Data), 4*maxBlock)]); w.size < maxBlock && (w.size > 0 || style.text != " ") {
				w.cur.runs = append(w.cur.runs, style)
				w.size += len(style.text)
			}
		case html.ElementNode:
			w.element(c, style, depth)
		}
	}
}

// percentNext is a share that begins an element of its own.
var percentNext = regexp.MustCompile(`^[0-9]{1,2}\s*%`)

func (w *blockWalker) endsInDigit() bool {
	n := len(w.cur.runs)
	return n > 0 && endsInDigit(w.cur.runs[n-1].text)
}

func (w *blockWalker) element(e *html.Node, style run, depth int) {
	switch e.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Head, atom.Nav, atom.Footer, atom.Aside, atom.Select, atom.Svg, atom.Iframe, atom.Textarea, atom.Dialog:
		return
	}
	var is names
	css, hidden, shut, disabled, naming := "", false, false, false, e.DataAtom == atom.H1
	for _, a := range e.Attr {
		switch a.Key {
		case "class", "id":
			n := w.names(a.Val)
			is.aside, is.struck, is.priced = is.aside || n.aside, is.struck || n.struck, is.priced || n.priced
			is.taxed, is.box = is.taxed || n.taxed, is.box || n.box
			if a.Key == "class" { // an id is one element's own: "unitPrice" is the price of one where nothing else is sold
				is.kind = first(is.kind, n.kind)
			}
		case "itemprop":
			is.priced = is.priced || strings.EqualFold(a.Val, "price")
			naming = naming || strings.EqualFold(a.Val, "name")
		case "data-label": // style sheets write it before the element: "Excl. Tax" of Magento
			is.kind = first(is.kind, w.names(a.Val).kind)
		case "style":
			css = a.Val
		case "hidden":
			hidden = true
		case "aria-hidden":
			shut = a.Val == "true"
		case "disabled":
			disabled = e.DataAtom == atom.Button
		}
	}
	if hidden || shut && !is.priced || css != "" && hiddenCSS.MatchString(css) {
		return
	}
	level, around := w.heading[e]
	if around {
		style.near = level
	} else if is.aside && e.DataAtom != atom.Form && e.DataAtom != atom.Button && e.DataAtom != atom.Body && e.DataAtom != atom.Main {
		w.headings(e)
		return
	}
	w.headed(e)
	isBlock := blockLevel(e.DataAtom)
	if isBlock && !around && w.size == 0 && depth < 40 && leadsAside(headOf(e)) && e.DataAtom != atom.Body && e.DataAtom != atom.Main {
		return
	}
	switch e.DataAtom {
	case atom.Del, atom.S, atom.Strike:
		style.struck = true
	case atom.Ins:
		style.struck = false
	}
	style.struck = style.struck || is.struck || css != "" && struckCSS.MatchString(css)
	style.priced, style.taxed, style.box = style.priced || is.priced, style.taxed || is.taxed, style.box || is.box
	style.kind = first(is.kind, style.kind)
	if isBlock || e.DataAtom == atom.Br {
		w.end()
		w.cur.disabled = disabled
	}
	w.cur.naming = w.cur.naming || naming
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

// headed notes a heading that leads to other products, and the next one that
// leads back.
func (w *blockWalker) headed(e *html.Node) {
	level := headingLevel(e.DataAtom)
	if level == 0 {
		return
	}
	w.end()
	switch {
	case level > 1 && asideHead.MatchString(headOf(e)) && (w.aside == 0 || level < w.aside):
		w.aside = level
	case level <= w.aside:
		w.aside = 0
	}
}

// headings does so for all headings in an element that is passed over.
func (w *blockWalker) headings(e *html.Node) {
	for c := e.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			w.headed(c)
			w.headings(c)
		}
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
		if style.text = "."; strings.Contains(whole, ".") { // 1.299 99
			style.text = ","
		}
		w.cur.runs = append(w.cur.runs, style)
		return t[len(whole):]
	}
	return ""
}

// blockLevel reports whether an element begins a line of its own.
func blockLevel(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.Li, atom.Ul, atom.Ol, atom.Td, atom.Th, atom.Tr, atom.Table, atom.Section,
		atom.Article, atom.Main, atom.H1, atom.H2, atom.H3, atom.H4, atom.Form, atom.Dl, atom.Dt, atom.Dd, atom.Body, atom.Html,
		atom.Button, atom.Header, atom.Fieldset, atom.Label, atom.Figure, atom.Blockquote:
		return true
	}
	return false
}

// headingLevel is 0 for what is no heading.
func headingLevel(a atom.Atom) int {
	switch a {
	case atom.H1:
		return 1
	case atom.H2:
		return 2
	case atom.H3:
		return 3
	case atom.H4:
		return 4
	}
	return 0
}

// headOf is how an element's text begins.
func headOf(e *html.Node) string {
	for c := e.FirstChild; c != nil; c = c.NextSibling {
		t := ""
		switch c.Type {
		case html.TextNode:
			t = strings.TrimSpace(c.Data)
		case html.ElementNode:
			t = headOf(c)
		}
		if t != "" {
			return t[:min(len(t), 60)]
		}
	}
	return ""
}

// leadsAside reports whether a text begins as those do that introduce other products.
func leadsAside(text string) bool {
	// The first byte rules out most, before the expression is tried.
	return text != "" && strings.IndexByte("asrycfkdpvzASRYCFKDPVZ\xc3\xd0\xd1\xe3\xe6\xe7\xe9\xea\xeb\xec\xed", text[0]) >= 0 && asideWords.MatchString(text)
}

// spaced makes every run of blanks one, also at the ends.
func spaced(s string) string {
	if isSpaced(s) {
		return s
	}
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

// isSpaced reports whether a text is as spaced would have it: most are.
func isSpaced(s string) bool {
	was := byte('x')
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == ' ' && was == ' ' || c >= '\t' && c <= '\r' || c == 0xc2 || c == 0xe1 || c == 0xe2 && i+1 < len(s) && s[i+1] <= 0x81 || strings.HasPrefix(s[i:], "\u3000") {
			return false
		}
		was = c
	}
	return true
}
