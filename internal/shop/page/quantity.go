package page

import (
	"math/big"
	"regexp"
	"slices"
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
	"fl oz": {"ml", "29.5735"}, "fl. oz": {"ml", "29.5735"}, "fl. oz.": {"ml", "29.5735"},
	"l": {"ml", "1000"}, "リットル": {"ml", "1000"}, "ml": {"ml", "1"}, "ミリリットル": {"ml", "1"}, "cl": {"ml", "10"}, "dl": {"ml", "100"}, "litre": {"ml", "1000"}, "litres": {"ml", "1000"}, "liter": {"ml", "1000"},
	"m": {"m", "1"}, "メートル": {"m", "1"},
}

// counts are units of number, each with the kind of piece it counts. Packages
// that hold pieces of another kind count as pieces only where nothing else does.
var counts = map[string]string{
	"ロール": "roll", "巻": "roll", "roll": "roll", "rolls": "roll", "rouleaux": "roll", "rollen": "roll", "rollos": "roll",
	"枚": "sheet", "blatt": "sheet", "sheets": "sheet", "feuilles": "sheet", "hojas": "sheet",
	"組": "set", "足": "pair", "膳": "pair", "双": "pair", "paar": "pair", "pairs": "pair", "paires": "pair",
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
		`\d+(?:\.\d+)?\s*[〜~\-–]\s*\d+(?:\.\d+)?\s*(?:kg|g|l|ml|cm|m|歳|inch|inches|インチ|か月|ヶ月)`, // a range: of weights of a child, of inches
		`(?:up to|max\.?|bis|まで|最大|耐荷重)\s*\d+(?:[.,]\d+)?\s*(?:kg|g|l)\b`,                      // a load
		`\d+\s*[x×]\s*\d+[.,]\d+\s*mm(?:²|2)?`, `\d+\s*[x×]\s*\d+\s*mm(?:²|2)`,                 // the cross-section of a cable
		`\d+(?:[.,]\d+)?\s*(?:mm|cm|㎜|㎝)(?:\s*[x×*]\s*\d+(?:[.,]\d+)?\s*(?:mm|cm)\b)*\s*[x×*]?`, // a width
		`\d+(?:[.,]\d+)?\s*(?:g\s*/\s*(?:m2|qm)|gsm\b)`,                                         // of paper
		`\d+\s*枚ずつ`, `\d+\s*枚切り?`, `\d+\s*倍`, `\d+\s*段`, `\d+\s*カット`, `\d+\s*歳`, `\d+(?:\.\d+)?\s*(?:ヶ月|か月|カ月|ケ月|months?|jahre|years?)`,
		`\d+(?:\.\d+)?\s*(?:インチ|inch(?:es)?|型|世代|w形?|v|mah|gb|tb|hz|dpi|iu|µg|mg|度|°|℃)(?:[^a-z]|$)`, `単\d形?`, `\d+\s*in\s*1`, `\d+-lagig`, `\d+-ply`, `\d+枚刃`,
		`\d+(?:[.,]\d+)?\s*%\s*(?:vol|abv|オフ|off|国産)?`, `\d+\s*(?:washes|lavages|waschgänge|loads|lavados|回分?)`, `\b(?-i:[A-WYZ])\d+`,
	}, "|"))
	bonus = regexp.MustCompile(`(?i)\+\s*(\d+)\s*%\s*(?:gratis|free|extra|増量|mehr|gratuit)`)
	// durable goods have a capacity, which is not what is in them.
	durable = regexp.MustCompile(`(?i)(?:ゴミ|ごみ|ポリ)袋|(?:紙|プラ)(?:コップ|カップ|皿)|計量カップ|保存容器|タッパー|フリーザーバッグ|ジッパー|paper cups?|plastic cups?|containers?\b|carafe|pitcher|lunch ?box|ケトル|kettle|炊飯器|冷蔵庫|水筒|ボトル本体|鍋|リュック|rucksack|backpack|sac à dos|タンク|\bbin\b|mülleimer|ゴミ箱|クーラーボックス|フライヤー|ポット|スーツケース|suitcase|koffer|air ?fryer|fritteuse|wasserkocher|kühlschrank|kühlbox|gefrier|bouilloire|réfrigérateur|frigo|fridge|freezer|hervidor|bollitore|müllbeutel|müllsäcke|abfallsäcke|sacs? poubelle|bolsas de basura|sacchi|vuilniszak|rubbish bags?|bin liners?|\b[0-9]{3,4} ?w\b|microwave|電子レンジ|加湿器|(?:trash|garbage|bin|freezer|storage|sandwich|tote|shopping|travel|gym|sports|cool|cooler|laundry|messenger|duffel) bags?\b|mug|マグ|タンブラー|garbage`)
	// model is a letter with a number: a part of a name.
	model = regexp.MustCompile(`\b([A-Za-z]+)-?[0-9]+[A-Za-z0-9]*(?:-[A-Za-z0-9]+)*`)
	// unsure are words by which a title leaves open how much there is: more for the
	// same price, which the stated content may hold already, several sizes or sorts.
	unsure = regexp.MustCompile(`(?i)[0-9]\s*%\s*(?:増量|extra|more|mehr)|\b(?:duo|twin ?pack|bipack|doppelpack|assort\w*)\b|\b[0-9] (?:for|für|pour|por) [0-9]\b|[0-9]\s*種|全\s*[0-9]+\s*巻|[0-9]\s*巻セット|[0-9]\s*(?:kg|g|ml|cl|l)\s*(?:/|／|、|\bor\b|\boder\b|\bou\b|または)\s*[0-9.,]+\s*(?:kg|g|ml|cl|l)\b`)
	// dozens are twelves, and a "lot de 3" three.
	dozens = regexp.MustCompile(`(?i)([0-9]+)\s*(?:ダース|dozen|dutzend|douzaines?|docenas?)`)
	lotOf  = regexp.MustCompile(`(?i)\b(?:lot|pack|set|box|case|boîte|caja|paquete|confezione) (?:de|of|da|di) ([0-9]+)\b`)
	// largeRolls are rolls all the same.
	largeRolls = regexp.MustCompile(`(?i)([0-9]+)\s*(?:double|triple|mega|jumbo|giant|family|super|maxi)[ -]+(rolls?|rollen|rouleaux)\b`)
	// twoPly says the same twice: 150 sets of two sheets are 300 sheets.
	twoPly = regexp.MustCompile(`([0-9]+)\s*組\s*[/・,]?\s*([0-9]+)\s*枚`)
	// byRoll is paper that people count by the roll.
	byRoll  = regexp.MustCompile(`(?i)トイレット|キッチン(?:ペーパー|タオル|ロール)|toilet|papier toilette|küchenrolle|kitchen (?:roll|towel)|paper towel|essuie-tout|papel higiénico|carta igienica`)
	packOf  = regexp.MustCompile(`(?i)^(?:pack|case|box|set) of (\d+)$|^(\d+)[ -]?(?:pack|er[- ]?pack)$|^x(\d+)$`)
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
	inside  bool // a count of what is in the package: 6個入
	end     int  // where it ends in the text
	start   int
}

