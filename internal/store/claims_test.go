package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/watch"
)

// beginning starts the send of a claimed entry, as dispatch does.
func beginning(s *Store, j outbox.Job, owner string, now time.Time) error {
	return s.BeginSend(ctx, outbox.SendStart{EntryID: j.Entry.ID, Owner: owner, From: j.Entry.Status, RetryCount: j.Entry.RetryCount,
		WatchID: j.Watch.ID, WatchRevision: j.Watch.Revision, LeaseUntil: now.Add(time.Minute), Checked: outbox.Checked{At: now, Price: yen(850)}})
}

// later settles a claimed entry as one to be tried again.
func later(s *Store, j outbox.Job, owner string, from outbox.Status, next time.Time, deliveries ...outbox.Delivery) error {
	return s.Settle(ctx, outbox.Settlement{EntryID: j.Entry.ID, Owner: owner, From: from, To: outbox.Retry, Reason: outbox.Refetch("network"), RetryCount: j.Entry.RetryCount + 1,
		Retry: outbox.Schedule{NextAttemptAt: next, LastError: "no answer", Attempts: j.Entry.RetryCount + 1}, Deliveries: deliveries})
}

// entry finds one of a user's entries as it stands.
func entry(tb testing.TB, s *Store, user, eventID string) outbox.Entry {
	tb.Helper()
	j, err := s.Alert(ctx, user, eventID)
	must(tb, err)
	return j.Entry
}

// One file, two processes, eight dispatchers: each entry is sent once, and the
// entries of one watch never by two at the same time.
func TestManyDispatchersSendEachEntryOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stores := []*Store{open(t, dir), open(t, dir)}
	shopper(t, stores[0], "u")
	const items = 40
	for i := range items {
		detected(t, stores[0], watching(t, stores[0], "u", fmt.Sprint("item", i)), 850, noon)
	}
	var mu sync.Mutex
	times, holder := map[string]int{}, map[string]string{}
	hold := func(j outbox.Job, owner string) {
		mu.Lock()
		defer mu.Unlock()
		if other := holder[j.Watch.ID]; other != "" && other != owner {
			t.Errorf("watch %s is worked on by %s and %s", j.Watch.ID, other, owner)
		}
		holder[j.Watch.ID] = owner
		times[j.Entry.EventID]++
	}
	var all sync.WaitGroup
	for i := range 8 {
		s := stores[i%2]
		all.Go(func() {
			for n := 0; ; n++ {
				owner := fmt.Sprint("owner", i, "-", n)
				jobs, err := s.Claim(ctx, outbox.ClaimRequest{Owner: owner, Now: noon, LeaseUntil: noon.Add(time.Minute), Limit: 7, MaxRetry: 8})
				if err != nil {
					t.Error(err)
					return
				}
				if len(jobs) == 0 {
					var open int
					if err := one(s, []any{&open}, "SELECT count(*) FROM outbox WHERE "+openRows); err != nil || open == 0 {
						return
					}
					continue
				}
				for _, j := range jobs {
					hold(j, owner)
				}
				for _, j := range jobs {
					j, err := s.Reload(ctx, j.Entry.ID, owner)
					if err == nil {
						err = beginning(s, j, owner, noon)
					}
					if err == nil {
						told := j.Watch.Tell(j.Entry.Trigger, observed(850), watch.History{}, noon)
						mu.Lock()
						holder[j.Watch.ID] = "" // before the commit that frees it
						mu.Unlock()
						err = s.Settle(ctx, outbox.Settlement{EntryID: j.Entry.ID, Owner: owner, From: outbox.Sending, To: outbox.Sent, SentAt: noon, WatchID: j.Watch.ID, Told: &told,
							Deliveries: []outbox.Delivery{{SubscriptionID: "su", Outcome: outbox.Accepted, Status: 201, At: noon}}})
					}
					if err != nil {
						t.Errorf("%s: %v", owner, err)
					}
				}
			}
		})
	}
	all.Wait()
	if len(times) != 2*items {
		t.Errorf("%d entries were worked on, want %d", len(times), 2*items)
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("entry %s was claimed %d times", id, n)
		}
	}
	if findings, err := stores[1].Check(ctx); err != nil || len(findings) > 0 {
		t.Errorf("check: %q, %v", findings, err)
	}
}

