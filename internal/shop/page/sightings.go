package page

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
)

// sighting is an amount that is shown, and what it is shown as.
type sighting struct {
	run
	amount money.Amount
	paid   bool // nothing says that it is another kind of price
	strong bool // something says that it is what is paid
	why    string
	line   string
}

// sightings finds the amounts that the page shows about its own product.
func (d *document) sightings() []sighting {
	if d.seen == nil {
		d.seen = []sighting{}
		lines := d.blocks()
		for i, b := range lines {
			in := d.sightingsIn(b)
			if len(in) == 1 && in[0].paid && i+1 < len(lines) && forMembers.MatchString(lines[i+1].text()) { // a caption below it
				in[0].paid, in[0].why = false, "a price for members"
			}
			d.seen = append(d.seen, in...)
			if len(d.seen) > 200 {
				break
			}
		}
	}
	return d.seen
}

func (d *document) sightingsIn(b block) []sighting {
	if !b.hasDigit() {
		return nil
	}
	var text strings.Builder
	owner := []int{} // of each byte, the run
	for i, r := range b.runs {
		t := signAsPoint.ReplaceAllString(digitsOf(r.text), "$1.$3 $2$4")
		t = spellOut(t)
		text.WriteString(t)
		for range len(t) {
			owner = append(owner, i)
		}
	}
	s := text.String()
	if len(s) > 2*maxBlock {
		return nil
	}
	spans := amounts(s, prices(s), func(at int) bool { return b.runs[owner[min(at, len(owner)-1)]].priced })
	var out []sighting
	from := 0 // behind the amount before
	for i, sp := range spans {
		r := b.runs[owner[min(sp[0], len(owner)-1)]]
		to := len(s)
		if i+1 < len(spans) {
			to = spans[i+1][0]
		}
		before, after := s[from:sp[0]], s[sp[1]:to]
		// The number with the sign that touches it, and none of the words around.
		lead := beforeSign(before)
		near := before[len(lead):] + s[sp[0]:sp[1]] + after[:len(after)-len(afterSign(after))]
		if minusAt.MatchString(lead) {
			near = "-" + near
		}
		amount, ok := d.shown(near, s, r.priced)
		if !ok {
			continue
		}
		label := beforeSign(before)
		if strings.TrimSpace(label) == "" && i == 0 {
			label = b.before
		}
		if len(label) > maxLabel {
			label = strings.ToValidUTF8(label[len(label)-maxLabel:], "")
		}
		label = percentOff.ReplaceAllString(label, " ")
		ranged := len(out) > 0 && out[len(out)-1].paid && between.MatchString(afterSign(s[from:sp[0]]))
		from = sp[1]
		g := sighting{run: r, amount: amount, paid: true, line: around(s, sp), why: "shown on the page"}
		if i+1 < len(spans) { // "¥1,480（税抜 ¥1,346）": what the bracket says is of the amount in it
			if open := strings.LastIndexAny(after, "(（"); open >= 0 && !strings.ContainsAny(after[open:], ")）") {
				after = after[:open]
			}
		}
		g.judge(label, afterSign(after))
		if ranged {
			g.paid, g.why = false, "the end of a range"
		}
		out = append(out, g)
	}
	return out
}

// forMembers is a line that says so of the price above it.
var forMembers = regexp.MustCompile(`(?i)^\s*(?:(?:с|c)\s[^0-9]{0,20}карто[йю]|(?:with|mit|con|avec) (?:the |der |la )?(?:\S+ )?(?:club ?card|kundenkarte|karte|tarjeta|carte)|for members)\s*$`)

// around is the line that an amount stands in, as far as a snippet goes.
func around(line string, span []int) string {
	const before = maxSnippet / 3
	head := []rune(line[:span[0]])
	return clean(string(head[max(0, len(head)-before):])+line[span[0]:], maxSnippet)
}

// minusAt is a minus that touches what follows it, and no dash between words.
var minusAt = regexp.MustCompile(`(?:^|[ (])-$`)

// freeShipping says that nothing is added to the amount before it.
var freeShipping = regexp.MustCompile(`(?i)^\s*(?:送料無料|送料込み?|free (?:shipping|delivery)|versandkostenfrei|livraison gratuite|envío gratis|spedizione gratuita|gratis verzending|frete grátis)`)

