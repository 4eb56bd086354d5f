package watch_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// Whatever the shop does, between two alerts of a price trigger the price was
// seen above the condition, or the second price is lower than the first.
func TestAPriceThatStaysIsToldOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trigger := rapid.SampledFrom([]watch.Trigger{
			{Type: watch.TargetPrice, Target: yen("900")},
			{Type: watch.PriceDrop, Percent: "0"},
			{Type: watch.PriceDrop, Percent: "10"},
		}).Draw(t, "trigger")
		w := base(trigger)
		h := watch.History{Points: []watch.Point{watch.PointOf(seen(day0, "1000"))}}
		var last watch.Observation // the one told last
		released := true           // seen not to hold since
		for n := range rapid.IntRange(1, 60).Draw(t, "polls") {
			at := day0.Add(time.Duration(n+1) * time.Hour)
			o := seen(at, rapid.SampledFrom([]string{"800", "850", "899", "900", "901", "1000", "1100", ""}).Draw(t, "price"))
			o.Availability = rapid.SampledFrom([]shop.Availability{shop.InStock, shop.InStock, shop.OutOfStock, shop.Unknown}).Draw(t, "stock")
			if rapid.IntRange(0, 5).Draw(t, "fails") == 0 {
				o = watch.Observation{At: at, Failure: &watch.Failure{Kind: shop.KindParse, Since: at}}
			}
			tr, _ := w.Trigger(trigger.Type)
			d := watch.Decide(w, tr, o, h)
			if d.Fires {
				if o.Failure != nil || !o.Price.Positive() || o.Availability == shop.OutOfStock {
					t.Fatalf("told of what cannot be bought: %+v", o)
				}
				if !released && !o.Price.Less(last.Price) {
					t.Fatalf("told twice: at %s and at %s", last.Price, o.Price)
				}
			}
			if d.Holds == watch.No {
				released = true
			}
			change, fired := w.Observed(o, h)
			w = apply(w, change)
			if change.Reference.Known() && change.Reference.Less(w.Reference) {
				t.Fatal("an observation lowered the reference")
			}
			for _, f := range fired {
				if f.Trigger.Type.Chosen() {
					w = tell(w, w.Tell(f.Trigger.Type, o, h, at))
					last, released = o, false
				}
			}
			if o.Failure == nil {
				h = confirm(h, o)
			}
		}
	})
}

// An alert that was due and not sent stays due: as long as nothing is told, the
// trigger fires whenever it holds.
func TestNothingIsLostWhileNothingIsSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := base(watch.Trigger{Type: watch.TargetPrice, Target: yen("900")})
		h := watch.History{}
		for n := range rapid.IntRange(1, 30).Draw(t, "polls") {
			o := seen(day0.Add(time.Duration(n)*time.Hour), rapid.SampledFrom([]string{"899", "900", "901", "2000"}).Draw(t, "price"))
			tr, _ := w.Trigger(watch.TargetPrice)
			if d := watch.Decide(w, tr, o, h); d.Fires != o.Price.AtMost(yen("900")) {
				t.Fatalf("at %s: fires %t", o.Price, d.Fires)
			}
			change, _ := w.Observed(o, h)
			w, h = apply(w, change), confirm(h, o)
		}
	})
}

func TestAPausedOrRemovedWatchIsLeftAlone(t *testing.T) {
	for _, w := range []watch.Watch{{Paused: true}, {Removed: true}} {
		full := base(watch.Trigger{Type: watch.TargetPrice, Target: yen("900")})
		full.Paused, full.Removed = w.Paused, w.Removed
		if change, fired := full.Observed(seen(day(1), "100"), watch.History{}); len(fired) > 0 || !change.Empty() {
			t.Errorf("paused %t removed %t: %v %v", w.Paused, w.Removed, change, fired)
		}
	}
}
