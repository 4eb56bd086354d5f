package watch_test

import (
	"testing"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

var day0 = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

func day(n int) time.Time { return day0.AddDate(0, 0, n) }

func yen(n string) money.Amount {
	if n == "" {
		return money.Amount{}
	}
	return money.MustParse(n, "JPY")
}

func seen(at time.Time, price string) watch.Observation {
	return watch.Observation{At: at, Price: yen(price), Availability: shop.InStock, Name: "Tea tin"}
}

// history makes points that were each in force until the next began, the last
// until now.
func history(now time.Time, prices map[int]string) watch.History {
	var h watch.History
	for d := 0; d <= 400; d++ {
		p, ok := prices[d]
		if !ok {
			continue
		}
		if n := len(h.Points); n > 0 {
			h.Points[n-1].ConfirmedAt = day(d)
		}
		h.Points = append(h.Points, watch.Point{At: day(d), ConfirmedAt: now, Price: yen(p), Availability: shop.InStock})
	}
	return h
}

// base is a watch made on day 0 at ¥1,000.
func base(triggers ...watch.Trigger) watch.Watch {
	w := watch.Watch{ID: "w", UserID: "u", ListingID: "l", Basis: watch.BasisPrice, CreatedAt: day0, Triggers: triggers}
	return watch.New(w, seen(day0, "1000"))
}

func TestTriggers(t *testing.T) {
	target := watch.Trigger{Type: watch.TargetPrice, Target: yen("900")}
	anyDrop := watch.Trigger{Type: watch.PriceDrop, Percent: "0"}
	tenOff := watch.Trigger{Type: watch.PriceDrop, Percent: "10"}
	third := watch.Trigger{Type: watch.PriceDrop, Percent: "33.3"}
	lowest := watch.Trigger{Type: watch.LowestInDays, Days: 90}
	back := watch.Trigger{Type: watch.BackInStock}
	per100g := watch.Trigger{Type: watch.UnitPrice, Target: yen("90"), Unit: "100 g"}

	with := func(o watch.Observation, change func(*watch.Observation)) watch.Observation { change(&o); return o }
	soldOut := func(o *watch.Observation) { o.Availability = shop.OutOfStock }
	unknownStock := func(o *watch.Observation) { o.Availability = shop.Unknown }
	kilo := func(o *watch.Observation) { o.Quantity = shop.Quantity{Amount: "1000", Unit: "g"} }

	for _, tc := range []struct {
		name    string
		trigger watch.Trigger
		o       watch.Observation
		h       watch.History
		want    watch.Truth
	}{
		{"target: at the target", target, seen(day(1), "900"), watch.History{}, watch.Yes},
		{"target: a yen above", target, seen(day(1), "901"), watch.History{}, watch.No},
		{"target: stock unknown is no reason to be silent", target, with(seen(day(1), "900"), unknownStock), watch.History{}, watch.Yes},
		{"target: nobody can pay it when sold out", target, with(seen(day(1), "900"), soldOut), watch.History{}, watch.Unclear},
		{"target: no price", target, seen(day(1), ""), watch.History{}, watch.Unclear},
		{"target: zero is no price", target, seen(day(1), "0"), watch.History{}, watch.Unclear},
		{"target: another currency", target, with(seen(day(1), "1"), func(o *watch.Observation) { o.Price = money.MustParse("8", "USD") }), watch.History{}, watch.Unclear},

		{"drop: any", anyDrop, seen(day(1), "999"), watch.History{}, watch.Yes},
		{"drop: the reference itself is no drop", anyDrop, seen(day(1), "1000"), watch.History{}, watch.No},
		{"drop: a rise", anyDrop, seen(day(1), "1001"), watch.History{}, watch.No},
		{"drop: exactly ten percent", tenOff, seen(day(1), "900"), watch.History{}, watch.Yes},
		{"drop: one yen short of ten percent", tenOff, seen(day(1), "901"), watch.History{}, watch.No},
		{"drop: fractions are exact", third, seen(day(1), "667"), watch.History{}, watch.Yes},
		{"drop: fractions are not rounded up", third, seen(day(1), "668"), watch.History{}, watch.No},

		{"lowest: below 90 days", lowest, seen(day(60), "899"), history(day(60), map[int]string{0: "1000", 20: "900", 30: "1000"}), watch.Yes},
		{"lowest: equal is not lower", lowest, seen(day(60), "900"), history(day(60), map[int]string{0: "1000", 20: "900", 30: "1000"}), watch.No},
		{"lowest: what is older than the window does not count", lowest, seen(day(200), "950"), history(day(200), map[int]string{0: "800", 20: "1000"}), watch.Yes},
		{"lowest: a price still in force when the window opened counts", lowest, seen(day(100), "950"), history(day(100), map[int]string{0: "900", 20: "1000"}), watch.No},
		{"lowest: short history counts since the watch began", lowest, seen(day(3), "950"), history(day(3), map[int]string{0: "1000"}), watch.Yes},
		{"lowest: no history at all", lowest, seen(day(3), "950"), watch.History{}, watch.Unclear},

		{"unit: 1 kg at ¥900 is ¥90 per 100 g", per100g, with(seen(day(1), "900"), kilo), watch.History{}, watch.Yes},
		{"unit: above", per100g, with(seen(day(1), "901"), kilo), watch.History{}, watch.No},
		{"unit: unsure quantity", per100g, seen(day(1), "1"), watch.History{}, watch.Unclear},

		{"stock: here", back, seen(day(1), "1000"), watch.History{}, watch.Yes},
		{"stock: out", back, with(seen(day(1), "1000"), soldOut), watch.History{}, watch.No},
		{"stock: not known", back, with(seen(day(1), "1000"), unknownStock), watch.History{}, watch.Unclear},
		{"stock: sold out without a price", back, watch.SoldOut(day(1)), watch.History{}, watch.No},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := base(tc.trigger)
			tr, _ := w.Trigger(tc.trigger.Type)
			if d := watch.Decide(w, tr, tc.o, tc.h); d.Holds != tc.want {
				t.Errorf("holds %d, want %d (why %+v)", d.Holds, tc.want, d.Why)
			}
		})
	}
}

