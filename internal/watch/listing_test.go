package watch_test

import (
	"testing"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

var hourly = watch.Schedule{Interval: time.Hour, Max: 24 * time.Hour}

func known(price string) watch.Listing {
	return watch.Listing{ID: "l", Name: "Tea tin"}.Read(seen(day0, price), hourly, 0.5)
}

func TestQuarantine(t *testing.T) {
	long := history(day(30), map[int]string{0: "1000", 10: "1500", 11: "1000"}) // median 1000
	euro := func(o watch.Observation) watch.Observation { o.Price = money.MustParse("6", "EUR"); return o }
	named := func(o watch.Observation, name string) watch.Observation { o.Name = name; return o }
	for _, tc := range []struct {
		name string
		l    watch.Listing
		o    watch.Observation
		h    watch.History
		want watch.Suspicion
	}{
		{"an ordinary fall", known("1000"), seen(day(30), "400"), long, ""},
		{"under 40 % of the 90-day median", known("1000"), seen(day(30), "399"), long, watch.TooGood},
		{"a slow slide is judged by the median", known("700"), seen(day(30), "399"), long, watch.TooGood},
		{"short history: under 40 % of the last price", known("700"), seen(day(2), "279"), history(day(2), map[int]string{0: "1000"}), watch.TooGood},
		{"short history: 40 % of the last price", known("700"), seen(day(2), "280"), history(day(2), map[int]string{0: "1000"}), ""},
		{"what is believed already is not doubted again", known("300"), seen(day(30), "300"), long, ""},
		{"a rise is no temptation", known("1000"), seen(day(30), "9000"), long, ""},
		{"another currency", known("1000"), euro(seen(day(30), "")), long, watch.NewCurrency},
		{"another product", known("1000"), named(seen(day(30), "990"), "Garden hose 20 m"), long, watch.OtherProduct},
		{"an edited title", known("1000"), named(seen(day(30), "990"), "SALE! Tea Tin, large"), long, ""},
		{"no name says nothing", known("1000"), named(seen(day(30), "990"), ""), long, ""},
		{"the first observation has nothing to be measured by", watch.Listing{ID: "l"}, seen(day(30), "1"), watch.History{}, ""},
		{"sold out without a price", known("1000"), watch.SoldOut(day(30)), long, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			suspect, believed := watch.Judge(tc.l, tc.o, tc.h)
			if believed != (tc.want == "") || suspect.Why != tc.want {
				t.Errorf("believed %t, suspicion %q; want %q", believed, suspect.Why, tc.want)
			}
		})
	}
}

func TestASecondLaterObservationFreesFromQuarantine(t *testing.T) {
	h := history(day(30), map[int]string{0: "1000"})
	odd := seen(day(30), "300")
	suspect, _ := watch.Judge(known("1000"), odd, h)
	l := known("1000").Quarantine(suspect, hourly, 0.5)
	if !l.Last.Price.Equal(yen("1000")) || l.Problem.Kind != string(watch.TooGood) {
		t.Fatalf("in quarantine the last price stays: %+v", l)
	}
	if l.NextCheckAt.Sub(day(30)) > 11*time.Minute {
		t.Errorf("the second look waits until %s", l.NextCheckAt)
	}
	if _, believed := watch.Judge(l, odd, h); believed {
		t.Error("the same observation counted twice")
	}
	if _, believed := watch.Judge(l, seen(day(30).Add(time.Minute), "150"), h); believed {
		t.Error("two odd prices that disagree were believed")
	}
	if _, believed := watch.Judge(l, seen(day(30).Add(time.Minute), "310"), h); !believed {
		t.Error("a second, later observation that agrees was not believed")
	}
}

