package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

var (
	noon = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	ctx  = context.Background()
)

func open(tb testing.TB, dir string) *Store {
	tb.Helper()
	s, err := Open(ctx, dir, Options{Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func yen(n int) money.Amount { return money.MustParse(fmt.Sprint(n), "JPY") }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// shopper makes a user with a device and a subscription.
func shopper(tb testing.TB, s *Store, id string) {
	tb.Helper()
	must(tb, s.CreateUser(ctx, watch.User{ID: id, Timezone: "UTC", Locale: "en", CreatedAt: noon}, watch.Device{ID: "d" + id, UserID: id, CreatedAt: noon}, []byte("hash"+id)))
	must(tb, s.PutSubscription(ctx, outbox.Subscription{ID: "s" + id, DeviceID: "d" + id, Endpoint: "https://push.example/" + id, P256dh: "p", Auth: "a", KeyID: "k"}))
}

func observed(price int) watch.Observation {
	return watch.Observation{At: noon, Price: yen(price), Availability: shop.InStock, Name: "Tea tin"}
}

// watching makes a watch of ¥900 on an item that costs ¥1,000.
func watching(tb testing.TB, s *Store, user, item string) watch.Watched {
	tb.Helper()
	o := observed(1000)
	w := watch.New(watch.Watch{ID: "w" + user + item, UserID: user, Basis: watch.BasisPrice, CreatedAt: noon,
		Triggers: []watch.Trigger{{Type: watch.TargetPrice, Target: yen(900)}, {Type: watch.PriceDrop, Percent: "10"}}}, o)
	made, err := s.CreateWatch(ctx, w, watch.Listing{ID: "l" + item, Ref: shop.Ref{Adapter: "page", ItemCode: item, URL: "https://" + item + ".example/p"}, Name: o.Name}, o, 1<<30)
	must(tb, err)
	return made
}

// detected saves a poll that read a price, as detection does.
func detected(tb testing.TB, s *Store, w watch.Watched, price int, at time.Time) int {
	tb.Helper()
	o := observed(price)
	o.At = at
	h, err := s.History(ctx, w.Listing.ID)
	must(tb, err)
	current, err := s.Watch(ctx, w.Watch.UserID, w.Watch.ID)
	must(tb, err)
	change, fired := current.Watch.Observed(o, h)
	point := watch.PointOf(o)
	d := outbox.Detection{Listing: current.Listing.Read(o, watch.Schedule{}, 0), Observed: &point, Changes: []watch.Change{change}}
	for _, f := range fired {
		d.Entries = append(d.Entries, outbox.NewEntry(current.Watch, f, o))
	}
	n, err := s.SaveDetection(ctx, d)
	must(tb, err)
	return n
}

func claim(tb testing.TB, s *Store, owner string, now time.Time, limit int) []outbox.Job {
	tb.Helper()
	jobs, err := s.Claim(ctx, outbox.ClaimRequest{Owner: owner, Now: now, LeaseUntil: now.Add(time.Minute), Limit: limit, MaxRetry: 3})
	must(tb, err)
	return jobs
}

func TestWritesThatWaitShareOneTransactionAndFailAlone(t *testing.T) {
	s := open(t, t.TempDir())
	blocked, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_ = s.write(ctx, func(*tx) error { close(blocked); <-release; return nil })
	})
	<-blocked // all that follows waits, and is one group
	insert := func(id string) func(*tx) error {
		return func(tx *tx) error {
			_, err := tx.exec("INSERT INTO users (id, timezone, locale, created_at) VALUES (?, 'UTC', 'en', ?)", id, instant(noon))
			return err
		}
	}
	boom := errors.New("boom")
	cancelled, cancel := context.WithCancel(ctx)
	results := map[string]error{}
	var mu sync.Mutex
	run := func(id string, ctx context.Context, do func(*tx) error) {
		all.Go(func() {
			err := s.write(ctx, do)
			mu.Lock()
			defer mu.Unlock()
			results[id] = err
		})
	}
	run("a", ctx, insert("a"))
	run("fails", ctx, func(tx *tx) error { _ = insert("fails")(tx); return boom })
	run("panics", ctx, func(tx *tx) error { _ = insert("panics")(tx); panic("boom") })
	run("twice", ctx, func(tx *tx) error { _ = insert("twice")(tx); return insert("twice")(tx) })
	run("left", cancelled, insert("left"))
	run("b", ctx, insert("b"))
	for len(s.writes.requests) < 6 {
		time.Sleep(time.Millisecond) // until all of them stand in line
	}
	cancel()
	close(release)
	all.Wait()
	if results["a"] != nil || results["b"] != nil || !errors.Is(results["fails"], boom) || results["panics"] == nil || results["twice"] == nil || !errors.Is(results["left"], context.Canceled) {
		t.Errorf("answers: %v", results)
	}
	users, err := usersBy(ctx, s, "1 = 1")
	must(t, err)
	if len(users) != 2 || users["a"].ID == "" || users["b"].ID == "" {
		t.Errorf("users: %v", users)
	}
}

func TestAFullDiskChangesNothingAndIsSeen(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	must(t, s.write(ctx, func(tx *tx) error {
		var pages int
		if err := one(tx, []any{&pages}, "PRAGMA page_count"); err != nil {
			return err
		}
		rows, err := tx.query(ctx, fmt.Sprintf("PRAGMA max_page_count(%d)", pages))
		return each(rows, err, func(*sql.Rows) error { return nil })
	}))
	big := strings.Repeat("x", 1<<20)
	_, err := s.UpdateWatch(ctx, "u", w.Watch.ID, func(w *watch.Watched) error { w.Watch.Note = big; return nil })
	if err == nil {
		t.Fatal("a megabyte fitted on a full disk")
	}
	after, err := s.Watch(ctx, "u", w.Watch.ID)
	must(t, err)
	if after.Watch.Note != "" || len(after.Watch.Triggers) != 4 || after.Watch.Revision != w.Watch.Revision {
		t.Errorf("half-written: %+v", after.Watch)
	}
	if err := s.write(ctx, func(tx *tx) error { _, err := tx.exec("DELETE FROM link_codes"); return err }); err != nil {
		t.Errorf("after the failure the writer is stuck: %v", err)
	}
}

func TestEnqueueIsIdempotentOverTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	shopper(t, a, "u")
	w := watching(t, a, "u", "tea")
	total := 0
	for range 5 {
		total += detected(t, a, w, 850, noon.Add(time.Hour))
		total += detected(t, b, w, 850, noon.Add(2*time.Hour))
	}
	if total != 2 { // one for each trigger
		t.Errorf("%d entries, want 2", total)
	}
	if n := detected(t, a, w, 850, noon.Add(13*time.Hour)); n != 2 {
		t.Errorf("the next UTC day: %d entries, want 2", n)
	}
}

func TestADroppedEntrySilencesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	detected(t, s, w, 850, noon.Add(time.Hour))
	for _, j := range claim(t, s, "me", noon.Add(time.Hour), 10) {
		must(t, s.Settle(ctx, outbox.Settlement{EntryID: j.Entry.ID, Owner: "me", From: outbox.Pending, To: outbox.Dropped, Reason: outbox.ConditionLost}))
	}
	if n := detected(t, s, w, 850, noon.Add(2*time.Hour)); n != 2 {
		t.Errorf("after a withheld alert: %d entries, want 2", n)
	}
}

func TestAStaleDecisionIsNotApplied(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	o := observed(850)
	change, fired := w.Watch.Observed(o, watch.History{})
	d := outbox.Detection{Listing: w.Listing, Changes: []watch.Change{change}, Entries: []outbox.Entry{outbox.NewEntry(w.Watch, fired[0], o)}}
	for _, edit := range []struct {
		name string
		do   func() error
	}{
		{"edited", func() error {
			_, err := s.UpdateWatch(ctx, "u", w.Watch.ID, func(*watch.Watched) error { return nil })
			return err
		}},
		{"removed", func() error { return s.RemoveWatch(ctx, "u", w.Watch.ID, noon) }},
	} {
		must(t, edit.do())
		if n, err := s.SaveDetection(ctx, d); err != nil || n != 0 {
			t.Errorf("%s meanwhile: %d entries, %v", edit.name, n, err)
		}
	}
}

