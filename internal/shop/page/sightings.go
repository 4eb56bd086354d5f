package page

import (
	"regexp"
	"slices"
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
		// The number with the sign that touches it, and none of the words around.
		lead := beforeSign(before)
		near := before[len(lead):] + s[sp[0]:sp[1]] + after[:len(after)-len(afterSign(after))]
		if minusAt.MatchString(lead) {
			near = "-" + near
		}
		if !signBeside(before, after) && !(r.priced && len(spans) == 1 && !ofPieces.MatchString(s)) {
			continue
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
		ranged := len(out) > 0 && between.MatchString(afterSign(s[from:sp[0]]))
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

// ofPieces is a step of a table of prices by number: "Ab 12".
var ofPieces = regexp.MustCompile(`(?i)^\s*(?:ab|bis|from|up to|to|od|do|vanaf|tot|à partir de|jusqu'à|desde|hasta|da|fino a)\s+[0-9]+\s*$`)

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
