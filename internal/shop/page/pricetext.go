package page

import (
	"regexp"
	"strings"

	"github.com/sokone/sokone/internal/money"
)

// amountIn finds numbers as prices have them: digits grouped by threes (or in
// India by twos) with blanks, dots, commas or apostrophes, and a fraction; else
// digits with separators.
var amountIn = regexp.MustCompile(`[0-9]{1,3}(?:[ \x{00a0}\x{202f}\x{2009}'’][0-9]{3})+(?:[.,][0-9]{1,2})?|[0-9]+(?:[.,'’][0-9]+)*`)

// codeIn is an ISO 4217 code that may touch its number: "EUR29.66".
var codeIn = regexp.MustCompile(`(?:^|[^A-Za-z])([A-Z]{3})(?:[^A-Za-z]|$)`)

// free are words for a price of nothing.
var free = regexp.MustCompile(`(?i)^\s*(free|gratis|gratuit|kostenlos|無料)\s*[!.]?\s*$`)

// cents are prices in hundredths: 99p. Not so 99 ¢, as the sign is also written
// for whole cedis and colones: that is refused.
var cents = regexp.MustCompile(`^\s*([0-9]{1,2})\s*(p|ct|Cent)\s*$`)

// signAsPoint is a sign in the place of the decimal point: 35€90, 35 € 99.
var signAsPoint = regexp.MustCompile(`((?:^|[^0-9.,])[0-9]{1,4})\s*(€|£|zł)\s?([0-9]{2})([^0-9.,]|$)`)

// dashes end a price without fraction: 1299.–, 1299,-, 2499/-, 1299:-.
var dashes = regexp.MustCompile(`([0-9])\s*(?:[.,:]\s*[-–—]+|/[-–])`)

// ReadPrice reads the price in a short text of a page. hint is a text near it
// that may hold the currency, lang the page's language. The amount is a plain
// decimal; currency is "" where no mark settles it. It reports false where there
// is no number, or where what is there can be read two ways.
func ReadPrice(text, hint, lang string) (amount, currency string, ok bool) {
	s := digitsOf(text)
	currency = signCurrency(s)
	if currency == "" {
		currency = signCurrency(digitsOf(hint))
	}
	if free.MatchString(s) {
		return "0", currency, true
	}
	if m := cents.FindStringSubmatch(s); m != nil {
		whole := "00" + m[1]
		if m[2] == "p" {
			currency = "GBP"
		}
		return "0." + whole[len(whole)-2:], currency, true
	}
	s = signAsPoint.ReplaceAllString(s, "$1.$3 $2$4")
	s = dashes.ReplaceAllString(s, "$1 ")
	if strings.ContainsAny(s, "万萬") && currency == "" {
		currency = "JPY"
	}
	s = spellOut(s)
	if aboutShipping.MatchString(s) || strings.Contains(s, "¢") {
		return "", "", false
	}
	s = looseFraction.ReplaceAllString(s, "$1$2$3")
	spans := prices(s)
	if len(spans) == 0 {
		return "", "", false
	}
	span := spans[0]
	if len(spans) > 1 && rangeOf(s, spans) {
		span = spans[0] // "from 26 to 50 €"
	} else if len(spans) > 1 {
		// Several numbers: the one that stands by a sign is the price.
		if m := nowWords.FindStringIndex(s); m != nil && spans[len(spans)-1][0] > m[0] {
			for _, sp := range spans {
				if sp[0] > m[0] {
					span = sp // "was 120, now 60"
					break
				}
			}
		} else if i := bySign(s, spans); i >= 0 {
			span = spans[i]
		} else if !agreeing(s, spans) {
			return "", "", false
		}
	}
	if head := s[:span[0]]; strings.HasSuffix(head, ",") || strings.HasSuffix(head, ".") && (len(head) < 2 || !latin(head[len(head)-2])) {
		return "", "", false // the whole before the point is missing; "Rs." is none
	}
	if len(spans) > 1 && currency == "" && !strings.ContainsAny(s, "$¥") {
		return "", "", false // 25-09: a date, or anything
	}
	if negative(s, span[0]) {
		return "", "", false
	}
	amount, ok = separators(s[span[0]:span[1]], currency, lang)
	return amount, currency, ok
}

// aboutShipping: the number is what shipping is free from.
var aboutShipping = regexp.MustCompile(`(?i)free (shipping|delivery)|gratis versand|versandkostenfrei|livraison gratuite|送料無料`)

// looseFraction is a blank between the decimal separator and two digits: "8. 94".
var looseFraction = regexp.MustCompile(`([0-9])([.,]) ([0-9]{2})\b`)

// nowWords stand before the price that is paid, where another is told first.
var nowWords = regexp.MustCompile(`(?i)\b(now|jetzt|nur|sale price|maintenant|ahora)\b|特価|セール価格|税込`)

// prices are the spans of numbers that can be prices: no percentages.
// packsOf leads to a number of pieces.
var packsOf = regexp.MustCompile(`(?i)\b(?:pack|set|box) of\s*$`)

func prices(s string) [][]int {
	var out [][]int
	for _, sp := range amountIn.FindAllStringIndex(s, 8) {
		if after := strings.TrimLeft(s[sp[1]:min(len(s), sp[1]+4)], " "); !strings.HasPrefix(after, "%") && !strings.HasPrefix(after, "倍") && !packsOf.MatchString(s[:sp[0]]) {
			out = append(out, sp)
		}
	}
	return out
}