func TestTwoDispatchersNeverShareAWatch(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	shopper(t, a, "u")
	detected(t, a, watching(t, a, "u", "tea"), 850, noon)
	mine := claim(t, a, "a", noon, 1)
	if len(mine) != 1 {
		t.Fatalf("claimed %d", len(mine))
	}
	if theirs := claim(t, b, "b", noon, 10); len(theirs) != 0 {
		t.Errorf("another dispatcher got %d entries of the same watch", len(theirs))
	}
	must(t, a.Release(ctx, mine[0].Entry.ID, "a"))
	if theirs := claim(t, b, "b", noon, 10); len(theirs) != 2 {
		t.Errorf("after the release: %d", len(theirs))
	}
}

func TestWritesAreFencedByTheOwner(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	detected(t, s, w, 850, noon)
	first := claim(t, s, "slow", noon, 1)[0]
	later := noon.Add(2 * time.Minute) // the lease has ended
	second := claim(t, s, "quick", later, 10)
	if len(second) != 2 {
		t.Fatalf("claimed %d after the lease ended", len(second))
	}
	for name, err := range map[string]error{
		"begin":   s.BeginSend(ctx, outbox.SendStart{EntryID: first.Entry.ID, Owner: "slow", From: outbox.Pending, WatchID: w.Watch.ID, WatchRevision: first.Watch.Revision}),
		"settle":  s.Settle(ctx, outbox.Settlement{EntryID: first.Entry.ID, Owner: "slow", From: outbox.Pending, To: outbox.Dropped}),
		"release": s.Release(ctx, first.Entry.ID, "slow"),
		"reload":  func() error { _, err := s.Reload(ctx, first.Entry.ID, "slow"); return err }(),
	} {
		if !errors.Is(err, outbox.ErrLeaseLost) {
			t.Errorf("%s by the one whose lease ended: %v", name, err)
		}
	}
}

func TestASendThatWasCutShort(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	detected(t, s, w, 850, noon)
	now := noon
	begin := func() int64 {
		t.Helper()
		j := claim(t, s, "dies"+now.String(), now, 1)
		if len(j) != 1 {
			t.Fatalf("claimed %d at %s", len(j), now)
		}
		must(t, s.BeginSend(ctx, outbox.SendStart{EntryID: j[0].Entry.ID, Owner: "dies" + now.String(), From: j[0].Entry.Status, RetryCount: j[0].Entry.RetryCount, WatchID: w.Watch.ID,
			WatchRevision: j[0].Watch.Revision, LeaseUntil: now.Add(time.Minute), Checked: outbox.Checked{At: now, Price: yen(850)}}))
		return j[0].Entry.ID
	}
	id := begin()
	if got := claim(t, s, "other", now, 10); len(got) != 0 {
		t.Errorf("while one entry of a watch is being sent, %d others were given out", len(got))
	}
	now = now.Add(2 * time.Minute)
	got := claim(t, s, "heir", now, 1)
	if len(got) != 1 || got[0].Entry.ID != id || got[0].Entry.Status != outbox.Retry || got[0].Entry.Reason != outbox.LeaseExpired || got[0].Entry.RetryCount != 1 {
		t.Fatalf("rescued: %+v", got)
	}
	must(t, s.Release(ctx, id, "heir"))
	for range 2 {
		if again := begin(); again != id {
			t.Errorf("entry %d was sent before %d was settled, which may have arrived", again, id)
		}
		now = now.Add(2 * time.Minute)
	}
	claim(t, s, "last", now, 10)
	entries, _, err := s.Alerts(ctx, "u", "", 10)
	must(t, err)
	for _, e := range entries {
		if e.ID == id && (e.Status != outbox.Failed || e.Reason != outbox.MaxRetry) {
			t.Errorf("after the last attempt: %s %s", e.Status, e.Reason)
		}
	}
}