func TestFailureDecidesNothingButUnreadable(t *testing.T) {
	w := base(watch.Trigger{Type: watch.TargetPrice, Target: yen("900")}, watch.Trigger{Type: watch.PriceDrop, Percent: "0"},
		watch.Trigger{Type: watch.LowestInDays, Days: 90}, watch.Trigger{Type: watch.BackInStock})
	failing := func(now time.Time, gone bool) watch.Observation {
		return watch.Observation{At: now, Failure: &watch.Failure{Kind: shop.KindParse, Since: day(1), Gone: gone}}
	}
	for _, tr := range w.Triggers {
		d := watch.Decide(w, tr, failing(day(1).Add(23*time.Hour), false), watch.History{})
		if tr.Type == watch.Readable {
			if d.Holds != watch.No {
				t.Errorf("%s after 23 hours of failures: %d", tr.Type, d.Holds)
			}
		} else if d.Holds != watch.Unclear {
			t.Errorf("%s after 23 hours of failures: %d", tr.Type, d.Holds)
		}
	}
	unreadable, _ := w.Trigger(watch.Unreadable)
	if d := watch.Decide(w, unreadable, failing(day(2), false), watch.History{}); !d.Fires || !d.Why.FailingSince.Equal(day(1)) {
		t.Errorf("unreadable for a day: %+v", d)
	}
	if d := watch.Decide(w, unreadable, failing(day(1).Add(time.Hour), true), watch.History{}); !d.Fires {
		t.Errorf("gone is told at once: %+v", d)
	}
	if d := watch.Decide(w, unreadable, seen(day(2), "1000"), watch.History{}); d.Holds != watch.No {
		t.Errorf("read again: %+v", d)
	}
}

