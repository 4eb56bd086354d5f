package outbox_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

var now = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

func yen(n string) money.Amount { return money.MustParse(n, "JPY") }

func TestTransitions(t *testing.T) {
	allowed := map[outbox.Status]string{
		outbox.Pending: "sending retry dropped failed",
		outbox.Sending: "retry sent dropped failed",
		outbox.Retry:   "sending retry sent dropped failed",
		outbox.Sent:    "",
		outbox.Dropped: "",
		outbox.Failed:  "",
	}
	for _, from := range outbox.Statuses() {
		if from.Final() != (allowed[from] == "") {
			t.Errorf("%s: final is %t", from, from.Final())
		}
		for _, to := range outbox.Statuses() {
			want := slices.Contains(strings.Fields(allowed[from]), string(to))
			if err := outbox.Transition(from, to); (err == nil) != want {
				t.Errorf("%s to %s: %v", from, to, err)
			}
		}
	}
	if outbox.Transition("", outbox.Pending) == nil || outbox.Transition("nonsense", outbox.Sent) == nil {
		t.Error("a transition from no state")
	}
}

func TestBackoff(t *testing.T) {
	for n, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
		if got := outbox.Backoff(n, 0); got != want {
			t.Errorf("after %d failures: %s, want %s", n, got, want)
		}
	}
	for _, tc := range []struct {
		n          int
		retryAfter time.Duration
		want       time.Duration
	}{
		{0, 10 * time.Second, 30 * time.Second},
		{0, time.Hour, time.Hour},
		{0, 10 * 365 * 24 * time.Hour, outbox.Lifetime},
		{0, -time.Hour, 30 * time.Second},
		{1000, 0, 30 * time.Minute},
		{-1, 0, 30 * time.Second},
	} {
		if got := outbox.Backoff(tc.n, tc.retryAfter); got != tc.want {
			t.Errorf("Backoff(%d, %s) = %s, want %s", tc.n, tc.retryAfter, got, tc.want)
		}
	}
}

func job(change func(*outbox.Job)) outbox.Job {
	j := outbox.Job{
		Entry: outbox.Entry{Trigger: watch.TargetPrice, Status: outbox.Pending, DetectedAt: now},
		Watch: watch.Watch{ID: "w"},
		Owed:  []outbox.Subscription{{ID: "a"}},
	}
	change(&j)
	return j
}

func TestGuards(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*outbox.Job)
		at     time.Time
		want   outbox.Reason
	}{
		{"nothing in the way", func(*outbox.Job) {}, now, ""},
		{"row gone", func(j *outbox.Job) { j.Watch = watch.Watch{} }, now, outbox.WatchRemoved},
		{"removed", func(j *outbox.Job) { j.Watch.Removed = true }, now, outbox.WatchRemoved},
		{"paused", func(j *outbox.Job) { j.Watch.Paused = true }, now, outbox.WatchPaused},
		{"listing paused", func(j *outbox.Job) { j.Listing.Paused = true }, now, outbox.ListingPaused},
		{"that it is gone may still be told", func(j *outbox.Job) { j.Listing.Paused, j.Entry.Trigger = true, watch.Unreadable }, now, ""},
		{"nobody subscribed", func(j *outbox.Job) { j.Owed = nil }, now, outbox.NoSubscription},
		{"a second before its end", func(*outbox.Job) {}, now.Add(outbox.Lifetime - time.Second), ""},
		{"expired", func(*outbox.Job) {}, now.Add(outbox.Lifetime), outbox.Expired},
	} {
		if got := outbox.Guard(job(tc.change), tc.at); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestEndingOfDeliveries(t *testing.T) {
	const maxRetry = 8
	d := func(outcomes ...outbox.Outcome) (ds []outbox.Delivery) {
		for _, o := range outcomes {
			ds = append(ds, outbox.Delivery{Outcome: o})
		}
		return ds
	}
	for _, tc := range []struct {
		name     string
		failures int // before
		accepted int // before
		ds       []outbox.Delivery
		to       outbox.Status
		reason   outbox.Reason
	}{
		{"accepted", 0, 0, d(outbox.Accepted), outbox.Sent, ""},
		{"one of two is gone", 0, 0, d(outbox.Gone, outbox.Accepted), outbox.Sent, ""},
		{"one of two is refused", 0, 0, d(outbox.Refused, outbox.Accepted), outbox.Sent, ""},
		{"all gone", 0, 0, d(outbox.Gone, outbox.Gone), outbox.Dropped, outbox.SubscriptionGone},
		{"refused", 0, 0, d(outbox.Refused), outbox.Failed, outbox.Rejected},
		{"gone and refused", 0, 0, d(outbox.Gone, outbox.Refused), outbox.Failed, outbox.Rejected},
		{"one is still owed", 0, 0, d(outbox.Accepted, outbox.Server), outbox.Retry, "push_server"},
		{"no answer", 3, 0, d(outbox.Network), outbox.Retry, "push_network"},
		{"told to wait", 0, 0, d(outbox.RateLimited), outbox.Retry, "push_rate_limited"},
		{"our key is refused", 0, 0, d(outbox.Auth), outbox.Retry, "push_auth"},
		{"the last attempt", 7, 0, d(outbox.Server), outbox.Failed, outbox.MaxRetry},
		{"the last attempt, but one device has it", 7, 1, d(outbox.Server), outbox.Sent, ""},
		{"the last attempt, and one device takes it", 7, 0, d(outbox.Server, outbox.Accepted), outbox.Sent, ""},
		{"one had it before, the other is gone now", 1, 1, d(outbox.Gone), outbox.Sent, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			j := job(func(j *outbox.Job) { j.Entry.RetryCount, j.Accepted = tc.failures, tc.accepted })
			e := outbox.Delivered(j, tc.ds, maxRetry, now)
			if e.To != tc.to || e.Reason != tc.reason {
				t.Errorf("%s %q, want %s %q", e.To, e.Reason, tc.to, tc.reason)
			}
			if e.To == outbox.Retry && (e.RetryCount != tc.failures+1 || !e.Retry.NextAttemptAt.Equal(now.Add(outbox.Backoff(tc.failures, 0)))) {
				t.Errorf("retry %d at %s", e.RetryCount, e.Retry.NextAttemptAt)
			}
		})
	}
}