var between = regexp.MustCompile(`(?i)^\s*(?:[€£$¥]\s*)?(-|–|—|~|〜|～|to|bis|à|a|do)\s*(?:[€£$¥]\s*)?$`)

// rangeOf reports whether the first two numbers are the ends of a range.
func rangeOf(s string, spans [][]int) bool {
	return between.MatchString(s[spans[0][1]:spans[1][0]])
}

// myriads is an amount in ten thousands, as Japan, Korea and China write it:
// 1万2,800円, 2.5万円, 1万5千円, 3만 9,900원.
var myriads = regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)\s*[万萬만]\s*(?:([0-9])\s*千|([0-9][0-9,]*))?`)

// givenBack is a word of Japanese shops for points, in which no yuan is meant.
const givenBack = "還元"

// spellOut writes amounts in ten thousands in digits alone.
func spellOut(s string) string {
	s = strings.ReplaceAll(s, givenBack, "かんげん")
	if !strings.ContainsAny(s, "万萬만") {
		return s
	}
	return myriads.ReplaceAllStringFunc(s, func(m string) string {
		p := myriads.FindStringSubmatch(m)
		whole, frac, _ := strings.Cut(p[1], ".")
		rest := strings.ReplaceAll(p[3], ",", "")
		switch {
		case len(frac) > 4 || len(rest) > 4 || frac != "" && p[2]+rest != "":
			return " " // no way to write a number
		case p[2] != "":
			frac = p[2] + "000"
		case rest != "":
			frac = strings.Repeat("0", 4-len(rest)) + rest
		}
		return strings.TrimLeft(whole+(frac + "0000")[:4], "0")
	})
}

// signCurrency is the currency that a mark in the text settles; "" for none, or
// for one that several share. A symbol comes first: in "TOP € 12,50" three capitals
// are no code.
func signCurrency(s string) string {
	for _, k := range signsOf {
		if !isASCII(k.sign) && strings.Contains(s, k.sign) || strings.HasSuffix(k.sign, "$") && containsSign(s, k.sign) {
			return k.currency
		}
	}
	for _, m := range codeIn.FindAllStringSubmatchIndex(s, 8) {
		code := s[m[2]:m[3]]
		if money.ValidCurrency(code) && (!alsoWords[code] || besideDigit(s, m[2], m[3])) {
			return code
		}
	}
	for _, k := range signsOf {
		if isASCII(k.sign) && containsSign(s, k.sign) {
			return k.currency
		}
	}
	return ""
}

// alsoWords are codes that shops write for other reasons.
var alsoWords = map[string]bool{"ALL": true, "TOP": true, "TRY": true, "CUP": true, "PEN": true, "MOP": true, "GEL": true, "BAM": true, "MAD": true, "SOS": true, "RON": true, "BOB": true, "COP": true, "ANG": true, "LAK": true}

// besideDigit reports whether a number touches s[from:to].
func besideDigit(s string, from, to int) bool {
	before, after := strings.TrimRight(s[:from], blanks), strings.TrimLeft(s[to:], blanks)
	return endsInDigit(before) || after != "" && after[0] >= '0' && after[0] <= '9'
}

// containsSign keeps letters of a word from being taken for a sign: "Ft" is one
// in "990 Ft", and none in "Ftbl".
func containsSign(s, sign string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], sign)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(sign)
		letter := func(b byte) bool { return b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' }
		if !letter(sign[0]) || (i == 0 || !letter(s[i-1])) && (end == len(s) || !letter(s[end])) {
			return true
		}
		from = end
	}
}

// bySign finds the first number with a mark of a currency right before or after
// it; -1 if there is none.
func bySign(s string, spans [][]int) int {
	for i, sp := range spans {
		before := strings.TrimRight(s[max(0, sp[0]-8):sp[0]], " \u00a0\u202f")
		after := strings.TrimLeft(s[sp[1]:min(len(s), sp[1]+12)], " \u00a0\u202f")
		for _, k := range append(signsOf, struct{ sign, currency string }{"$", ""}, struct{ sign, currency string }{"¥", ""}) {
			if strings.HasSuffix(before, k.sign) || strings.HasPrefix(after, k.sign) {
				return i
			}
		}
		if len(before) >= 3 && money.ValidCurrency(before[len(before)-3:]) || len(after) >= 3 && money.ValidCurrency(after[:3]) {
			return i
		}
	}
	return -1
}

// agreeing reports whether all numbers are the same.
func agreeing(s string, spans [][]int) bool {
	for _, sp := range spans[1:] {
		if s[sp[0]:sp[1]] != s[spans[0][0]:spans[0][1]] {
			return false
		}
	}
	return true
}

// negative reports a minus that touches the number or its sign, and nothing before
// it: a dash with a blank behind it is none.
func negative(s string, at int) bool {
	for _, before := range []string{strings.TrimRight(s[:at], " "), beforeSign(s[:at])} {
		if rest, ok := strings.CutSuffix(before, "-"); ok && (rest == "" || strings.ContainsAny(rest[len(rest)-1:], " \t€£$¥(")) {
			return true
		}
	}
	return false
}