func TestRetriesThatAreNotDueCrowdNothingOut(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	for i := range 20 {
		detected(t, s, watching(t, s, "u", fmt.Sprint("item", i)), 850, noon)
	}
	for _, j := range claim(t, s, "me", noon, 100) {
		must(t, later(s, j, "me", outbox.Pending, noon.Add(time.Hour)))
	}
	detected(t, s, watching(t, s, "u", "new"), 850, noon.Add(time.Minute))
	got := claim(t, s, "next", noon.Add(2*time.Minute), 10)
	if len(got) != 2 || got[0].Entry.ListingID != "lnew" || got[1].Entry.ListingID != "lnew" {
		t.Errorf("claimed %d, want the two that are due", len(got))
	}
	if got := claim(t, s, "early", noon.Add(time.Hour-time.Millisecond), 100); len(got) != 2 {
		t.Errorf("a millisecond before they are due %d were claimed, want the two whose lease has ended", len(got))
	}
	if got := claim(t, s, "due", noon.Add(time.Hour), 100); len(got) != 40 {
		t.Errorf("when they are due %d were claimed, want 40", len(got))
	}
}

func TestAReleasedEntryIsDueAtOnceAndHasLostNoAttempt(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	detected(t, s, watching(t, s, "u", "tea"), 850, noon)
	for range 20 { // more often than there are attempts
		for _, j := range claim(t, s, "me", noon, 10) {
			must(t, s.Release(ctx, j.Entry.ID, "me"))
		}
	}
	got := claim(t, s, "me", noon, 10)
	if len(got) != 2 || got[0].Entry.Status != outbox.Pending || got[0].Entry.RetryCount != 0 || got[0].Entry.Retry != (outbox.Schedule{}) {
		t.Errorf("%d entries, %+v", len(got), got)
	}
	must(t, beginning(s, got[0], "me", noon))
	if err := s.Release(ctx, got[0].Entry.ID, "me"); !errors.Is(err, outbox.ErrLeaseLost) {
		t.Errorf("a send that has begun was given back: %v", err)
	}
}

func TestASendBeginsOnlyOnTheWatchThatWasDecidedOn(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Store, string) error{
		"edited": func(s *Store, id string) error {
			_, err := s.UpdateWatch(ctx, "u", id, func(w *watch.Watched) error { w.Watch.Triggers[0].Target = yen(800); return nil })
			return err
		},
		"paused": func(s *Store, id string) error {
			_, err := s.UpdateWatch(ctx, "u", id, func(w *watch.Watched) error { w.Watch.Paused = true; return nil })
			return err
		},
		"removed": func(s *Store, id string) error { return s.RemoveWatch(ctx, "u", id, noon) },
	} {
		s := open(t, t.TempDir())
		shopper(t, s, "u")
		w := watching(t, s, "u", "tea")
		detected(t, s, w, 850, noon)
		j := claim(t, s, "me", noon, 1)[0]
		must(t, change(s, w.Watch.ID))
		if err := beginning(s, j, "me", noon); !errors.Is(err, outbox.ErrChanged) {
			t.Errorf("%s meanwhile: %v", name, err)
		}
		if e := entry(t, s, "u", j.Entry.EventID); e.Status != outbox.Pending || e.Checked != nil {
			t.Errorf("%s meanwhile: the entry is %s, checked %+v", name, e.Status, e.Checked)
		}
		fresh, err := s.Reload(ctx, j.Entry.ID, "me")
		if err != nil || fresh.Watch.Revision == j.Watch.Revision {
			t.Errorf("%s meanwhile: reloaded at revision %d, %v", name, fresh.Watch.Revision, err)
		}
		if name == "edited" {
			must(t, beginning(s, fresh, "me", noon))
		}
	}
}