func TestRetryAfterOfTheSlowestCounts(t *testing.T) {
	ds := []outbox.Delivery{{Outcome: outbox.RateLimited, RetryAfter: time.Hour}, {Outcome: outbox.Server}}
	e := outbox.Delivered(job(func(*outbox.Job) {}), ds, 8, now)
	if !e.Retry.NextAttemptAt.Equal(now.Add(time.Hour)) {
		t.Errorf("next attempt at %s", e.Retry.NextAttemptAt)
	}
}

func TestWhatOneDeviceHasIsNotCalledWithheld(t *testing.T) {
	if e := outbox.Withhold(job(func(*outbox.Job) {}), outbox.ConditionLost); e.To != outbox.Dropped || e.Reason != outbox.ConditionLost {
		t.Errorf("nobody has it: %+v", e)
	}
	if e := outbox.Withhold(job(func(j *outbox.Job) { j.Accepted = 1 }), outbox.ConditionLost); e.To != outbox.Sent {
		t.Errorf("one device has it: %+v", e)
	}
}

func entry(t *testing.T) outbox.Entry {
	t.Helper()
	o := watch.Observation{At: now, Price: yen("850"), Availability: shop.InStock, Name: "Tea tin", Quantity: shop.Quantity{Amount: "100", Unit: "g"}}
	w := watch.New(watch.Watch{ID: "w", UserID: "u", ListingID: "l", Basis: watch.BasisPrice, CreatedAt: now.Add(-time.Hour),
		Triggers: []watch.Trigger{{Type: watch.PriceDrop, Percent: "10"}}}, watch.Observation{Price: yen("1000")})
	_, fired := w.Observed(o, watch.History{})
	if len(fired) != 1 {
		t.Fatalf("fired %v", fired)
	}
	return outbox.NewEntry(w, fired[0], o)
}

func TestSnapshotRoundTripsAndIgnoresTheRetrySchedule(t *testing.T) {
	e := entry(t)
	data, err := json.Marshal(e.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	data = append(data[:len(data)-1], `,"_retry":{"nextAttemptAt":"2026-10-01T09:00:30Z","attempts":1},"of_tomorrow":1}`...)
	back, err := outbox.ParseSnapshot(data)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(back); err != nil || !strings.HasPrefix(string(data), string(again[:len(again)-1])) {
		t.Errorf("%s came back as %s, %v", data, again, err)
	}
}

func TestSnapshotOfTheFirstSchemaStaysReadable(t *testing.T) {
	const first = `{"schema":1,"trigger":{"type":"price_drop","target":null,"percent":"10"},"basis":"price","currency":"JPY",
		"reference":{"amount":"1000","currency":"JPY"},"watch_created_at":"2026-10-01T08:00:00Z","observed_at":"2026-10-01T09:00:00Z",
		"price":{"amount":"850","currency":"JPY"},"shipping":null,"points":null,"availability":"in_stock","name":"Tea tin",
		"why":{"price":{"amount":"850","currency":"JPY"},"reference":{"amount":"1000","currency":"JPY"},"percent":"10"}}`
	s, err := outbox.ParseSnapshot([]byte(first))
	if err != nil {
		t.Fatal(err)
	}
	if s.Trigger.Type != watch.PriceDrop || !s.Price.Equal(yen("850")) || !s.Reference.Equal(yen("1000")) || !s.Why.Price.Equal(yen("850")) || !s.ObservedAt.Equal(now) {
		t.Errorf("%+v", s)
	}
}

func TestSnapshotRefusesWhatItCannotKnow(t *testing.T) {
	for _, text := range []string{``, `{}`, `{"schema":0}`, `{"schema":2}`, `{"schema":1,"price":"850"}`, `[]`} {
		if s, err := outbox.ParseSnapshot([]byte(text)); err == nil {
			t.Errorf("%s was read as %+v", text, s)
		}
	}
}

func TestTrueNowIsMeasuredFromWhatWasDetected(t *testing.T) {
	s := entry(t).Snapshot
	for price, want := range map[string]watch.Truth{"850": watch.Yes, "900": watch.Yes, "901": watch.No} {
		o := watch.Observation{At: now.Add(time.Hour), Price: yen(price), Availability: shop.InStock}
		if got := s.Holds(o, watch.History{}); got != want {
			t.Errorf("at %s: %d, want %d", price, got, want)
		}
	}
}

func TestEventIDsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := outbox.NewEventID()
		if seen[id] || len(id) != 26 {
			t.Fatalf("event id %q", id)
		}
		seen[id] = true
	}
}
