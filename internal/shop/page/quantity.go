package page

import (
	"math/big"
	"regexp"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/sokone/sokone/internal/shop"
)

// measures are units of content: the base unit, and how much of it one is.
var measures = map[string]struct{ base, size string }{
	"kg": {"g", "1000"}, "キロ": {"g", "1000"}, "g": {"g", "1"}, "グラム": {"g", "1"}, "lb": {"g", "453.592"}, "lbs": {"g", "453.592"}, "oz": {"g", "28.3495"},
	"l": {"ml", "1000"}, "リットル": {"ml", "1000"}, "ml": {"ml", "1"}, "ミリリットル": {"ml", "1"}, "cl": {"ml", "10"}, "dl": {"ml", "100"}, "litre": {"ml", "1000"}, "litres": {"ml", "1000"}, "liter": {"ml", "1000"},
	"m": {"m", "1"}, "メートル": {"m", "1"},
}

// counts are units of number, each with the kind of piece it counts. Packages
// that hold pieces of another kind count as pieces only where nothing else does.
var counts = map[string]string{
	"ロール": "roll", "巻": "roll", "roll": "roll", "rolls": "roll", "rouleaux": "roll", "rollen": "roll", "rollos": "roll",
	"枚": "sheet", "blatt": "sheet", "sheets": "sheet", "feuilles": "sheet", "hojas": "sheet",
	"組": "set", "足": "pair", "paar": "pair", "pairs": "pair", "paires": "pair",
	"粒": "tablet", "錠": "tablet", "カプセル": "tablet",
	"食": "serving", "servings": "serving",
	"個": "piece", "本": "piece", "ピース": "piece", "台": "piece", "缶": "piece", "冊": "piece", "個入": "piece",
	"pieces": "piece", "pcs": "piece", "pc": "piece", "count": "piece", "ct": "piece", "stück": "piece", "stk": "piece", "uds": "piece", "unidades": "piece", "pièces": "piece", "tablets": "piece", "capsules": "piece", "tabs": "piece",
	"bottles": "piece", "bouteilles": "piece", "botellas": "piece", "flaschen": "piece", "cans": "piece", "dosen": "piece", "gläser": "piece", "jars": "piece", "stuks": "piece", "pods": "piece", "bags": "piece", "beutel": "piece",
	"袋": "pack", "箱": "pack", "パック": "pack", "包": "pack", "ケース": "pack", "セット": "pack", "束": "pack", "箱パック": "pack", "個パック": "pack", "缶パック": "pack",
	"pack": "pack", "packs": "pack", "-pack": "pack", "er-pack": "pack", "er pack": "pack", "paquetes": "pack", "paquets": "pack", "packungen": "pack", "boxes": "pack", "cases": "pack",
}

// rank orders kinds of pieces: what a title counts is its most particular one.
var rank = []string{"roll", "sheet", "tablet", "pair", "set", "serving", "piece", "pack"}