// most is more pieces than a shopper buys at once: numbers were taken together
// that do not belong together.
var most = big.NewRat(100_000, 1)

func isMeasure(unit string) bool { return unit == "g" || unit == "ml" || unit == "m" }

// longestTitle in bytes is longer than any; a shop's interface may send what it likes.
const longestTitle = 4 * maxName

// Quantity reads how much a package holds from its title, in a base unit: "500ml
// ×24本" is 12 000 ml, "12ロール×6" 72 rolls. Unsure is none.
func Quantity(title string) shop.Quantity {
	if len(title) > longestTitle {
		return shop.Quantity{}
	}
	s := norm.NFKC.String(title)
	percent := bonus.FindStringSubmatch(s)
	s = bonus.ReplaceAllString(s, " ")
	if unsure.MatchString(s) {
		return shop.Quantity{}
	}
	s = dozens.ReplaceAllStringFunc(s, func(m string) string {
		n, ok := new(big.Int).SetString(dozens.FindStringSubmatch(m)[1], 10)
		if !ok {
			return m
		}
		return n.Mul(n, big.NewInt(12)).String() + "本"
	})
	s = largeRolls.ReplaceAllString(lotOf.ReplaceAllString(s, " x$1 "), "$1 $2")
	s = twoPly.ReplaceAllString(s, "${1}組")
	s, inside := brackets(s)
	fs := factors(s)
	if byRoll.MatchString(s) { // the length of each is not what people compare
		fs = slices.DeleteFunc(fs, func(f factor) bool { return f.base == "m" })
	}
	total, unit := product(fs, durable.MatchString(s))
	for _, b := range inside {
		in := factors(b)
		t, u := product(in, false)
		switch {
		case u == "":
		case unit == "": // only the bracket says it
			total, unit = t, u
		case isMeasure(unit) && !isMeasure(u) && holdsPacks(fs) && !strings.Contains(b, "付") && pieces(fs).Cmp(t) != 0:
			// "600ml 1ケース(24本)": the bracket says what is in the case. Of several it
			// may speak of one or of all.
			if pieces(fs).Cmp(big.NewRat(1, 1)) != 0 {
				return shop.Quantity{}
			}
			total.Mul(total, t)
		case (unit == "piece" || unit == "m") && u == "roll" && pieces(fs).Cmp(t) == 0:
			total, unit = t, u // "8個入×8 (64ロール)": the bracket says what the pieces are
		case unit == "piece" && u != "piece" && onlyPacks(fs):
			// "5箱 (150組×5)": the bracket says what is in the boxes, and repeats how
			// many there are. If it does not, it may speak of one box or of all.
			if !hasCount(in, total) {
				return shop.Quantity{}
			}
			total, unit = t, u
		}
	}
	if unit == "" || total.Sign() <= 0 || !isMeasure(unit) && total.Cmp(most) > 0 {
		return shop.Quantity{}
	}
	if percent != nil {
		if p, ok := new(big.Rat).SetString(percent[1]); ok {
			total.Mul(total, p.Add(p.Quo(p, big.NewRat(100, 1)), big.NewRat(1, 1)))
		}
	}
	return shop.Quantity{Amount: decimalText(total), Unit: unit}
}

