package dispatch

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/watch"
)

// Language is the one of ours that serves a locale.
func Language(locale string) string {
	if l := strings.ToLower(locale); l == "ja" || strings.HasPrefix(l, "ja-") {
		return "ja"
	}
	return "en"
}

// maxName keeps the payload small: a lock screen shows less than this anyway.
const maxName = 80

// Words are the title and the body of an alert, in the reader's language, with
// the numbers that were checked. also names other triggers that it tells of.
func Words(j outbox.Job, c outbox.Checked, also []watch.Firing) (title, body string) {
	say := english
	if Language(j.User.Locale) == "ja" {
		say = japanese
	}
	s := speaker{words: say, locale: j.User.Locale, zone: location(j.User.Timezone)}
	title = shorten(cmp.Or(j.Watch.Product, j.Listing.Name), maxName)
	if c.Price.Known() && j.Entry.Trigger != watch.Unreadable {
		title = fmt.Sprintf(say.title, s.money(c.Price), title)
	}
	sentences := []string{s.sentence(j.Entry.Trigger, c.Why)}
	if j.Entry.Trigger == watch.Unreadable && j.Listing.Paused {
		sentences[0] = say.gone
	}
	for _, f := range also {
		sentences = append(sentences, s.sentence(f.Trigger.Type, f.Why))
	}
	if j.Watch.Basis != watch.BasisPrice && c.Why.Price.Known() {
		sentences = append(sentences, fmt.Sprintf(say.basis[j.Watch.Basis], s.money(c.Why.Price)))
	}
	return title, strings.Join(sentences, say.space)
}

// speaker writes for one reader.
type speaker struct {
	words
	locale string
	zone   *time.Location
}

func (s speaker) money(a money.Amount) string { return a.Format(s.locale) }
func (s speaker) date(t time.Time) string     { return t.In(s.zone).Format(s.day) }

func (s speaker) sentence(t watch.TriggerType, w watch.Why) string {
	switch t {
	case watch.TargetPrice:
		return fmt.Sprintf(s.target, s.money(w.Target))
	case watch.PriceDrop:
		return fmt.Sprintf(s.drop, s.money(w.Reference), percentDown(w.Reference, w.Price))
	case watch.LowestInDays:
		return fmt.Sprintf(s.lowest, s.date(w.LowestSince), s.money(w.Lowest))
	case watch.UnitPrice:
		return fmt.Sprintf(s.unit, s.money(w.UnitPrice), s.per(w.Unit), s.money(w.Target))
	case watch.BackInStock:
		return s.back
	case watch.Readable:
		return s.readable
	case watch.Unreadable:
		say := s.unreadable
		switch watch.Suspicion(w.FailureKind) {
		case watch.OtherProduct:
			say = s.other
		case watch.NewCurrency:
			say = s.currency
		}
		return fmt.Sprintf(say, s.date(w.FailingSince))
	}
	return ""
}

// words of one language. The verbs of fmt stand in the order of its arguments.
type words struct {
	title, target, drop, lowest, unit, back     string
	readable, unreadable, other, currency, gone string
	day, space                                  string // the layout of a date; what parts two sentences
	basis                                       map[watch.Basis]string
	per                                         func(unit string) string
}

var english = words{
	title:      "%s · %s",
	target:     "At or below your price of %s.",
	drop:       "Down from %s (−%s%%).",
	lowest:     "The lowest since %s. Before: %s.",
	unit:       "%s per %s. Your price: %s.",
	back:       "Back in stock.",
	readable:   "The price can be read again.",
	unreadable: "The price could not be read since %s. Sokone keeps trying.",
	other:      "The page shows another product since %s, so its prices are not compared.",
	currency:   "The shop asks another currency since %s, so its prices are not compared.",
	gone:       "The product page is gone, so Sokone has stopped looking.",
	day:        "2 Jan",
	space:      " ",
	basis:      map[watch.Basis]string{watch.BasisTotal: "With shipping: %s.", watch.BasisEffective: "After shipping and points: %s."},
	per:        func(unit string) string { return unit },
}

var japanese = words{
	title:      "%s %s",
	target:     "目標の%s以下になりました。",
	drop:       "%sから%s%%下がりました。",
	lowest:     "%s以降の最安値です(これまで%s)。",
	unit:       "%s(%sあたり)。目標は%sです。",
	back:       "在庫が戻りました。",
	readable:   "価格を再び確認できるようになりました。",
	unreadable: "%sから価格を確認できていません。確認を続けます。",
	other:      "%sから別の商品が表示されているため、価格を比べていません。",
	currency:   "%sから別の通貨で表示されているため、価格を比べていません。",
	gone:       "商品ページがなくなったため、確認を止めました。",
	day:        "1月2日",
	basis:      map[watch.Basis]string{watch.BasisTotal: "送料込み%s。", watch.BasisEffective: "送料・ポイント込みの実質%s。"},
	per: func(unit string) string {
		return map[string]string{"piece": "1個", "sheet": "1枚", "roll": "1ロール", "set": "1組", "pair": "1足",
			"tablet": "1錠", "serving": "1食", "m": "1m", "kg": "1kg", "l": "1L", "100 g": "100g", "100 ml": "100ml"}[unit]
	},
}

// percentDown is how far b lies below a, in whole percent, rounded down.
func percentDown(a, b money.Amount) string {
	from, err1 := a.Minor()
	to, err2 := b.Minor()
	if err1 != nil || err2 != nil || from <= 0 {
		return "0"
	}
	return fmt.Sprint((from - to) * 100 / from)
}

func shorten(s string, runes int) string {
	if r := []rune(s); len(r) > runes {
		return strings.TrimSpace(string(r[:runes-1])) + "…"
	}
	return s
}

// location falls back to UTC: zones are checked when they are written, but the
// zone database of this machine may know fewer.
func location(name string) *time.Location {
	if l, err := time.LoadLocation(name); err == nil {
		return l
	}
	return time.UTC
}
