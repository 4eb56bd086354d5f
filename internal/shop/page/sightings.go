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

// perMonth is a price that is paid again and again: an instalment where another
// is shown, else what a subscription costs.
const perMonth = "a price per month"

// kind of price, and the words that tell it.
type kind struct {
	why string
	re  *regexp.Regexp
}

// What the words around an amount say of it. Other kinds of price first.
var (
	kindBefore = []kind{
		{"an instalment", words(`\d+\s*(x|×|mal|fois|veces)\s*(de|à|a|zu|von|da)?\s*$`, `(payments?|instal?ments?) of\s*$`, `\d+\s*回払い`, `月々`, `\b(\d+\s*)?(raten|rate) (von|à|zu|da|di)\s*$`, `(mensualidades|cuotas|plazos|parcelas|prestações) de\s*$`, `\bemi\b`, `分割`)},
		{"a price for a unit", words(`(1|100|10)\s*(kg|g|l|ml|m|st|stück|個|枚|本)\s*[=:]\s*$`, `grundpreis`, `unit price`, `per unit`, `prix (au|à la) (kilo|kg|litre|pièce|unité)`, `(あたり|当たり|単価)[はの：:]?\s*$`)},
		{"an earlier price", words(`(lowest|best) price (in|of|over) the (last|past)`, `(niedrigster|günstigster|bester) (gesamt)?preis (der|in den) letzten`, `30-tage`, `najniższa cena`, `prix le plus bas`, `precio más bajo`, `prezzo più basso`, `preço mais baixo`, `laagste prijs`, `lägsta pris`, `nejnižší cena`, `過去最安`)},
		{withoutTax, words(`税抜`, `税別`, `本体`, `\bnetto`, `\b(ex|excl|exkl|ekskl)\.?\s*(vat|tax|mwst|btw|moms|gst)\b`, `hors taxe`, `\bHT\b`, `sin iva`, `iva esclusa`, `sem iva`, `bez dph`, `без ндс`)},
		{"a list price", words(`定価`, `通常価格`, `希望小売`, `参考価格`, `旧価格`, `市価`, `当店通常`, `\b(statt|uvp|rrp|msrp|list price|was|instead of|before|regular price|original price|compare at|valued? at|prix conseillé|prix public|antes|avant|au lieu de|invece di|ord\.? pris|ordinarie|tidigare|before|førpris|adviesprijs|van)\b[^0-9]{0,12}$`, `^\s*de:?\s*$`, `\bde:\s*$`, `原价`, `市场价`, `原價`)},
		{"a price for members", words(`会員`, `\b(member|club|prime|karte|clubkarte|card|loyalty)`, `vip`, `プレミアム`)},
		{"a subscription", words(`subscri`, `定期`, `sparabo`, `\babo\b`, `autoship`, `auto-?delivery`, `abonnement`)},
		{"shipping", words(`versand`, `shipping`, `delivery`, `送料`, `livraison`, `spedizione`, `\bporto\b`, `\bfrete\b`, `frakt`, `\bfragt\b`, `import`, `postage`, `envío`, `verzending`, `доставк`, `运费`, `運費`)},
		{"a saving", words(`\b(save|saves|saving|you save|sparen|ersparnis|économisez|ahorra|risparmi|discount|off|gutschein|coupon|cashback|voucher|gift ?card|trade[ -]in|earn)\b`, `お得`, `割引`, `クーポン`, `還元`)},
		{"used", words(`\bused\b`, `\b(refurbished|gebraucht|pre-?owned|d.occasion|usato|segunda mano|tweedehands)\b`, `中古`)},
		{"on top", words(`(plus|zzgl\.?|\+|add|extra)\s*(2-year|\d+ year)?\s*$`)},
		{"a deposit or a fee", words(`pfand`, `deposit`, `consigne`, `éco-?part`, `\bdont\b`, `davon`, `of which`, `fee\b`, `手数料`, `protection`, `warranty`, `garantie`, `延長保証`)},
		{"a threshold", words(`\b(over|above|ab einem|mindest|minimum|from orders|dès|orders of|spend)\s*$`, `以上`)},
		{"a price for those who buy several", words(`(\d+\+|\bab \d+ (st|stk|stück)\.?|\bfrom \d+ (pcs|pieces|units)|\d+\s*(個|点|本|枚)以上)[^0-9]{0,8}$`)},
	}
	kindAfter = []kind{
		{"an instalment", words(`^\s*(x\s*\d|mtl\.|sem juros|per instal|interest-free|sans frais|senza interessi|sin intereses)`)},
		{perMonth, words(`^\s*(/|per|a|pro|im|par|al|por|je|each|every)\s*(month|mo\b|monat|mois|mes\b|mese|mês|maand|月)`, `^\s*(monatlich|mtl|monthly|mensuel|/\s*年|per year|/\s*year|pro jahr|par an\b|/\s*(月|か月|ヶ月))`)},
		{"a price for a unit", words(`^\s*(/|per|pro|je|al|por|le|la|à la)\s*(1\s*|100\s*|10\s*)?(kg|g|l|ml|m|m²|lb|oz|cl|st|stk|stück|unit|piece|pièce|unité|pza|stuk|kilo|litre|liter|個|枚|本|ロール)\b`, `^\s*[（(]?\s*\d*\s*(g|ml|kg|l|個|枚|本|粒|袋)(あたり|当たり)`)},
		{withoutTax, words(`^\s*[（(]?\s*(税抜|税別|\+\s*税|＋税|外税|zzgl\. ?mwst|exkl|ekskl|excl|ex\.?\s*(vat|tax|gst)|netto|HT\b|h\.t|ohne mwst|sin iva|\+ ?iva|iva esclusa|sem iva|bez dph|bez vat|без ндс|kdv hariç|plus vat|\+ ?vat|\+ ?gst)`)},
		{"points", words(`^\s*(ポイント|pt\b|points?\b|p\b|相当|分の?ポイント|円?相当)`)},
		{"a saving", words(`^\s*(off|gespart|割引|引き|お得|クーポン|saved|discount|還元|de réduction|voucher|gift ?card|キャッシュバック)`)},
		{"a deposit or a fee", words(`^\s*(deposit|pfand|consigne|statiegeld|d.éco)`)},
		{"shipping", words(`^\s*(shipping|delivery|versand|送料|livraison|frakt|postage)`)},
		{"a price for members", words(`^\s*[（(]?\s*((with )?(club|member)|for members|mit (karte|app)|with card|会員|プライム)`)},
		{"a price for one way of paying", words(`^\s*(no pix|à vista|a vista|no boleto|by bank transfer|bei vorkasse|per vorkasse)`)},
	}
	strongBefore = words(`税込`, `特価`, `販売価格`, `セール価格`, `内税`, `\b(now|jetzt|nur|nu|voor|maintenant|ahora|por:|adesso|sale price|our price|one-?time|einmal|total|incl|inkl|brutto)\b`, `\bpor:?\s*$`)
	strongAfter  = words(`^\s*[（(]?\s*(税込み?(?:[）)・\s]|$)|内税|inkl|incl|inc\.?\s*(vat|tax|gst)|ttc|brutto|iva (incl|inclusa|incluid[oa]|incluíd[oa])|s dph|vč\. dph|z vat|с ндс|kdv dahil)`)
	otherClass   = []kind{
		{"a price for members", regexp.MustCompile(`(?i)(^|[^a-z])(club|member|prime|loyalty)([^a-z]|$)`)},
		{"a subscription", regexp.MustCompile(`(?i)(^|[^a-z])(sns|subscribe|subscription|autoship)([^a-z]|$)`)},
		{"a price for a unit", regexp.MustCompile(`(?i)unit-?price|price-?(per-)?unit|grundpreis|ppu`)},
		{"a saving", regexp.MustCompile(`(?i)(^|[^a-z])(saving|savings|discount|badge|coupon)([^a-z]|$)`)},
		{"shipping", regexp.MustCompile(`(?i)shipping|delivery`)},
		{"a price for those who buy several", regexp.MustCompile(`(?i)tier-?price|bulk-?pric|volume-?pric|quantity-?(break|discount|price)|staffel`)},
		{"an instalment", regexp.MustCompile(`(?i)(^|[^a-z])(instal?l?ments?|finance|financing|klarna|afterpay|affirm|paypal-?later|ratenzahlung|parcelas?)([^a-z]|$)`)},
		{"an earlier price", regexp.MustCompile(`(?i)price-?history|omnibus|lowest-?price`)},
		{"a deposit or a fee", regexp.MustCompile(`(?i)eco-?(tax|part)|deposit|pfand|warranty`)},
		{"points", regexp.MustCompile(`(?i)(^|[^a-z])points?([^a-z]|$)`)},
		{withoutTax, regexp.MustCompile(`(?i)price--withoutTax|excl-?tax|ex-?vat|price-ht|without-?tax`)},
	}
)

// sightings finds the amounts that the page shows about its own product.
func (d *document) sightings() []sighting {
	if d.seen == nil {
		d.seen = []sighting{}
		for _, b := range d.blocks() {
			d.seen = append(d.seen, d.sightingsIn(b)...)
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

// anySign is a mark of a currency beside a number.
var anySign = func() *regexp.Regexp {
	all := []string{`[€£$¥￥₹円元]`, `kr\b\.?`, `Rs\.?`, `\b[A-Z]{3}\b`, `:-`, `:–`, `\.–`, `p$`}
	for _, s := range signsOf {
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
		if agree(fit) || fit[0].priced && agree(nearest) && (fit[0].box || d.stockNear() >= nearest[0].near) {
			return nearest[0], true
		}
		return sighting{}, false
	}
	var monthly []sighting
	for _, g := range all {
		if g.why == perMonth {
			monthly = append(monthly, g)
		}
	}
	if len(monthly) > 0 && agree(monthly) {
		return monthly[0], true
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
		out = append(out, shop.Candidate{FoundBy: "page", Price: g.amount, Text: g.line, Won: (g.paid || g.why == perMonth) && g.amount.Equal(won), Why: g.why})
	}
	return out
}