// brackets takes the brackets out of a title. One that is multiplied, "(100g×3)×2",
// stays as a part of it, and so does "(pack of 12)".
func brackets(s string) (outside string, inside []string) {
	var b strings.Builder
	from := 0
	for _, m := range bracket.FindAllStringSubmatchIndex(s, 8) {
		text := strings.TrimSpace(s[m[2]:m[3]])
		b.WriteString(s[from:m[0]])
		from = m[1]
		switch p := packOf.FindStringSubmatch(text); {
		case p != nil:
			b.WriteString(" x" + p[1] + p[2] + p[3] + " ")
		case startsTimes(strings.TrimLeft(s[m[1]:], " ")) || endsTimes(strings.TrimRight(s[:m[0]], " ")):
			b.WriteString(" " + text + " ")
		default:
			inside = append(inside, text)
			b.WriteString(" ")
		}
	}
	b.WriteString(s[from:])
	return b.String(), inside
}

// pieces is what the counts multiply to.
func pieces(fs []factor) *big.Rat {
	total := big.NewRat(1, 1)
	for _, f := range fs {
		if f.base == "" {
			total.Mul(total, f.n)
		}
	}
	return total
}

func onlyPacks(fs []factor) bool {
	return !slices.ContainsFunc(fs, func(f factor) bool { return f.kind != "pack" && f.kind != "" || f.base != "" })
}

// holdsPacks reports that what is counted is packs, and nothing that is in them.
func holdsPacks(fs []factor) bool {
	packs := false
	for _, f := range fs {
		if f.base == "" && f.kind != "pack" {
			return false
		}
		packs = packs || f.kind == "pack"
	}
	return packs
}

func hasCount(fs []factor, n *big.Rat) bool {
	return slices.ContainsFunc(fs, func(f factor) bool { return f.base == "" && f.n.Cmp(n) == 0 })
}

func factors(s string) []factor {
	s = otherNumbers.ReplaceAllString(s, " ")
	s = model.ReplaceAllStringFunc(s, func(m string) string {
		switch strings.ToLower(model.FindStringSubmatch(m)[1]) {
		case "x", "pack", "box", "set", "case", "lot":
			return m
		}
		return " "
	})
	var out []factor
	for _, m := range quantityToken.FindAllStringSubmatchIndex(s, 16) {
		number, unit := s[m[2]:m[3]], ""
		end := m[1]
		if m[4] >= 0 {
			unit = s[m[4]:m[5]]
			end = m[5]
		}
		before, after := strings.TrimRight(s[:m[0]], " "), strings.TrimLeft(s[end:], " ")
		f := factor{added: strings.HasSuffix(strings.TrimRight(refill.ReplaceAllString(before, ""), " "), "+"), times: endsTimes(before) || startsTimes(after)}
		n, ok := new(big.Rat).SetString(plainNumber(number))
		if !ok || n.Sign() == 0 { // none of something says nothing of how much there is
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
		case f.added:
			f.base = "?" // "500 g + 1": one what?
		case !f.times:
			continue // a bare number says nothing
		}
		f.start, f.end, f.inside = m[0], end, strings.HasPrefix(after, "入") || strings.HasSuffix(unit, "入")
		out = append(out, f)
	}
	return out
}