func TestAStatusIsWrittenOnlyAlongTheTable(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	detected(t, s, watching(t, s, "u", "tea"), 850, noon)
	j := claim(t, s, "me", noon, 1)[0]
	settle := func(from, to outbox.Status) error {
		e := outbox.Settlement{EntryID: j.Entry.ID, Owner: "me", From: from, To: to, Reason: outbox.ConditionLost}
		if to == outbox.Sent {
			e.SentAt = noon
		}
		return s.Settle(ctx, e)
	}
	if err := settle(outbox.Pending, outbox.Sent); err == nil {
		t.Error("an entry was sent without a send")
	}
	if err := settle(outbox.Retry, outbox.Dropped); !errors.Is(err, outbox.ErrLeaseLost) {
		t.Errorf("settled from a state that it is not in: %v", err)
	}
	must(t, settle(outbox.Pending, outbox.Dropped))
	for _, from := range outbox.Statuses() {
		for _, to := range outbox.Statuses() {
			if err := settle(from, to); err == nil {
				t.Errorf("a dropped entry went from %q to %q", from, to)
			}
		}
	}
}

// A device that has it is not asked again; one that is gone is forgotten, and
// what became of it is kept.
func TestARetryOwesOnlyThoseWhoDoNotHaveIt(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	device := func(n string) {
		must(t, s.CreateLinkCode(ctx, "u", []byte(n), noon.Add(time.Hour)))
		_, err := s.LinkDevice(ctx, []byte(n), watch.Device{ID: "d" + n, CreatedAt: noon}, []byte("hash"+n), noon)
		must(t, err)
		must(t, s.PutSubscription(ctx, outbox.Subscription{ID: "s" + n, DeviceID: "d" + n, Endpoint: "https://push.example/" + n, P256dh: "p", Auth: "a", KeyID: "k"}))
	}
	for _, n := range []string{"2", "3", "4"} {
		device(n)
	}
	detected(t, s, watching(t, s, "u", "tea"), 850, noon)
	j := claim(t, s, "me", noon, 1)[0]
	if len(j.Owed) != 4 || j.Accepted != 0 {
		t.Fatalf("owed %d", len(j.Owed))
	}
	must(t, beginning(s, j, "me", noon))
	must(t, later(s, j, "me", outbox.Sending, noon,
		outbox.Delivery{SubscriptionID: "su", Outcome: outbox.Accepted, Status: 201, At: noon},
		outbox.Delivery{SubscriptionID: "s2", Outcome: outbox.Gone, Status: 410, At: noon},
		outbox.Delivery{SubscriptionID: "s3", Outcome: outbox.Server, Status: 503, At: noon},
		outbox.Delivery{SubscriptionID: "s4", Outcome: outbox.Refused, Status: 413, At: noon}))
	device("5") // subscribed since
	j = claim(t, s, "again", noon, 1)[0]
	var owed []string
	for _, o := range j.Owed {
		owed = append(owed, o.ID)
	}
	if fmt.Sprint(owed) != "[s3 s5]" || j.Accepted != 1 {
		t.Errorf("owed %v, accepted %d", owed, j.Accepted)
	}
	if _, err := s.Subscription(ctx, "d2"); !errors.Is(err, watch.ErrNotFound) {
		t.Errorf("the subscription that is gone: %v", err)
	}
	must(t, beginning(s, j, "again", noon))
	must(t, later(s, j, "again", outbox.Sending, noon, outbox.Delivery{SubscriptionID: "su", Outcome: outbox.Network, At: noon}))
	var outcome string
	must(t, one(s, []any{&outcome}, "SELECT outcome FROM deliveries WHERE subscription_id = 'su'"))
	if outcome != string(outbox.Accepted) {
		t.Errorf("what was accepted is now %s", outcome)
	}
	must(t, one(s, []any{&outcome}, "SELECT outcome FROM deliveries WHERE subscription_id = 's2'"))
	if outcome != string(outbox.Gone) {
		t.Errorf("what became of the one that is gone: %s", outcome)
	}
}