// Patterns that hold numbers of another sort, and are taken out first.
var (
	otherNumbers = regexp.MustCompile(`(?i)` + strings.Join([]string{
		`\d+(?:\.\d+)?\s*[〜~\-–]\s*\d+(?:\.\d+)?\s*(?:kg|g|l|ml|cm|m|歳|inch|inches|インチ|か月|ヶ月)`,  // a range: of weights of a child, of inches
		`(?:up to|max\.?|bis|まで|最大|耐荷重)\s*\d+(?:[.,]\d+)?\s*(?:kg|g|l)\b`,                       // a load
		`\d+\s*[x×]\s*\d+(?:[.,]\d+)?\s*mm(?:²|2)`,                                              // the cross-section of a cable
		`\d+(?:[.,]\d+)?\s*(?:mm|cm|㎜|㎝)(?:\s*[x×*]\s*\d+(?:[.,]\d+)?\s*(?:mm|cm)\b)*\s*[x×*]?`, // a width
		`\d+\s*枚ずつ`, `\d+\s*倍`, `\d+\s*段`, `\d+\s*カット`, `\d+\s*歳`, `\d+(?:\.\d+)?\s*(?:ヶ月|か月|カ月|ケ月|months?|jahre|years?)`,
		`\d+(?:\.\d+)?\s*(?:インチ|inch(?:es)?|型|世代|w形?|v|mah|gb|tb|hz|dpi|iu|µg|mg|度|°|℃)(?:[^a-z]|$)`, `単\d形?`, `\d+\s*in\s*1`, `\d+-lagig`, `\d+-ply`, `\d+枚刃`,
		`\d+(?:[.,]\d+)?\s*%\s*(?:vol|abv|オフ|off|国産)?`, `\d+\s*(?:washes|lavages|waschgänge|loads|lavados|回分?)`, `\b(?-i:[A-WYZ])\d+`,
	}, "|"))
	bonus = regexp.MustCompile(`(?i)\+\s*(\d+)\s*%\s*(?:gratis|free|extra|増量|mehr|gratuit)`)
	// durable goods have a capacity, which is not what is in them.
	durable = regexp.MustCompile(`(?i)(?:ゴミ|ごみ|ポリ)袋|ケトル|kettle|炊飯器|冷蔵庫|水筒|ボトル本体|鍋|リュック|rucksack|backpack|sac à dos|タンク|\bbin\b|mülleimer|ゴミ箱|クーラーボックス|microwave|電子レンジ|加湿器|\bbags?\b|mug|マグ|タンブラー|garbage`)
	packOf  = regexp.MustCompile(`(?i)^(?:pack|case|box|set) of (\d+)$|^(\d+)[ -]?(?:pack|er[- ]?pack)$`)
	bracket = regexp.MustCompile(`[（(\[【〔]([^）)\]】〕]*)[）)\]】〕]`)
)

// quantityToken is a number with its unit, or a bare number that multiplies.
var quantityToken = regexp.MustCompile(`(?i)(\d+(?:[.,]\d+)*)\s*(` + alternatives() + `)?`)

// alternatives are all units, the longest first.
func alternatives() string {
	var all []string
	for u := range measures {
		all = append(all, regexp.QuoteMeta(u))
	}
	for u := range counts {
		all = append(all, regexp.QuoteMeta(u))
	}
	sort.Slice(all, func(i, j int) bool { return len(all[i]) > len(all[j]) || len(all[i]) == len(all[j]) && all[i] < all[j] })
	return strings.Join(all, "|")
}

// factor is one number of a title.
type factor struct {
	n       *big.Rat
	base    string // "g", "ml" or "m" for a measure, else ""
	kind    string // of a count, else ""
	added   bool   // after a "+"
	times   bool   // beside a multiplication sign
	isCount bool
}

// Quantity reads how much a package holds from its title, in a base unit: "500ml
// ×24本" is 12 000 ml, "12ロール×6" 72 rolls. Unsure is none.
func Quantity(title string) shop.Quantity {
	s := norm.NFKC.String(title)
	percent := bonus.FindStringSubmatch(s)
	s = bonus.ReplaceAllString(s, " ")
	var inside []string
	s = bracket.ReplaceAllStringFunc(s, func(b string) string {
		m := bracket.FindStringSubmatch(b)
		if p := packOf.FindStringSubmatch(strings.TrimSpace(m[1])); p != nil {
			return " x" + p[1] + p[2] + " "
		}
		inside = append(inside, m[1])
		return " "
	})
	total, unit := product(factors(s), durable.MatchString(s))
	if unit == "" {
		for _, b := range inside { // only the bracket says it
			if total, unit = product(factors(b), false); unit != "" {
				break
			}
		}
	} else if unit == "piece" || unit == "m" {
		// "8個入×8 (64ロール)": the bracket says what the pieces are.
		for _, b := range inside {
			if t, u := product(factors(b), false); u == "roll" && pieces(s).Cmp(t) == 0 {
				total, unit = t, u
			}
		}
	}
	if unit == "" || total.Sign() <= 0 {
		return shop.Quantity{}
	}
	if percent != nil {
		if p, ok := new(big.Rat).SetString(percent[1]); ok {
			total.Mul(total, p.Add(p.Quo(p, big.NewRat(100, 1)), big.NewRat(1, 1)))
		}
	}
	return shop.Quantity{Amount: decimalText(total), Unit: unit}
}

// pieces is what the counts of a text multiply to.
func pieces(s string) *big.Rat {
	total := big.NewRat(1, 1)
	for _, f := range factors(s) {
		if f.base == "" {
			total.Mul(total, f.n)
		}
	}
	return total
}