// refill stands between a "+" and what it adds.
var refill = regexp.MustCompile(`(?:詰め?替え?用?|つめかえ用?|付け?替え?用?|本体)\s*$`)

// measured is a number with a unit that a multiplication sign may touch: "900gx12".
var measured = regexp.MustCompile(`(?i)[0-9](?:kg|g|ml|cl|dl|l|m|oz|lb)$`)

func endsTimes(s string) bool {
	s = strings.TrimRight(strings.TrimRight(s, " "), "入り組セトパック")
	for _, x := range []string{"×", "*", "✕"} {
		if strings.HasSuffix(s, x) {
			return true
		}
	}
	for _, x := range []string{"x", "X", "à"} {
		if rest, ok := strings.CutSuffix(s, x); ok {
			return rest == "" || !latin(rest[len(rest)-1]) || measured.MatchString(rest)
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
// durable thing's measure is its capacity, and not content. No unit is unsure.
func product(fs []factor, durable bool) (*big.Rat, string) {
	fs = withoutTotal(fs)
	measure, times, extra := new(big.Rat), big.NewRat(1, 1), new(big.Rat)
	base, kind := "", ""
	var last *big.Rat // the count that a "+" adds to
	hasMeasure := slices.ContainsFunc(fs, func(f factor) bool { return f.base != "" })
	for i, f := range fs {
		switch {
		case f.base == "?":
			return nil, ""
		case f.base != "" && !durable:
			switch {
			case base != "" && f.base != base:
				return nil, "" // 500 g and 2 m: of what?
			case base == "m" && f.times:
				return nil, "" // 1.8 m × 1.8 m: an area
			case base == "":
				base = f.base
				measure.Set(f.n)
			case f.added && times.Cmp(big.NewRat(1, 1)) != 0:
				extra.Add(extra, f.n) // 2 × 250 g + 250 g
			case f.added, i > 0 && fs[i-1].base == f.base && f.start-fs[i-1].end <= 1 && f.n.Cmp(measure) < 0:
				measure.Add(measure, f.n) // 1 lb 8 oz
			case !sameAgain(f.n, measure, times):
				return nil, ""
			}
		case f.base != "":
		case extra.Sign() > 0:
			return nil, "" // a count behind a sum: of all of it?
		case f.added && last != nil:
			times.Quo(times, last)
			last.Add(last, f.n)
			times.Mul(times, last)
		case hasMeasure && f.kind == "serving" && !f.times:
			// a yield
		case hasMeasure && f.inside && !f.times && base == "" && !durable:
			return nil, "" // 6個入り 90 g: of each, or of all?
		default:
			last = new(big.Rat).Set(f.n)
			times.Mul(times, f.n)
			if f.isCount && (kind == "" || better(f.kind, kind)) {
				kind = f.kind
			}
		}
	}
	if base != "" {
		return measure.Add(measure.Mul(measure, times), extra), base
	}
	if kind == "pack" {
		kind = "piece"
	}
	return times, kind
}

// sameAgain reports a measure that repeats the one before, or the total, as far as
// rounding between systems of units goes.
func sameAgain(n, measure, times *big.Rat) bool {
	total := new(big.Rat).Mul(measure, times)
	for _, m := range []*big.Rat{measure, total} {
		diff := new(big.Rat).Sub(n, m)
		if diff.Abs(diff).Cmp(new(big.Rat).Mul(m, big.NewRat(2, 100))) <= 0 {
			return true
		}
	}
	return false
}

// withoutTotal leaves out a last count that repeats what counts before it multiply
// to: 30枚×10箱 300枚, 150組 5箱×12パック 60箱. Sheets on a roll are its length, and
// no number of pieces.
func withoutTotal(fs []factor) []factor {
	if n := len(fs); n >= 3 && fs[n-1].isCount && !fs[n-1].times {
		for from := range n - 2 {
			if pieces(fs[from:n-1]).Cmp(fs[n-1].n) == 0 {
				kind := fs[n-1].kind
				if fs = slices.Clone(fs[:n-1]); better(kind, fs[n-2].kind) {
					fs[n-2].kind, fs[n-2].isCount = kind, true // "9 pack x 5, 45 rolls": the total says what is in the packs
				}
				break
			}
		}
	}
	if slices.ContainsFunc(fs, func(f factor) bool { return f.kind == "roll" }) {
		fs = slices.DeleteFunc(slices.Clone(fs), func(f factor) bool { return f.kind == "sheet" })
	}
	return fs
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
