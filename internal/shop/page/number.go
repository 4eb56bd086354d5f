package page

import (
	"cmp"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/sokone/sokone/internal/money"
)

// commaLanguages write a decimal comma, and group by a dot or a blank.
var commaLanguages = map[string]bool{
	"de": true, "fr": true, "es": true, "it": true, "pt": true, "nl": true, "pl": true, "cs": true, "sk": true, "da": true, "sv": true, "nb": true, "no": true,
	"fi": true, "tr": true, "ru": true, "uk": true, "hu": true, "ro": true, "bg": true, "hr": true, "sl": true, "el": true, "id": true, "vi": true, "lt": true, "lv": true, "et": true,
}

// numeral finds a run of digits with what may part them.
var numeral = regexp.MustCompile(`-?[0-9](?:[0-9.,'’ \x{00a0}\x{202f}]*[0-9])?`)

// exponent is a number of JSON with one: 1.299e3.
var exponent = regexp.MustCompile(`^(-?[0-9]+)(?:\.([0-9]+))?[eE]\+?([0-9]{1,2})$`)

// digitsOf folds full-width, Arabic and other digits into plain ones.
func digitsOf(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '٠' && r <= '٩':
			return '0' + r - '٠'
		case r >= '۰' && r <= '۹':
			return '0' + r - '۰'
		case r == '٫':
			return '.'
		case r == '٬':
			return ','
		case r == '−' || r == '‐' || r == '‑':
			return '-'
		case r == '\u200e' || r == '\u200f' || r == '\u061c' || r == '\u200b' || r == '\u2060' || r == '\ufeff' || r == '\u00ad': // marks that are not seen
			return -1
		}
		return r
	}, dong.ReplaceAllString(norm.NFKC.String(lowered(s)), "$1₫$2"))
}

// dong is the letter that Vietnam writes for its currency's sign: 129.000đ.
var dong = regexp.MustCompile(`([0-9]\s?)đ($|[^\pL])`)

// raised are digits above the line. Two right behind a number are its hundredths,
// "$12⁹⁹"; others are marks of footnotes, "19,99 €¹", and no part of it.
var raised = regexp.MustCompile(`([0-9０-９])?([.,]?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)`)

func lowered(s string) string {
	return raised.ReplaceAllStringFunc(s, func(m string) string {
		parts := raised.FindStringSubmatch(m)
		if parts[1] != "" && utf8.RuneCountInString(parts[3]) == 2 {
			return parts[1] + cmp.Or(parts[2], ".") + parts[3]
		}
		return parts[1] + parts[2]
	})
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// number reads the one number in a text as a plain decimal. It reports false
// where there is none, more than one, or one that can be read two ways.
func number(text, currency, lang string) (string, bool) {
	s := digitsOf(text)
	if m := exponent.FindStringSubmatch(strings.TrimSpace(s)); m != nil {
		return shift(m[1], m[2], m[3])
	}
	found := numeral.FindAllString(s, 2)
	if len(found) != 1 {
		return "", false
	}
	return separators(found[0], currency, lang)
}

// shift moves the decimal point: the exponent is small, and not negative.
func shift(whole, frac, exp string) (string, bool) {
	n := 0
	for _, c := range exp {
		n = n*10 + int(c-'0')
	}
	if n > 20 {
		return "", false
	}
	for len(frac) < n {
		frac += "0"
	}
	whole, frac = whole+frac[:n], frac[n:]
	if frac != "" {
		return whole + "." + frac, true
	}
	return whole, true
}

// separators tells groups from the decimal point.
func separators(n, currency, lang string) (string, bool) {
	n = strings.NewReplacer("'", "", "’", "", " ", "", "\u00a0", "", "\u202f", "").Replace(n)
	dots, commas := strings.Count(n, "."), strings.Count(n, ",")
	switch {
	case dots == 0 && commas == 0:
		return n, true
	case dots > 0 && commas > 0:
		decimal := ","
		if strings.LastIndex(n, ".") > strings.LastIndex(n, ",") {
			decimal = "."
		}
		group := map[string]string{".": ",", ",": "."}[decimal]
		if strings.Count(n, decimal) > 1 || strings.LastIndex(n, group) > strings.Index(n, decimal) {
			return "", false
		}
		return strings.Replace(strings.ReplaceAll(n, group, ""), decimal, ".", 1), true
	case dots+commas > 1: // 1.234.567: groups
		return strings.NewReplacer(".", "", ",", "").Replace(n), grouped(n)
	}
	sep := "."
	if commas == 1 {
		sep = ","
	}
	whole, frac, _ := strings.Cut(n, sep)
	if sep == "," && len(frac) > 3 && strings.Trim(frac[2:], "0") != "" {
		return "", false
	}
	if len(frac) != 3 || len(strings.TrimPrefix(whole, "-")) > 3 {
		return whole + "." + frac, true
	}
	// Three digits after one separator: a group or a fraction?
	switch {
	case wholeInPractice[currency]:
		return whole + frac, true
	case money.ValidCurrency(currency) && money.Digits(currency) == 0:
		return whole + frac, true
	case money.ValidCurrency(currency) && money.Digits(currency) == 3:
		return whole + "." + frac, true
	case commaLanguages[baseLanguage(lang)]:
		if sep == "." {
			return whole + frac, true
		}
		return "", false // 1,499 in a language of decimal commas: no price has three decimals
	case sep == ",", lang == "" && !pointCurrencies[currency]:
		return whole + frac, true
	}
	return whole + "." + frac, true
}

// wholeInPractice are currencies whose fractions no shop writes any more.
var wholeInPractice = map[string]bool{"IDR": true, "HUF": true, "COP": true, "CRC": true, "TZS": true, "IRR": true, "LBP": true, "MMK": true}

// pointCurrencies belong to countries that write a decimal point.
var pointCurrencies = map[string]bool{"USD": true, "GBP": true, "AUD": true, "CAD": true, "NZD": true, "SGD": true, "HKD": true, "INR": true, "CNY": true, "TWD": true, "MYR": true, "THB": true, "PHP": true, "ILS": true, "MXN": true}

// grouped reports whether all parts but the first have three digits, or two as
// in India, with three at the end.
func grouped(n string) bool {
	parts := strings.FieldsFunc(n, func(r rune) bool { return r == '.' || r == ',' })
	for i, p := range parts {
		last := i == len(parts)-1
		if i > 0 && len(p) != 3 && (last || len(p) != 2 || strings.Contains(n, ".")) {
			return false
		}
	}
	return true
}

func baseLanguage(tag string) string {
	l, _, _ := strings.Cut(tag, "-")
	return strings.ToLower(l)
}