// amounts are those of the numbers that can be money: with the mark of a currency
// beside them, else the one number of what is called a price, if it stands there
// with nothing but words of prices.
func amounts(s string, spans [][]int, priced func(at int) bool) [][]int {
	var signed [][]int
	from := 0
	for i, sp := range spans {
		to := len(s)
		if i+1 < len(spans) {
			to = spans[i+1][0]
		}
		if signBeside(s[from:sp[0]], s[sp[1]:to]) {
			signed = append(signed, sp)
		}
		from = sp[1]
	}
	if len(signed) == 0 && len(spans) == 1 && priced(spans[0][0]) && !ofPieces.MatchString(s) && bare(s[:spans[0][0]], s[spans[0][1]:]) {
		return spans
	}
	return signed
}

// ofPieces is a step of a table of prices by number: "Ab 12".
var ofPieces = regexp.MustCompile(`(?i)^\s*(?:ab|bis|from|up to|to|od|do|vanaf|tot|à partir de|jusqu'à|desde|hasta|da|fino a)\s+[0-9]+\s*$`)

// bare reports whether around a number nothing is said but that it is a price:
// "Preis 12,90 inkl. MwSt.", and not "Lieferzeit 14 Tage", "ab 6 Stück" or "79¢".
func bare(before, after string) bool {
	if t := trimBlanksRight(before); strings.HasSuffix(t, ".") && !latin(lastByte(t[:len(t)-1])) || strings.HasSuffix(t, ",") {
		return false // the whole before the point is missing
	}
	rest := ofPrices.ReplaceAllString(before+" ; "+after, " ")
	rest = anySign.ReplaceAllString(rest, " ")
	return !strings.ContainsFunc(rest, func(r rune) bool { return unicode.IsLetter(r) || unicode.Is(unicode.Sc, r) })
}

func lastByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}

// ofPrices are words that stand beside a price and say nothing else.
var ofPrices = regexp.MustCompile(`(?i)(?:\b(?:R|lei|euros?|our|your|sale|special|regular|normal|unit|total|final|current|new|best|the|was|is|now|only|just|from|for|price|prices|incl(?:uding|usive|udes|uded)?|inc|ex|excl(?:uding|usive)?|vat|tax|taxes|gst|of|` +
	`preis|preise|jetzt|nur|ab|statt|unser|aktueller|verkaufspreis|inkl|exkl|zzgl|mwst|ust|versand|versandkosten|gesetzl|und|der|` +
	`prix|de|vente|maintenant|ttc|ht|tva|precio|ahora|desde|oferta|iva|incluido|incluida|prezzo|ora|inclusa|incluso|preco|por|prijs|nu|voor|btw|moms|pris|cena|cenă|dph|hinta|alv|fiyat|kdv|dahil|fiyatı)\b|preço|à partir de|incluído|` +
	`цена|ціна|τιμή|السعر|価格|販売|特別|特価|通常|税込み?|税抜き?|税別|内税|本体|円|价格|售价|售價|價格|现价|가격|판매가|할인가|ราคา|giá)`)

// maxLabel in bytes is more than the words that say what an amount is.
const maxLabel = 120

// percentOff says how much less the price is that follows it.
var percentOff = regexp.MustCompile(`(?i)[-−]?\s*[0-9]+\s*%\s*(?:off|オフ|引き?|rabatt|de réduction|descuento|sconto|korting|desconto)?`)