func TestSentMovesLastNotifiedAndNothingElseDoes(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	detected(t, s, w, 850, noon)
	j := claim(t, s, "me", noon, 10)[0]
	checked := outbox.Checked{At: noon, Price: yen(840)}
	must(t, s.BeginSend(ctx, outbox.SendStart{EntryID: j.Entry.ID, Owner: "me", From: j.Entry.Status, WatchID: w.Watch.ID, WatchRevision: j.Watch.Revision, LeaseUntil: noon.Add(time.Minute), Checked: checked}))
	told := j.Watch.Tell(j.Entry.Trigger, checked.Observation(), watch.History{}, noon)
	must(t, s.Settle(ctx, outbox.Settlement{EntryID: j.Entry.ID, Owner: "me", From: outbox.Sending, To: outbox.Sent, SentAt: noon, WatchID: w.Watch.ID, Told: &told,
		Deliveries: []outbox.Delivery{{SubscriptionID: "su", Outcome: outbox.Accepted, Status: 201, At: noon}}}))
	after, err := s.UpdateWatch(ctx, "u", w.Watch.ID, func(w *watch.Watched) error { w.Watch.LastNotified = nil; return nil })
	must(t, err)
	if n := after.Watch.LastNotified; n == nil || !n.Price.Equal(yen(840)) || !after.Watch.Reference.Equal(yen(840)) {
		t.Errorf("last notified %+v, reference %s", n, after.Watch.Reference)
	}
	for _, tr := range after.Watch.Triggers {
		if tr.Type.Chosen() && tr.Armed {
			t.Errorf("%s is armed after the alert", tr.Type)
		}
	}
	findings, err := s.Check(ctx)
	must(t, err)
	if len(findings) > 0 {
		t.Errorf("check: %q", findings)
	}
}