func factors(s string) []factor {
	s = otherNumbers.ReplaceAllString(s, " ")
	var out []factor
	for _, m := range quantityToken.FindAllStringSubmatchIndex(s, 16) {
		number, unit := s[m[2]:m[3]], ""
		end := m[1]
		if m[4] >= 0 {
			unit = s[m[4]:m[5]]
			end = m[5]
		}
		before, after := strings.TrimRight(s[:m[0]], " "), strings.TrimLeft(s[end:], " ")
		f := factor{added: strings.HasSuffix(before, "+"), times: endsTimes(before) || startsTimes(after)}
		n, ok := new(big.Rat).SetString(plainNumber(number))
		if !ok {
			continue
		}
		f.n = n
		if unit != "" && latin(unit[len(unit)-1]) && end < len(s) && letterAt(s, end) {
			unit = "" // "30 mal": the m is no metre
		}
		lower := strings.ToLower(unit)
		switch mu, isMeasure := measures[lower]; {
		case unit == "G" || unit == "M": // 5G, size M
			continue
		case isMeasure:
			size, _ := new(big.Rat).SetString(mu.size)
			f.n, f.base = n.Mul(n, size), mu.base
		case counts[lower] != "":
			f.kind, f.isCount = counts[lower], true
		case !f.times:
			continue // a bare number says nothing
		}
		out = append(out, f)
	}
	return out
}

func endsTimes(s string) bool {
	s = strings.TrimRight(strings.TrimRight(s, " "), "入り組セトパック")
	for _, x := range []string{"x", "X", "×", "*", "✕", "à"} {
		if strings.HasSuffix(s, x) {
			rest := strings.TrimSuffix(s, x)
			return rest == "" || !latin(rest[len(rest)-1])
		}
	}
	return false
}

func startsTimes(s string) bool {
	s = strings.TrimLeft(s, "入り組セトパック ")
	for _, x := range []string{"x", "X", "×", "*", "✕"} {
		if rest, ok := strings.CutPrefix(s, x); ok {
			rest = strings.TrimLeft(rest, " ")
			return rest != "" && rest[0] >= '0' && rest[0] <= '9'
		}
	}
	return false
}

// letterAt reports whether a Latin letter, accented ones too, stands at i.
func letterAt(s string, i int) bool {
	r, _ := utf8.DecodeRuneInString(s[i:])
	return unicode.In(r, unicode.Latin)
}

func latin(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

// plainNumber reads "0,75" and "1,000".
func plainNumber(s string) string {
	if i := strings.IndexAny(s, ".,"); i >= 0 && strings.Count(s, ".")+strings.Count(s, ",") == 1 {
		if s[i] == ',' && len(s)-i == 4 && s[0] != '0' {
			return s[:i] + s[i+1:]
		}
		return s[:i] + "." + s[i+1:]
	}
	return strings.ReplaceAll(s, ",", "")
}

// product multiplies a measure by all counts; without a measure, the counts. A
// durable thing's measure is its capacity, and not content.
func product(fs []factor, durable bool) (*big.Rat, string) {
	measure, times := new(big.Rat), big.NewRat(1, 1)
	base, kind := "", ""
	var last *big.Rat // the count that a "+" adds to
	for _, f := range fs {
		switch {
		case f.base != "" && !durable:
			if base != "" && f.base != base {
				return nil, "" // 500 g and 2 m: of what?
			}
			if base != "" && !f.added && f.n.Cmp(measure) >= 0 {
				continue // the same said again
			}
			base = f.base
			measure.Add(measure, f.n)
		case f.base != "":
		case f.added && last != nil:
			times.Quo(times, last)
			last.Add(last, f.n)
			times.Mul(times, last)
		default:
			last = new(big.Rat).Set(f.n)
			times.Mul(times, f.n)
			if f.isCount && (kind == "" || better(f.kind, kind)) {
				kind = f.kind
			}
		}
	}
	if base != "" {
		return measure.Mul(measure, times), base
	}
	if kind == "pack" {
		kind = "piece"
	}
	return times, kind
}

func better(a, b string) bool {
	for _, k := range rank {
		if k == a {
			return b != a
		}
		if k == b {
			return false
		}
	}
	return false
}

// decimalText writes a rational that has a finite decimal form.
func decimalText(r *big.Rat) string {
	s := r.FloatString(6)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}
