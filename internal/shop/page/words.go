package page

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// matcher is a regular expression over many words. Go's expressions slow down with
// each alternative, and nearly no text has any: so each alternative gives up a
// literal that it cannot match without, and only where one is found is it tried.
type matcher struct {
	literals []string       // in lower case; one of them is in whatever filtered matches
	filtered *regexp.Regexp // nil for none
	always   *regexp.Regexp // the alternatives without such a literal; nil for none
}

// words matches any of the alternatives, in capitals or not. Note that \b knows the
// letters of ASCII alone: it fails before an é.
func words(alternatives ...string) *matcher {
	m := &matcher{}
	var filtered, always []string
	for _, a := range alternatives {
		re, err := syntax.Parse("(?i)"+a, syntax.Perl)
		if err != nil {
			panic(err)
		}
		if literals := required(re); literals != nil {
			m.literals = append(m.literals, literals...)
			filtered = append(filtered, a)
		} else {
			always = append(always, a)
		}
	}
	m.filtered, m.always = anyOf(filtered), anyOf(always)
	return m
}

func anyOf(alternatives []string) *regexp.Regexp {
	if len(alternatives) == 0 {
		return nil
	}
	return regexp.MustCompile(`(?i)` + strings.Join(alternatives, "|"))
}

// required are literals of which whatever re matches has one; nil where there are
// no such.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if literals := required(sub); shortest(literals) > shortest(best) {
				best = literals
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			literals := required(sub)
			if literals == nil {
				return nil
			}
			all = append(all, literals...)
		}
		return all
	}
	return nil
}

func shortest(literals []string) int {
	n := 0
	for i, l := range literals {
		if i == 0 || len(l) < n {
			n = len(l)
		}
	}
	return n
}

// MatchString reports whether s has one of the words.
func (m *matcher) MatchString(s string) bool {
	if s == "" {
		return false
	}
	if m.always != nil && m.always.MatchString(s) {
		return true
	}
	lower := strings.ToLower(s)
	for _, l := range m.literals {
		if strings.Contains(lower, l) {
			return m.filtered.MatchString(s)
		}
	}
	return false
}