func TestBasis(t *testing.T) {
	o := seen(day(1), "1000")
	if a := o.Amount(watch.BasisTotal); a.Known() {
		t.Errorf("total without a known shipping: %s", a)
	}
	o.Shipping = yen("300")
	o.Points = yen("50")
	for basis, want := range map[watch.Basis]string{watch.BasisPrice: "1000", watch.BasisTotal: "1300", watch.BasisEffective: "1250"} {
		if a := o.Amount(basis); a.Number() != want {
			t.Errorf("%s: %s, want %s", basis, a, want)
		}
	}
	o.Points = money.Amount{}
	if a := o.Amount(watch.BasisEffective); a.Number() != "1300" {
		t.Errorf("effective without points: %s", a)
	}
}

// A story is a row of polls; after each, the alerts that fire are sent.
type poll struct {
	day   int
	price string
	out   bool
	fires bool
	note  string
}

func TestStories(t *testing.T) {
	for _, tc := range []struct {
		name    string
		trigger watch.Trigger
		polls   []poll
	}{
		{"a price that stays low alerts once, a weekly sale each week", watch.Trigger{Type: watch.PriceDrop, Percent: "10"}, []poll{
			{day: 1, price: "1000"},
			{day: 2, price: "880", fires: true},
			{day: 3, price: "880", note: "stays low"},
			{day: 4, price: "880"},
			{day: 5, price: "1000", note: "the reference rises again"},
			{day: 9, price: "880", fires: true},
		}},
		{"each new low under the target tells again", watch.Trigger{Type: watch.TargetPrice, Target: yen("900")}, []poll{
			{day: 1, price: "900", fires: true},
			{day: 2, price: "900"},
			{day: 3, price: "899", fires: true},
			{day: 4, price: "900", note: "up again, still under the target"},
			{day: 5, price: "899", note: "no lower than what was told"},
			{day: 6, price: "950", note: "seen not to hold"},
			{day: 7, price: "900", fires: true},
		}},
		{"a target already met tells at the first check", watch.Trigger{Type: watch.TargetPrice, Target: yen("2000")}, []poll{
			{day: 0, price: "1000", fires: true},
			{day: 1, price: "1000"},
		}},
		{"sold out does not re-arm a price", watch.Trigger{Type: watch.TargetPrice, Target: yen("900")}, []poll{
			{day: 1, price: "900", fires: true},
			{day: 2, price: "900", out: true},
			{day: 3, price: "", out: true},
			{day: 4, price: "900"},
		}},
		{"back in stock, each time, at whatever price", watch.Trigger{Type: watch.BackInStock}, []poll{
			{day: 0, price: "1000", note: "it was never out"},
			{day: 1, price: "1000"},
			{day: 2, price: "1000", out: true},
			{day: 3, price: "1000", fires: true, note: "at an unchanged price"},
			{day: 4, price: "900", note: "a lower price is no return"},
			{day: 5, price: "", out: true},
			{day: 6, price: "1200", fires: true},
		}},
		{"lowest tells each new low", watch.Trigger{Type: watch.LowestInDays, Days: 90}, []poll{
			{day: 1, price: "1000"},
			{day: 20, price: "990", fires: true},
			{day: 21, price: "990"},
			{day: 22, price: "980", fires: true},
			{day: 23, price: "1000"},
			{day: 24, price: "980", note: "equals the low"},
			{day: 25, price: "979", fires: true},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := base(tc.trigger)
			h := watch.History{Points: []watch.Point{watch.PointOf(seen(day0, "1000"))}}
			for _, p := range tc.polls {
				o := seen(day(p.day).Add(time.Hour), p.price)
				if p.out {
					o.Availability = shop.OutOfStock
				}
				change, fired := w.Observed(o, h)
				if (len(fired) > 0) != p.fires {
					t.Fatalf("day %d at %q: fired %v, want %t (%s)", p.day, p.price, fired, p.fires, p.note)
				}
				w = apply(w, change)
				for _, f := range fired {
					w = tell(w, w.Tell(f.Trigger.Type, o, h, o.At))
				}
				h = confirm(h, o)
			}
		})
	}
}

