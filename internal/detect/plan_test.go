package detect_test

import (
	"testing"
	"time"

	"github.com/sokone/sokone/internal/detect"
	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

var (
	start = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	half  = watch.Schedule{Interval: 30 * time.Minute, Max: 24 * time.Hour}
)

func yen(n string) money.Amount { return money.MustParse(n, "JPY") }

func quote(price string) shop.Quote {
	return shop.Quote{Name: "Tea tin", Price: yen(price), Availability: shop.InStock}
}

// polled is a listing read at ¥1,000 and watched twice: for any drop, and for ¥900.
func polled() watch.Poll {
	o := watch.Observe(quote("1000"))
	o.At = start
	mk := func(id string, t watch.Trigger) watch.Watch {
		return watch.New(watch.Watch{ID: id, UserID: "u" + id, ListingID: "l", Basis: watch.BasisPrice, CreatedAt: start, Triggers: []watch.Trigger{t}}, o)
	}
	return watch.Poll{
		Listing: watch.Listing{ID: "l", Name: "Tea tin"}.Read(o, half, 0.5),
		Watches: []watch.Watch{mk("a", watch.Trigger{Type: watch.PriceDrop, Percent: "0"}), mk("b", watch.Trigger{Type: watch.TargetPrice, Target: yen("900")})},
		History: watch.History{Points: []watch.Point{watch.PointOf(o)}},
	}
}

func TestOnePollDecidesForAllWatches(t *testing.T) {
	now := start.Add(time.Hour)
	plan := detect.Decide(polled(), quote("950"), nil, now, half, 0.5)
	d := plan.Detection
	if plan.Failed != nil || plan.Quarantined || len(d.Entries) != 1 || d.Entries[0].WatchID != "a" || d.Entries[0].Trigger != watch.PriceDrop {
		t.Fatalf("%+v", plan)
	}
	if d.Observed == nil || !d.Observed.Price.Equal(yen("950")) || !d.Observed.At.Equal(now) {
		t.Errorf("observed %+v", d.Observed)
	}
	if !d.Listing.Last.Price.Equal(yen("950")) || !d.Listing.NextCheckAt.Equal(now.Add(30*time.Minute)) {
		t.Errorf("listing %+v", d.Listing)
	}
	if e := d.Entries[0]; !e.DetectedAt.Equal(now) || !e.Snapshot.Reference.Equal(yen("1000")) || !e.Snapshot.Price.Equal(yen("950")) {
		t.Errorf("entry %+v", e)
	}
	if plan = detect.Decide(polled(), quote("890"), nil, now, half, 0.5); len(plan.Detection.Entries) != 2 {
		t.Errorf("at 890 %d entries", len(plan.Detection.Entries))
	}
}

func TestAHigherPriceRaisesTheReference(t *testing.T) {
	d := detect.Decide(polled(), quote("1200"), nil, start.Add(time.Hour), half, 0.5).Detection
	if len(d.Entries) != 0 || len(d.Changes) != 2 || !d.Changes[0].Reference.Equal(yen("1200")) {
		t.Errorf("%+v", d)
	}
}

func TestEveryKindOfErrorIsVisibleAndChangesNothingElse(t *testing.T) {
	for _, kind := range []shop.Kind{shop.KindEmpty, shop.KindBlocked, shop.KindParse, shop.KindRateLimited, shop.KindNetwork, shop.KindServer, shop.KindAuth, shop.KindRefused} {
		now := start.Add(time.Hour)
		plan := detect.Decide(polled(), shop.Quote{}, &shop.Error{Kind: kind, Message: "m"}, now, half, 0.5)
		l := plan.Detection.Listing
		if plan.Failed == nil || l.Problem == nil || l.Problem.Kind != string(kind) || l.Problem.Message != "m" || !l.Problem.Since.Equal(now) {
			t.Errorf("%s: %+v", kind, l.Problem)
		}
		if !l.Last.Price.Equal(yen("1000")) || plan.Detection.Observed != nil || len(plan.Detection.Entries) != 0 {
			t.Errorf("%s changed more than the listing's problem: %+v", kind, plan.Detection)
		}
	}
}

func TestADayOfFailuresIsTold(t *testing.T) {
	p := polled()
	now := start
	for range 30 {
		now = now.Add(time.Hour)
		plan := detect.Decide(p, shop.Quote{}, &shop.Error{Kind: shop.KindBlocked, Message: "wall"}, now, half, 0.5)
		p.Listing = plan.Detection.Listing
		failing := now.Sub(start.Add(time.Hour))
		if (len(plan.Detection.Entries) == 2) != (failing >= 24*time.Hour) {
			t.Fatalf("after %s of failures: %d entries", failing, len(plan.Detection.Entries))
		}
		for _, e := range plan.Detection.Entries {
			if e.Trigger != watch.Unreadable || !e.Snapshot.FailingSince.Equal(start.Add(time.Hour)) {
				t.Errorf("%+v", e)
			}
		}
	}
}

func TestThirdGonePausesAndTells(t *testing.T) {
	p := polled()
	for i := range 3 {
		plan := detect.Decide(p, shop.Quote{}, &shop.Error{Kind: shop.KindEmpty, Message: "gone"}, start.Add(time.Duration(i+1)*time.Hour), half, 0.5)
		p.Listing = plan.Detection.Listing
		if p.Listing.Paused != (i == 2) || (len(plan.Detection.Entries) == 2) != (i == 2) {
			t.Fatalf("answer %d: paused %t, %d entries", i+1, p.Listing.Paused, len(plan.Detection.Entries))
		}
	}
}

func TestSoldOutWithoutAPriceIsAnObservation(t *testing.T) {
	plan := detect.Decide(polled(), shop.Quote{}, &shop.Error{Kind: shop.KindEmpty, SoldOut: true}, start.Add(time.Hour), half, 0.5)
	d := plan.Detection
	if plan.Failed != nil || d.Listing.Problem != nil || d.Listing.Last.Availability != shop.OutOfStock || !d.Listing.Last.Price.Equal(yen("1000")) {
		t.Errorf("%+v", d.Listing)
	}
	if d.Observed == nil || d.Observed.Price.Known() || d.Observed.Availability != shop.OutOfStock {
		t.Errorf("%+v", d.Observed)
	}
}

func TestAPriceTooGoodToBeTrueNeedsASecondLook(t *testing.T) {
	p := polled()
	first := detect.Decide(p, quote("300"), nil, start.Add(time.Hour), half, 0.5)
	if !first.Quarantined || len(first.Detection.Entries) != 0 || first.Detection.Observed != nil || !first.Detection.Listing.Last.Price.Equal(yen("1000")) {
		t.Fatalf("%+v", first)
	}
	p.Listing = first.Detection.Listing
	second := detect.Decide(p, quote("300"), nil, start.Add(2*time.Hour), half, 0.5)
	if second.Quarantined || len(second.Detection.Entries) != 2 || second.Detection.Observed == nil {
		t.Errorf("%+v", second)
	}
	back := detect.Decide(p, quote("1000"), nil, start.Add(2*time.Hour), half, 0.5)
	if back.Quarantined || back.Detection.Listing.Suspect != nil || len(back.Detection.Entries) != 0 {
		t.Errorf("%+v", back)
	}
}

func TestZeroIsNoObservation(t *testing.T) {
	for _, price := range []string{"0", "-5", "0.4"} {
		plan := detect.Decide(polled(), quote(price), nil, start.Add(time.Hour), half, 0.5)
		if plan.Failed == nil || plan.Failed.Kind != shop.KindParse || len(plan.Detection.Entries) != 0 {
			t.Errorf("%s: %+v", price, plan)
		}
	}
}
