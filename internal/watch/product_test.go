package watch_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

func named(o watch.Observation, name string) watch.Observation {
	o.Name = name
	return o
}

func TestAnotherProductIsNeverCompared(t *testing.T) {
	w := base(watch.Trigger{Type: watch.TargetPrice, Target: yen("900")}, watch.Trigger{Type: watch.BackInStock})
	w.Product = "Tea tin"
	kettle := named(seen(day(3), "1"), "Electric kettle 1.2 l")
	kettle.Since = day(2)
	change, fired := w.Observed(kettle, watch.History{})
	if change.Reference.Known() || len(fired) != 1 || fired[0].Trigger.Type != watch.Unreadable || fired[0].Why.FailureKind != shop.Kind(watch.OtherProduct) || !fired[0].Why.FailingSince.Equal(day(2)) {
		t.Errorf("after a day its owner is told, and of no price: %+v %+v", change, fired)
	}
	kettle.Since = day(3).Add(-time.Hour)
	if _, fired := w.Observed(kettle, watch.History{}); len(fired) != 0 {
		t.Errorf("told before a day was over: %+v", fired)
	}
	dear := named(seen(day(3), "99999"), "Electric kettle 1.2 l")
	if change, _ := w.Observed(dear, watch.History{}); change.Reference.Known() {
		t.Errorf("its price raised the reference: %+v", change)
	}
	if _, fired := w.Observed(seen(day(4), "800"), watch.History{}); len(fired) != 1 || fired[0].Trigger.Type != watch.TargetPrice {
		t.Errorf("the product that was watched is back: %+v", fired)
	}
}

func TestAcceptBeginsAnew(t *testing.T) {
	w := base(watch.Trigger{Type: watch.PriceDrop, Percent: "0"})
	w.Triggers[0].Armed = false
	l := watch.Listing{Name: "Electric kettle", Last: named(seen(day(3), "5000"), "Electric kettle")}
	if same, err := w.Accept(watch.Listing{Last: seen(day(3), "700")}); err != nil || !same.Reference.Equal(yen("1000")) {
		t.Errorf("nothing to accept: %+v %v", same, err)
	}
	w.Product = "Tea tin"
	got, err := w.Accept(l)
	if err != nil || got.Product != "" || !got.Reference.Equal(yen("5000")) || !got.Triggers[0].Armed {
		t.Errorf("%+v %v", got, err)
	}
	if _, fired := got.Observed(named(seen(day(4), "4900"), "Electric kettle"), watch.History{}); len(fired) != 1 {
		t.Errorf("a drop of what was accepted: %+v", fired)
	}
	target := base(watch.Trigger{Type: watch.TargetPrice, Target: yen("900")})
	dollars := watch.Listing{Last: watch.Observation{At: day(3), Price: money.MustParse("9", "USD"), Name: "Tea tin"}}
	if _, err := target.Accept(dollars); !errors.Is(err, watch.ErrOtherCurrency) {
		t.Errorf("a target of ¥900 was kept for a price in dollars: %v", err)
	}
	drop, err := base(watch.Trigger{Type: watch.PriceDrop, Percent: "0"}).Accept(dollars)
	if err != nil || drop.Currency != "USD" || drop.Reference.String() != "9 USD" {
		t.Errorf("%+v %v", drop, err)
	}
}

func TestTheOwnersWordOnTheContentCounts(t *testing.T) {
	per100g := watch.Trigger{Type: watch.UnitPrice, Target: yen("90"), Unit: "100 g"}
	w := base(per100g)
	o := seen(day(1), "1000")
	o.Quantity = shop.Quantity{Amount: "1000", Unit: "g"}
	if d := watch.Decide(w, w.Triggers[0], o, watch.History{}); d.Holds != watch.No {
		t.Errorf("¥100 for 100 g: %+v", d)
	}
	w.Quantity = shop.Quantity{Amount: "1250", Unit: "g"}
	if d := watch.Decide(w, w.Triggers[0], o, watch.History{}); d.Holds != watch.Yes || d.Why.UnitPrice.Number() != "80" {
		t.Errorf("¥80 for 100 g: %+v", d)
	}
}

func TestPace(t *testing.T) {
	s := watch.Schedule{Interval: 30 * time.Minute, Fastest: 10 * time.Minute, Slowest: 2 * time.Hour}
	now := day(100)
	changing := func(span, every time.Duration) (h watch.History) {
		for at := now.Add(-span); at.Before(now); at = at.Add(every) {
			h.Points = append(h.Points, watch.Point{At: at, ConfirmedAt: at, Price: yen("1000")})
		}
		return h
	}
	const d = 24 * time.Hour
	for _, tc := range []struct {
		name string
		h    watch.History
		want time.Duration
	}{
		{"nothing known", watch.History{}, 30 * time.Minute},
		{"too new to judge", changing(13*d, 13*d), 30 * time.Minute},
		{"never moved in three weeks", changing(21*d, 21*d), 2 * time.Hour},
		{"moved long ago only", changing(90*d, 50*d), 2 * time.Hour},
		{"every four days", changing(60*d, 4*d), 30 * d / 7 / 100},
		{"twice a day", changing(60*d, d/2), 10 * time.Minute},
	} {
		if got := s.Pace(tc.h, now); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	if got := (watch.Schedule{}).Pace(changing(60*d, d), now); got != 0 {
		t.Errorf("an interval of nothing stays nothing: %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		h := changing(time.Duration(rapid.IntRange(15, 400).Draw(t, "days"))*d, time.Duration(rapid.IntRange(1, 2000).Draw(t, "hours"))*time.Hour)
		if p := s.Pace(h, now); p < s.Fastest || p > s.Slowest {
			t.Fatalf("out of bounds: %s", p)
		}
	})
}