func TestTheDatabaseItselfKeepsTheSnapshotAndTheEnd(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	detected(t, s, watching(t, s, "u", "tea"), 850, noon)
	for statement, ok := range map[string]bool{
		`UPDATE outbox SET detected_payload_json = json_set(detected_payload_json, '$._retry.attempts', 3)`:                                        true,
		`UPDATE outbox SET detected_payload_json = json_set(detected_payload_json, '$.price.amount', '1')`:                                         false,
		`UPDATE outbox SET detected_payload_json = '{}'`:                                                                                           false,
		`UPDATE outbox SET status = 'sent'`:                                                                                                        false,
		`UPDATE outbox SET status = 'nonsense'`:                                                                                                    false,
		`UPDATE outbox SET lease_owner = 'x'`:                                                                                                      false,
		`INSERT INTO prices (listing_id, at, confirmed_at, currency, price, availability) VALUES ('nowhere', '', '', 'JPY', 1, 'in_stock')`:        false,
		`INSERT INTO prices (listing_id, at, confirmed_at, currency, price, availability) VALUES ('ltea', '2026', '2026', 'JPY', 'x', 'in_stock')`: false,
	} {
		err := s.write(ctx, func(tx *tx) error { _, err := tx.exec(statement); return err })
		if (err == nil) != ok {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func TestAClaimUsesTheIndexOfDueRows(t *testing.T) {
	s := open(t, t.TempDir())
	var plan strings.Builder
	rows, err := s.query(ctx, "EXPLAIN QUERY PLAN "+claimable, "", 50, "")
	must(t, each(rows, err, func(r *sql.Rows) error {
		var a, b, c int
		var detail string
		err := r.Scan(&a, &b, &c, &detail)
		plan.WriteString(detail + "\n")
		return err
	}))
	if p := plan.String(); !strings.Contains(p, "outbox_due") || !strings.Contains(p, "outbox_open") || strings.Contains(p, "TEMP B-TREE") || strings.Contains(p, "SCAN") {
		t.Errorf("the plan:\n%s", p)
	}
}

func TestAClockThatRanAheadHoldsNothingUp(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	ahead := noon.AddDate(1, 0, 0)
	detected(t, s, w, 850, noon)
	if jobs := claim(t, s, "ahead", ahead, 1); len(jobs) != 1 {
		t.Fatalf("claimed %d", len(jobs))
	}
	must(t, s.write(ctx, func(tx *tx) error {
		_, err := tx.exec("UPDATE listings SET next_check_at = ?", instant(ahead))
		return err
	}))
	if jobs := claim(t, s, "now", noon, 10); len(jobs) != 2 {
		t.Errorf("after the clock was set right %d entries are due", len(jobs))
	}
	due, err := s.Due(ctx, noon, 10)
	if err != nil || len(due) != 1 {
		t.Errorf("after the clock was set right %d listings are due, %v", len(due), err)
	}
}

func TestHistoryStoresChanges(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	for i, price := range []int{1000, 1000, 950, 950, 1000} {
		detected(t, s, w, price, noon.Add(time.Duration(i+1)*time.Hour))
	}
	detected(t, s, w, 970, noon.Add(-time.Hour)) // the clock stepped back
	h, err := s.History(ctx, w.Listing.ID)
	must(t, err)
	var got []string
	for i, p := range h.Points {
		got = append(got, p.Price.Number())
		if i > 0 && !p.At.After(h.Points[i-1].At) {
			t.Errorf("history runs backwards at %d", i)
		}
	}
	if strings.Join(got, " ") != "1000 950 1000 970" {
		t.Errorf("points %v", got)
	}
	if !h.Points[0].ConfirmedAt.Equal(noon.Add(2 * time.Hour)) {
		t.Errorf("the first price was confirmed last at %s", h.Points[0].ConfirmedAt)
	}
}

// A page that becomes another product has a history of its own, and those who
// watched it are marked with what they watched.
func TestAListingThatIsReplaced(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	shopper(t, s, "v")
	w := watching(t, s, "u", "tea")
	detected(t, s, w, 950, noon.Add(time.Hour))
	l := w.Listing
	kettle := observed(4000)
	kettle.Name, kettle.At, kettle.Evidence = "Electric kettle", noon.Add(2*time.Hour), "¥4,000"
	l.Since = kettle.At
	l = l.Read(kettle, watch.Schedule{}, 0)
	point := watch.PointOf(kettle)
	_, err := s.SaveDetection(ctx, outbox.Detection{Listing: l, Observed: &point, Was: "Tea tin"})
	must(t, err)
	h, err := s.History(ctx, l.ID)
	must(t, err)
	if len(h.Points) != 1 || h.Points[0].Price.Number() != "4000" || h.Points[0].Evidence != "¥4,000" {
		t.Errorf("history %+v", h)
	}
	got, err := s.Watch(ctx, "u", w.Watch.ID)
	must(t, err)
	if p := got.Problem(); got.Watch.Product != "Tea tin" || got.Watch.Revision == w.Watch.Revision || p == nil || p.Kind != string(watch.OtherProduct) {
		t.Errorf("%+v, problem %+v", got.Watch, p)
	}
	made, err := s.CreateWatch(ctx, watch.New(watch.Watch{ID: "wv", UserID: "v", Basis: watch.BasisPrice, CreatedAt: noon}, kettle), watch.Listing{ID: "other", Ref: l.Ref}, kettle, 10)
	must(t, err)
	if made.Problem() != nil || made.Listing.ID != l.ID {
		t.Errorf("who watches the new product: %+v", made.Problem())
	}
	again, err := s.HistoryAt(ctx, l.Ref)
	must(t, err)
	if len(again.Points) != 1 {
		t.Errorf("history by identity %+v", again)
	}
	if none, err := s.HistoryAt(ctx, shop.Ref{Adapter: "page", ItemCode: "nobody"}); err != nil || len(none.Points) != 0 {
		t.Errorf("%+v %v", none, err)
	}
}

func TestTheLastDeviceTakesEverythingWithIt(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	detected(t, s, w, 850, noon)
	must(t, s.CreateLinkCode(ctx, "u", []byte("code"), noon.Add(time.Minute)))
	if _, err := s.LinkDevice(ctx, []byte("code"), watch.Device{ID: "second"}, []byte("hash2"), noon); err != nil {
		t.Fatal(err)
	}
	if _, err := s.LinkDevice(ctx, []byte("code"), watch.Device{ID: "third"}, []byte("hash3"), noon); !errors.Is(err, watch.ErrNotFound) {
		t.Errorf("a code was used twice: %v", err)
	}
	must(t, s.DeleteDevice(ctx, "du"))
	if _, err := s.Watch(ctx, "u", w.Watch.ID); err != nil {
		t.Errorf("with a device left the watch is gone: %v", err)
	}
	must(t, s.DeleteDevice(ctx, "second"))
	for _, table := range []string{"users", "devices", "subscriptions", "link_codes", "watches", "triggers", "outbox"} {
		var n int
		must(t, one(s, []any{&n}, "SELECT count(*) FROM "+table))
		if n != 0 {
			t.Errorf("%d rows left in %s", n, table)
		}
	}
}

func TestALostDatabaseIsNoFreshStart(t *testing.T) {
	dir := t.TempDir()
	must(t, open(t, dir).Close())
	for _, f := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(filepath.Join(dir, databaseFile+f))
	}
	if _, err := Open(ctx, dir, Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now}); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("%v", err)
	}
}
