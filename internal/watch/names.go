package watch

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// SameName reports whether two product names can be of one product: shops edit
// their titles, so a quarter of shared letter pairs is enough. Not where each has
// a number that the other has not: "55 inch" is no "43 inch", and "×6" no "×3". No
// name says nothing.
func SameName(a, b string) bool {
	a, b = bareName(a), bareName(b)
	x, y := letters(a), letters(b)
	if x == "" || y == "" {
		return true
	}
	na, nb := numbersOf(a), numbersOf(b)
	if lacks(na, nb) && lacks(nb, na) {
		return false
	}
	return strings.Contains(x, y) || strings.Contains(y, x) || 4*alike(x, y) >= 1
}

// closeName reports whether two names differ by no more than an edit: the same
// words in another order, a shop's name added. "Tea strainer" is not close to "Tea".
func closeName(a, b string) bool {
	x, y := letters(bareName(a)), letters(bareName(b))
	return x == "" || y == "" || SameName(a, b) && alike(x, y) >= 0.6
}

// alike is the share of letter pairs that two texts have in common (the
// coefficient of Sørensen and Dice), from 0 to 1.
func alike(x, y string) float64 {
	if x == y {
		return 1
	}
	px, py := pairs(x), pairs(y)
	shared := 0
	for p, n := range px {
		shared += min(n, py[p])
	}
	return float64(2*shared) / float64(max(count(px)+count(py), 1))
}

// What shops write into names and change at will: sales, points, deliveries, days.
var (
	inBrackets = regexp.MustCompile(`[【［\[《〈＼\\(][^】］\]》〉／/)]{0,60}[】］\]》〉／/)]`)
	promotion  = regexp.MustCompile(`(?i)[0-9]+(?:\.[0-9]+)?\s*(?:%|倍)(?:\s*off)?|[0-9,]+円\s*(?:off|引き?)|\boff\b|\bsale\b|\baktion\b|\bpromo\w*|\bdeal\b|セール|送料無料|free shipping|クーポン|coupon|ポイント|期間限定|タイムセール|[0-9]{1,2}/[0-9]{1,2}|[0-9]{1,2}月[0-9]{1,2}日|[0-9]{1,2}:[0-9]{2}|限定|お買い物マラソン|スーパーsale|あす楽|楽天`)
)

// bareName is a name without promotions, and without the brackets that hold one.
func bareName(s string) string {
	s = norm.NFKC.String(s)
	s = inBrackets.ReplaceAllStringFunc(s, func(m string) string {
		if promotion.MatchString(m) {
			return " "
		}
		return m
	})
	return promotion.ReplaceAllString(s, " ")
}

// numberIn is a number with the Latin letters before it: "k100", "1380", "6".
var numberIn = regexp.MustCompile(`[a-z]*[0-9]+(?:[.,][0-9]+)*`)

func numbersOf(s string) map[string]bool {
	found := map[string]bool{}
	for _, n := range numberIn.FindAllString(strings.ToLower(s), -1) {
		found[n] = true
	}
	return found
}

// lacks reports whether b lacks something of a.
func lacks(a, b map[string]bool) bool {
	for n := range a {
		if !b[n] {
			return true
		}
	}
	return false
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

func pairs(s string) map[[2]rune]int {
	m := map[[2]rune]int{}
	rs := []rune(s)
	for i := 0; i+1 < len(rs); i++ {
		m[[2]rune{rs[i], rs[i+1]}]++
	}
	return m
}

func count(m map[[2]rune]int) (n int) {
	for _, c := range m {
		n += c
	}
	return n
}
