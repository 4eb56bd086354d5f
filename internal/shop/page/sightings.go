package page

import (
	"regexp"
	"strings"

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

const withoutTax = "without tax"

// What the words around an amount say of it. Other kinds of price first.
var (
	kindBefore = []struct {
		why string
		re  *regexp.Regexp
	}{
		{"an instalment", regexp.MustCompile(`(?i)\d+\s*(x|×|mal|fois|veces)\s*(de|à|a|zu)?\s*$|payments? of\s*$|\d+\s*回払い|月々|raten? (von|à)`)},
		{"a price for a unit", regexp.MustCompile(`(?i)(1|100|10)\s*(kg|g|l|ml|m|st|stück|個|枚|本)\s*[=:]\s*$|grundpreis|unit price|per unit|あたり\s*$`)},
		{withoutTax, regexp.MustCompile(`(?i)税抜|税別|本体|netto|\b(ex|excl|exkl)\.?\s*(vat|tax|mwst|btw)\b|hors taxe|\bHT\b`)},
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
		{withoutTax, regexp.MustCompile(`(?i)^\s*[（(]?\s*(税抜|税別|\+\s*税|zzgl|exkl|excl|ex\.?\s*(vat|tax)|netto|HT\b|h\.t)`)},
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
		{withoutTax, regexp.MustCompile(`(?i)price--withoutTax|excl-?tax|ex-?vat|price-ht|without-?tax`)},
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
		g := sighting{run: r, amount: amount, paid: true, line: around(s, sp), why: "shown on the page"}
		g.judge(label, afterSign(after))
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

func (g *sighting) judge(before, after string) {
	if g.struck {
		g.paid, g.why = false, "crossed out"
		return
	}
	if g.kind != "" {
		g.paid, g.why = false, g.kind
		return
	}
	for _, k := range kindAfter {
		if k.re.MatchString(after) {
			g.paid, g.why = false, k.why
			return
		}
	}
	g.strong = strongAfter.MatchString(after)
	for _, k := range kindBefore {
		if k.re.MatchString(before) && !(g.strong && k.why == withoutTax) {
			if k.why == withoutTax && strongBefore.MatchString(before) {
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
// where there is none, or several and nothing says which. Amounts in a price box
// of well-known software come before others that are called a price, and these
// before all others; where those called a price differ, the ones nearest to the
// page's heading count.
func visiblePrice(all []sighting) (sighting, bool) {
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
		if agree(fit) || fit[0].priced && agree(nearest) {
			return nearest[0], true
		}
		return sighting{}, false
	}
	return sighting{}, false
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
		out = append(out, shop.Candidate{FoundBy: "page", Price: g.amount, Text: g.line, Won: g.paid && g.amount.Equal(won), Why: g.why})
	}
	return out
}
