package page

import (
	"regexp"
	"testing"
)

// TestAMatcherMatchesAsItsExpressionDoes holds the shortcut against the expression.
func TestAMatcherMatchesAsItsExpressionDoes(t *testing.T) {
	for _, alternative := range []string{`税抜`, `\bnetto`, `\b(was|list price)\b[^0-9]{0,4}$`, `[ée]conomi[sz]`, `\d+\s*(x|×)\s*$`, `(a+b)?c`, `(foo|ba[rz])qux`, `^\s*de:?\s*$`, `K`, `ſ?s`} {
		m, re := words(alternative), regexp.MustCompile(`(?i)`+alternative)
		for _, s := range []string{"", "税抜 ", "NETTO", "Was ", "list price: ", "wasp", "Économies", "economiser", "12 × ", "c", "aabc", "barqux", "BAZQUX", "De: ", "de", "k", "\u212a", "S", "x"} {
			if got, want := m.MatchString(s), s != "" && re.MatchString(s); got != want {
				t.Errorf("%q on %q: %v, want %v", alternative, s, got, want)
			}
		}
	}
}