func TestOneEventIsToldOnce(t *testing.T) {
	w := base(watch.Trigger{Type: watch.TargetPrice, Target: yen("900")}, watch.Trigger{Type: watch.PriceDrop, Percent: "0"}, watch.Trigger{Type: watch.LowestInDays, Days: 90})
	h := history(day(20), map[int]string{0: "1000"})
	o := seen(day(20), "850")
	_, fired := w.Observed(o, h)
	if len(fired) != 3 {
		t.Fatalf("fired %v", fired)
	}
	w = tell(w, w.Tell(fired[0].Trigger.Type, o, h, o.At))
	for _, tr := range w.Triggers {
		if d := watch.Decide(w, tr, o, h); d.Fires {
			t.Errorf("%s fires though the shopper has been told of this price", tr.Type)
		}
	}
	if w.LastNotified == nil || !w.LastNotified.Price.Equal(yen("850")) || !w.Reference.Equal(yen("850")) {
		t.Errorf("last notified %+v, reference %s", w.LastNotified, w.Reference)
	}
}

func TestUnreadableIsToldOnceAndItsEndToo(t *testing.T) {
	w := base(watch.Trigger{Type: watch.TargetPrice, Target: yen("500")})
	failing := func(n int) watch.Observation {
		return watch.Observation{At: day(n), Failure: &watch.Failure{Kind: shop.KindNetwork, Since: day(1)}}
	}
	step := func(o watch.Observation, want watch.TriggerType) {
		t.Helper()
		change, fired := w.Observed(o, watch.History{})
		w = apply(w, change)
		var got watch.TriggerType
		for _, f := range fired {
			got = f.Trigger.Type
			w = tell(w, w.Tell(got, o, watch.History{}, o.At))
		}
		if got != want {
			t.Fatalf("at %s: told %q, want %q", o.At, got, want)
		}
	}
	step(failing(1), "")
	step(failing(2), watch.Unreadable)
	step(failing(3), "")
	step(failing(9), "")
	step(seen(day(10), "1000"), watch.Readable)
	step(seen(day(11), "1000"), "")
	if w.LastNotified != nil || !w.Reference.Equal(yen("1000")) {
		t.Errorf("an alert about no price moved last_notified %+v or the reference %s", w.LastNotified, w.Reference)
	}
}

// apply, tell and confirm do in memory what the store does in its transactions.
func apply(w watch.Watch, c watch.Change) watch.Watch {
	if c.Reference.Known() {
		w.Reference = c.Reference
	}
	return marks(w, c.Arm, nil)
}

func tell(w watch.Watch, told watch.Told) watch.Watch {
	if told.Notified != nil {
		w.LastNotified, w.Reference = told.Notified, told.Reference
	}
	w.Revision++
	return marks(w, told.Arm, told.Disarm)
}

func marks(w watch.Watch, arm, disarm []watch.TriggerType) watch.Watch {
	triggers := append([]watch.Trigger(nil), w.Triggers...)
	for i := range triggers {
		for _, a := range arm {
			triggers[i].Armed = triggers[i].Armed || triggers[i].Type == a
		}
		for _, d := range disarm {
			triggers[i].Armed = triggers[i].Armed && triggers[i].Type != d
		}
	}
	w.Triggers = triggers
	return w
}

func confirm(h watch.History, o watch.Observation) watch.History {
	points := append([]watch.Point(nil), h.Points...)
	if last := len(points) - 1; last >= 0 && points[last].Same(o) {
		points[last].ConfirmedAt = o.At
	} else {
		points = append(points, watch.PointOf(o))
	}
	return watch.History{Points: points}
}

func TestTheLowestClaimsNoTimeThatNobodyLookedAt(t *testing.T) {
	w := base(watch.Trigger{Type: watch.LowestInDays, Days: 90})
	for name, tc := range map[string]struct {
		now   time.Time
		first int
		want  time.Time
	}{
		"history of twenty days":  {day(20), 0, day(0)},
		"history of half a year":  {day(180), 0, day(90)},
		"what was before is gone": {day(180), 150, day(150)},
	} {
		h := history(tc.now, map[int]string{tc.first: "1000"})
		d := watch.Decide(w, w.Triggers[0], seen(tc.now, "900"), h)
		if d.Holds != watch.Yes || !d.Why.LowestSince.Equal(tc.want) {
			t.Errorf("%s: %v since %s, want since %s", name, d.Holds, d.Why.LowestSince, tc.want)
		}
	}
}