// What one device has does not fail at the cap, whatever dies.
func TestACutSendThatOneDeviceHasDoesNotFail(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	detected(t, s, watching(t, s, "u", "tea"), 850, noon)
	now := noon
	id := ""
	for n := range 6 { // the cap of claim is three
		owner := fmt.Sprint("dies", n)
		j := claim(t, s, owner, now, 1)[0]
		id = j.Entry.EventID
		must(t, beginning(s, j, owner, now))
		if n == 0 {
			must(t, later(s, j, owner, outbox.Sending, now, outbox.Delivery{SubscriptionID: "su", Outcome: outbox.Accepted, Status: 201, At: now}))
		}
		now = now.Add(2 * time.Minute)
	}
	claim(t, s, "heir", now, 1)
	if e := entry(t, s, "u", id); e.Status != outbox.Retry || e.Reason != outbox.LeaseExpired {
		t.Errorf("%s %s: the shopper has it", e.Status, e.Reason)
	}
}

func TestAShopperWithoutASubscriptionMissesOneAlertADay(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	must(t, s.DeleteSubscription(ctx, "du"))
	w := watching(t, s, "u", "tea")
	withhold := func(at time.Time, want int) {
		t.Helper()
		if n := detected(t, s, w, 850, at); n != want {
			t.Errorf("%s: %d entries, want %d", at, n, want)
		}
		for _, j := range claim(t, s, "me", at, 10) {
			if len(j.Owed) != 0 {
				t.Fatalf("owed %d", len(j.Owed))
			}
			must(t, s.Settle(ctx, outbox.Settlement{EntryID: j.Entry.ID, Owner: "me", From: outbox.Pending, To: outbox.Dropped, Reason: outbox.NoSubscription}))
		}
	}
	withhold(noon, 2)
	withhold(noon.Add(time.Hour), 0)
	withhold(noon.Add(12*time.Hour), 2) // the next UTC day
	withhold(noon.Add(13*time.Hour), 0)
	must(t, s.PutSubscription(ctx, outbox.Subscription{ID: "new", DeviceID: "du", Endpoint: "https://push.example/new", P256dh: "p", Auth: "a", KeyID: "k"}))
	if n := detected(t, s, w, 850, noon.Add(14*time.Hour)); n != 2 {
		t.Errorf("with a subscription: %d entries, want 2", n)
	}
}

func TestAListingIsPolledByOneProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	shopper(t, a, "u")
	watching(t, a, "u", "tea")
	var mu sync.Mutex
	var all sync.WaitGroup
	won := 0
	for i := range 8 {
		all.Go(func() {
			p, ours, err := []*Store{a, b}[i%2].BeginPoll(context.Background(), "ltea", noon, noon.Add(time.Minute))
			if err != nil {
				t.Error(err)
			}
			if ours {
				mu.Lock()
				defer mu.Unlock()
				won++
				if len(p.Watches) != 1 || len(p.Watches[0].Triggers) != 4 || len(p.History.Points) != 1 || p.Listing.URL == "" {
					t.Errorf("loaded %+v", p)
				}
			}
		})
	}
	all.Wait()
	if won != 1 {
		t.Errorf("%d got the lease", won)
	}
	if due, err := a.Due(ctx, noon, 10); err != nil || len(due) != 0 {
		t.Errorf("while it is polled: %v, %v", due, err)
	}
	if due, err := a.Due(ctx, noon.Add(time.Minute), 10); err != nil || len(due) != 1 {
		t.Errorf("after its lease: %v, %v", due, err)
	}
}

func TestOnlyWatchedListingsAreDue(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	due := func(want int, when string) {
		t.Helper()
		if got, err := s.Due(ctx, noon, 10); err != nil || len(got) != want {
			t.Errorf("%s: %v, %v", when, got, err)
		}
	}
	due(1, "watched")
	_, err := s.UpdateWatch(ctx, "u", w.Watch.ID, func(w *watch.Watched) error { w.Watch.Paused = true; return nil })
	must(t, err)
	due(0, "its only watch is paused")
	shopper(t, s, "v")
	other := watching(t, s, "v", "tea")
	due(1, "somebody else watches it")
	must(t, s.RemoveWatch(ctx, "v", other.Watch.ID, noon))
	due(0, "and no more")
	_, err = s.RestoreWatch(ctx, "v", other.Watch.ID, 100)
	must(t, err)
	due(1, "the removal is undone")
	_, err = s.UpdateWatch(ctx, "v", other.Watch.ID, func(w *watch.Watched) error { w.Listing.Paused = true; return nil })
	must(t, err)
	due(0, "the listing is paused")
}