func TestAFailureNeverTouchesTheLastPrice(t *testing.T) {
	l := known("1000")
	now := day0
	var waits []time.Duration
	for range 8 {
		now = l.NextCheckAt
		l = l.Failed(&shop.Error{Kind: shop.KindServer, Message: "down"}, now, hourly, 0.5)
		waits = append(waits, l.NextCheckAt.Sub(now))
	}
	if !l.Last.Price.Equal(yen("1000")) || !l.CheckedAt.Equal(day0) {
		t.Errorf("after failures the last price is %s of %s", l.Last.Price, l.CheckedAt)
	}
	for i, want := range []int{1, 2, 4, 8, 16, 24, 24, 24} {
		if waits[i] != time.Duration(want)*time.Hour {
			t.Errorf("wait %d is %s, want %d h", i, waits[i], want)
		}
	}
	if since := day0.Add(time.Hour); !l.Problem.Since.Equal(since) {
		t.Errorf("failing since %s, want %s", l.Problem.Since, since)
	}
	if l = l.Read(seen(now, "1000"), hourly, 0.5); l.Problem != nil || l.Failures != 0 {
		t.Errorf("read again: %+v", l)
	}
}

func TestAShopThatAsksForTimeGetsIt(t *testing.T) {
	l := known("1000").Failed(&shop.Error{Kind: shop.KindRateLimited, RetryAfter: 5 * time.Hour}, day(1), hourly, 0)
	if l.NextCheckAt.Before(day(1).Add(5 * time.Hour)) {
		t.Errorf("due again at %s", l.NextCheckAt)
	}
	if !l.RestingUntil.Equal(day(1).Add(5 * time.Hour)) {
		t.Errorf("left alone until %s", l.RestingUntil)
	}
	if l = l.Failed(&shop.Error{Kind: shop.KindNetwork}, day(2), hourly, 0); !l.RestingUntil.IsZero() {
		t.Errorf("nobody asked for peace: %s", l.RestingUntil)
	}
}

func TestGoneIsBelievedAfterThreeAnswersInARow(t *testing.T) {
	gone := &shop.Error{Kind: shop.KindEmpty, Message: "gone"}
	wall := &shop.Error{Kind: shop.KindBlocked, Message: "wall"}
	l := known("1000")
	for i, e := range []*shop.Error{gone, gone, wall, gone, gone} {
		if l = l.Failed(e, day(i+1), hourly, 0.5); l.Paused {
			t.Fatalf("paused after answer %d", i+1)
		}
	}
	l = l.Failed(gone, day(9), hourly, 0.5)
	if !l.Paused || l.Problem.Kind != watch.ProblemGone {
		t.Errorf("after three in a row: paused %t, problem %+v", l.Paused, l.Problem)
	}
	if l = l.Resume(day(10)); l.Paused || l.NextCheckAt.After(day(10)) {
		t.Errorf("resumed: %+v", l)
	}
}

func TestSoldOutWithoutAPriceKeepsThePrice(t *testing.T) {
	l := known("1000").Read(watch.SoldOut(day(1)), hourly, 0.5)
	if l.Last.Availability != shop.OutOfStock || !l.Last.Price.Equal(yen("1000")) || l.Name != "Tea tin" || l.Problem != nil {
		t.Errorf("%+v", l)
	}
}

func TestDueTimesSpread(t *testing.T) {
	early := watch.Listing{}.Read(seen(day0, "1"), hourly, 0).NextCheckAt
	late := watch.Listing{}.Read(seen(day0, "1"), hourly, 0.999).NextCheckAt
	if early.Sub(day0) != 54*time.Minute || late.Sub(day0) < 65*time.Minute || late.Sub(day0) > 66*time.Minute {
		t.Errorf("an hour became %s to %s", early.Sub(day0), late.Sub(day0))
	}
	always := watch.Schedule{Max: 24 * time.Hour}
	if at := (watch.Listing{}).Failed(&shop.Error{Kind: shop.KindServer}, day0, always, 0.5).NextCheckAt; at.After(day0) {
		t.Errorf("an interval of 0 is due at every pass, not at %s", at)
	}
}

func TestMedianIsWeightedByTime(t *testing.T) {
	h := history(day(100), map[int]string{0: "500", 60: "1000", 99: "100"})
	if m := h.Median("JPY", watch.MedianWindow, day(100)); !m.Equal(yen("500")) {
		t.Errorf("median %s: 500 was in force for 50 of 90 days", m)
	}
	if m := h.Median("EUR", watch.MedianWindow, day(100)); m.Known() {
		t.Errorf("median in a currency that was never seen: %s", m)
	}
}