// shown reads the amount in its surroundings; the whole block may hold the sign.
func (d *document) shown(near, whole string, priced bool) (money.Amount, bool) {
	n, currency, ok := ReadPrice(near, "", d.lang)
	if !ok {
		return money.Amount{}, false
	}
	if currency == "" {
		currency = d.currencyOf("", near)
	}
	if currency == "" && priced && !strings.ContainsAny(near, "$¥￥") {
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

func (g *sighting) judge(before, after string) {
	if g.struck {
		g.paid, g.why = false, "crossed out"
		return
	}
	if g.kind != "" {
		g.paid, g.why = false, g.kind
		return
	}
	after = freeShipping.ReplaceAllString(after, " ")
	if includedTax.MatchString(before) && taxAfter.MatchString(after) {
		g.paid, g.why = false, "a tax, a deposit or a fee" // "39,00 € inkl. 6,23 € MwSt."
		return
	}
	for _, k := range kindAfter {
		if k.re.MatchString(after) {
			g.paid, g.why = false, k.why
			if k.why == perMonth && kindBefore[0].re.MatchString(before) {
				g.why = kindBefore[0].why // it is no price alone either
			}
			return
		}
	}
	g.strong = g.taxed || strongAfter.MatchString(after)
	for _, k := range kindBefore {
		if k.re.MatchString(before) && !(g.strong && k.why == withoutTax) {
			if k.why == withoutTax && taxedLast(before) {
				break
			}
			g.paid, g.strong, g.why = false, false, k.why
			return
		}
	}
	g.strong = g.strong || strongBefore.MatchString(before)
}

// includedTax and taxAfter enclose the tax that is in a price.
var (
	includedTax = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:inkl|incl|inc|davon|enth|dont|di cui|inclus|including|includes)[a-zäöü.]*\s*(?:[0-9.,]+\s*%)?\s*$`)
	taxAfter    = regexp.MustCompile(`(?i)^\s*(?:mwst|ust\b|vat\b|tva\b|iva\b|btw\b|moms\b|gst\b|tax\b)`)
)

// taxSaid are words for a price with tax, else for one without.
var taxSaid = regexp.MustCompile(`(?i)(税込|内税|\bincl|\binkl|\bbrutto|\bttc\b)|税抜|税別|本体|\bnetto|\bexcl|\bexkl`)

// taxedLast reports whether the last that is said of tax is that it is in the price.
func taxedLast(s string) bool {
	said := taxSaid.FindAllStringSubmatchIndex(s, -1)
	return len(said) > 0 && said[len(said)-1][2] >= 0
}

// anySign is a mark of a currency beside a number.
var anySign = func() *regexp.Regexp {
	all := []string{`[€£$¥￥₹円元]`, `kr\b\.?`, `Rs\.?`, `\b[A-Z]{3}\b`, `:-`, `:–`, `\.–`, `p$`}
	for _, s := range signsOf {
		if strings.HasPrefix(s.sign, "税") {
			continue // it says more than the currency
		}
		all = append(all, regexp.QuoteMeta(s.sign))
	}
	return regexp.MustCompile(strings.Join(all, "|"))
}()

// signBeside reports whether a mark of a currency touches the number.
func signBeside(before, after string) bool {
	return afterSign(after) != trimBlanksLeft(after) || beforeSign(before) != trimBlanksRight(before)
}

// beforeSign is what stands before the number without its own sign.
func beforeSign(s string) string {
	s = trimBlanksRight(s)
	from := len(s) - min(len(s), longestSign)
	for _, m := range anySign.FindAllStringIndex(s[from:], -1) {
		if from+m[1] == len(s) && isSign(s[from+m[0]:]) {
			return strings.TrimSuffix(s[:from+m[0]], "R")
		}
	}
	return s
}

// afterSign is what follows the number once its own sign is gone.
func afterSign(s string) string {
	s = trimBlanksLeft(s)
	if m := anySign.FindStringIndex(s); m != nil && m[0] == 0 && isSign(s[:m[1]]) {
		return s[m[1]:]
	}
	return s
}

// longestSign in bytes, with room for a word's boundary.
const longestSign = 16

// isSign: "UVP" has the form of a code and is none.
func isSign(s string) bool {
	return len(s) != 3 || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || money.ValidCurrency(s)
}

const blanks = " \u00a0\u202f"

func trimBlanksLeft(s string) string  { return strings.TrimLeft(s, blanks) }
func trimBlanksRight(s string) string { return strings.TrimRight(s, blanks) }

// visiblePrice is the one price that the page shows as paid. It reports false
// where there is none, or several and nothing says which. Amounts in a price box
// of well-known software come before others that are called a price, and these
// before all others; where those called a price differ, the ones nearest to the
// page's heading count, if what is said of stock stands as near: a list of products
// has a heading too.
func (d *document) visiblePrice() (sighting, bool) {
	all := d.sightings()
	if d.onRequest() {
		return sighting{}, false
	}
	for _, want := range []func(sighting) bool{
		func(g sighting) bool { return g.box && g.strong },
		func(g sighting) bool { return g.box },
		func(g sighting) bool { return g.priced && g.strong },
		func(g sighting) bool { return g.priced },
		func(g sighting) bool { return g.strong },
		func(g sighting) bool { return true },
	} {
		var fit, nearest []sighting
		for _, g := range all {
			if !g.paid || !want(g) {
				continue
			}
			fit = append(fit, g)
			if len(nearest) > 0 && g.near > nearest[0].near {
				nearest = nil
			}
			if len(nearest) == 0 || g.near == nearest[0].near {
				nearest = append(nearest, g)
			}
		}
		if len(fit) == 0 {
			continue
		}
		fit, nearest = d.inPageCurrency(fit), d.inPageCurrency(nearest)
		if agree(fit) || fit[0].priced && agree(nearest) && (fit[0].box || d.stockNear() >= nearest[0].near) {
			return nearest[0], true
		}
		return sighting{}, false
	}
	// What would be another kind of price beside one that is paid is the price alone.
	for _, alone := range []func(sighting) bool{
		func(g sighting) bool { return g.why == regular },
		func(g sighting) bool { return g.kind == withoutTax && g.why == withoutTax }, // by class: shops without taxes keep the name
		func(g sighting) bool { return g.why == perMonth },
		func(g sighting) bool { return g.why == "used" },
	} {
		var fit []sighting
		for _, g := range all {
			if alone(g) {
				fit = append(fit, g)
			}
		}
		if len(fit) > 0 && agree(fit) {
			return fit[0], true
		}
	}
	return sighting{}, false
}

// askForPrice is what stands in the place of a price that is told to those who ask.
var askForPrice = regexp.MustCompile(`(?i)(?:preis|price|prix|precio|prezzo|preço|prijs|cena)s?\s+(?:auf anfrage|(?:up)?on request|on application|sur demande|a consultar|bajo consulta|su richiesta|sob consulta|op aanvraag|na zapytanie)|(?:call|ask|contact us|email) for (?:a |the )?(?:price|pricing|quote)|^\s*p\.?o\.?a\.?\s*$|価格(?:は|:|：)?\s*(?:お問い?合わ?せ|応相談)|要見積|цена по запросу|价格面议|價格面議|가격\s*문의`)

// onRequest reports that the page asks to be asked for its price: the amounts that
// follow are of something else.
func (d *document) onRequest() bool {
	for _, b := range d.blocks() {
		switch t := b.text(); {
		case len(t) < 80 && askForPrice.MatchString(t):
			return true
		case b.hasDigit() && slices.ContainsFunc(d.sightingsIn(b), func(g sighting) bool { return g.paid }):
			return false // a price comes first
		}
	}
	return false
}

// inPageCurrency are those in the currency that the page is in, where there are
// several currencies.
func (d *document) inPageCurrency(all []sighting) []sighting {
	if len(all) == 0 || !slices.ContainsFunc(all, func(g sighting) bool { return !g.amount.SameCurrency(all[0].amount) }) {
		return all
	}
	main := d.pageCurrency()
	var in []sighting
	for _, g := range all {
		if g.amount.Currency() == main {
			in = append(in, g)
		}
	}
	if in == nil {
		return all
	}
	return in
}

func agree(all []sighting) bool {
	for _, g := range all[1:] {
		if !g.amount.Equal(all[0].amount) {
			return false
		}
	}
	return true
}

func candidatesOf(all []sighting, won money.Amount) []shop.Candidate {
	var out []shop.Candidate
	for _, g := range all[:min(len(all), 20)] {
		out = append(out, shop.Candidate{FoundBy: "page", Price: g.amount, Text: g.line, Won: (g.paid || won.Equal(g.amount) && (g.why == regular || g.why == perMonth || g.why == withoutTax)) && g.amount.Equal(won), Why: g.why})
	}
	return out
}
