package store

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

func TestAPollIntervalOfTwoDaysIsKept(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	o := observed(1000)
	point := watch.PointOf(o)
	_, err := s.SaveDetection(ctx, outbox.Detection{Listing: w.Listing.Read(o, watch.Schedule{Interval: 48 * time.Hour}, 0.5), Observed: &point})
	must(t, err)
	due, err := s.Due(ctx, noon.Add(time.Minute), 10)
	must(t, err)
	if len(due) != 0 {
		t.Errorf("with SOKONE_POLL_INTERVAL=48h the listing is due again after a minute")
	}
}

func TestTheLongestWaitIsKept(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	l := w.Listing
	for range 8 {
		l = l.Failed(&shop.Error{Kind: shop.KindBlocked}, noon, watch.Schedule{Interval: 30 * time.Minute, Max: 24 * time.Hour}, 0.9)
	}
	_, err := s.SaveDetection(ctx, outbox.Detection{Listing: l})
	must(t, err)
	due, err := s.Due(ctx, noon.Add(time.Minute), 10)
	must(t, err)
	if len(due) != 0 {
		t.Errorf("next check is %s, and it is due at noon", l.NextCheckAt)
	}
}

func TestAWatchMadeDuringAPollIsLookedAtSoon(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	watching(t, s, "u", "tea")
	shopper(t, s, "v")
	p, ours, err := s.BeginPoll(ctx, "ltea", noon, noon.Add(2*time.Minute))
	must(t, err)
	if !ours {
		t.Fatal("not ours")
	}
	watching(t, s, "v", "tea") // while the page is being read
	o := observed(850)
	point := watch.PointOf(o)
	_, err = s.SaveDetection(ctx, outbox.Detection{Began: noon, Listing: p.Listing.Read(o, watch.Schedule{Interval: 30 * time.Minute}, 0.5), Observed: &point})
	must(t, err)
	due, err := s.Due(ctx, noon.Add(time.Minute), 10)
	must(t, err)
	if len(due) != 1 {
		t.Error("the new watch, whose trigger holds, waits a whole poll interval")
	}
}

func TestAnEditDuringAPollIsLookedAtSoon(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	p, _, err := s.BeginPoll(ctx, "ltea", noon, noon.Add(2*time.Minute))
	must(t, err)
	_, err = s.UpdateWatch(ctx, "u", w.Watch.ID, func(w *watch.Watched) error {
		w.Watch.Triggers[0].Target = yen(990)
		w.Listing.NextCheckAt = noon.Add(time.Second)
		return nil
	})
	must(t, err)
	o := observed(980)
	point := watch.PointOf(o)
	_, err = s.SaveDetection(ctx, outbox.Detection{Began: noon, Listing: p.Listing.Read(o, watch.Schedule{Interval: 30 * time.Minute}, 0.5), Observed: &point})
	must(t, err)
	due, err := s.Due(ctx, noon.Add(time.Minute), 10)
	must(t, err)
	if len(due) != 1 {
		t.Error("the edited watch, whose trigger holds, waits a whole poll interval")
	}
}

func TestARestoredWatchIsNoSecondOneOnItsListing(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	must(t, s.RemoveWatch(ctx, "u", w.Watch.ID, noon))
	again := w.Watch
	again.ID = "again"
	_, err := s.CreateWatch(ctx, again, w.Listing, observed(1000), 10)
	must(t, err)
	if _, err := s.RestoreWatch(ctx, "u", w.Watch.ID, 100); !errors.Is(err, watch.ErrConflict) {
		ws, _ := s.Watches(ctx, "u")
		t.Errorf("%v: %d watches of one user on one listing", err, len(ws))
	}
}

func TestARestoreKeepsTheLimit(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	limit := 2
	for round := range 3 {
		for i := range limit {
			item := fmt.Sprint(round, i)
			w := watch.New(watch.Watch{ID: "w" + item, UserID: "u", Basis: watch.BasisPrice, CreatedAt: noon, Triggers: []watch.Trigger{{Type: watch.TargetPrice, Target: yen(900)}}}, observed(1000))
			_, err := s.CreateWatch(ctx, w, watch.Listing{ID: "l" + item, Ref: shop.Ref{Adapter: "page", ItemCode: item, URL: "https://x.example/" + item}}, observed(1000), limit)
			must(t, err)
		}
		for i := range limit {
			must(t, s.RemoveWatch(ctx, "u", "w"+fmt.Sprint(round, i), noon))
		}
	}
	for round := range 3 {
		for i := range limit {
			_, _ = s.RestoreWatch(ctx, "u", "w"+fmt.Sprint(round, i), limit)
		}
	}
	if ws, _ := s.Watches(ctx, "u"); len(ws) > limit {
		t.Errorf("%d watches, the limit is %d", len(ws), limit)
	}
}

func TestOneUnreadableSnapshotHoldsUpNoOther(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	detected(t, s, watching(t, s, "u", "tea"), 850, noon)
	detected(t, s, watching(t, s, "u", "rice"), 850, noon)
	must(t, s.write(ctx, func(tx *tx) error {
		if _, err := tx.exec("DROP TRIGGER outbox_snapshot_is_immutable"); err != nil {
			return err
		}
		_, err := tx.exec(`UPDATE outbox SET detected_payload_json = json_set(detected_payload_json, '$.schema', 2) WHERE id = 1`)
		return err
	}))
	jobs, err := s.Claim(ctx, outbox.ClaimRequest{Owner: "me", Now: noon, LeaseUntil: noon.Add(time.Minute), Limit: 10, MaxRetry: 8})
	if err != nil || len(jobs) < 3 {
		t.Errorf("one entry that this binary cannot read stops all alerts of everybody: %d jobs, %v", len(jobs), err)
	}
	if list, _, err := s.Alerts(ctx, "u", "", 10); err != nil {
		t.Errorf("and the list of alerts: %d, %v", len(list), err)
	}
}

func TestTheOldestDueIsClaimedFirst(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	detected(t, s, watching(t, s, "u", "tea"), 850, noon)
	for _, j := range claim(t, s, "me", noon, 10) {
		must(t, s.Settle(ctx, outbox.Settlement{EntryID: j.Entry.ID, Owner: "me", From: outbox.Pending, To: outbox.Retry, Reason: "refetch_network", RetryCount: 1,
			Retry: outbox.Schedule{NextAttemptAt: noon.Add(time.Minute), Attempts: 1}}))
	}
	detected(t, s, watching(t, s, "u", "rice"), 850, noon.Add(3*time.Hour))
	j := claim(t, s, "next", noon.Add(4*time.Hour), 1)
	if j[0].Entry.ListingID != "ltea" {
		t.Errorf("what is due since noon waits for what was detected three hours later")
	}
}

func TestOneWhoseLeaseEndedBeginsNoSendBesideAnother(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	detected(t, s, w, 850, noon)
	slow := claim(t, s, "slow", noon, 1) // target_price, say; its lease ends at 12:01
	later := noon.Add(2 * time.Minute)
	quick := claim(t, s, "quick", later, 1) // its sibling: never claimed, so first in line
	if quick[0].Entry.ID == slow[0].Entry.ID {
		t.Fatal("the same entry: the order of claims has changed, and this test must too")
	}
	begin := func(owner string, j outbox.Job) error {
		return s.BeginSend(ctx, outbox.SendStart{EntryID: j.Entry.ID, Owner: owner, From: j.Entry.Status, WatchID: w.Watch.ID, WatchRevision: j.Watch.Revision, LeaseUntil: later.Add(time.Minute), Checked: outbox.Checked{At: later, Price: yen(850)}})
	}
	must(t, begin("quick", quick[0]))
	if err := begin("slow", slow[0]); err == nil {
		t.Errorf("two entries of one watch are being sent by two dispatchers: the shopper is told one drop twice")
	}
}

func TestPingWrites(t *testing.T) {
	s := open(t, t.TempDir())
	db, err := sql.Open("sqlite", dsn(s.file, ""))
	must(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	version := func() (v int) {
		must(t, db.QueryRow("PRAGMA data_version").Scan(&v))
		return v
	}
	before := version()
	must(t, s.Ping(ctx))
	if version() == before {
		t.Error("Ping wrote nothing, so a full disk does not show")
	}
}

func TestRestoreRefusesWhatItCannotServe(t *testing.T) {
	make := func(t *testing.T, statement string) string {
		s := open(t, t.TempDir())
		shopper(t, s, "u")
		must(t, s.write(ctx, func(tx *tx) error { _, err := tx.exec(statement); return err }))
		file := filepath.Join(t.TempDir(), "backup.db")
		must(t, s.Backup(ctx, file))
		return file
	}
	t.Run("newer", func(t *testing.T) {
		if err := Restore(ctx, make(t, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)"), t.TempDir()); err == nil {
			t.Error("a backup of a newer sokone was restored, and the server will not start on it")
		}
	})
	t.Run("not ours", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "other.db")
		db, err := sql.Open("sqlite", file)
		must(t, err)
		_, err = db.Exec("CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY, version_id INTEGER, is_applied INTEGER, tstamp TEXT); INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, 1); CREATE TABLE other (a)")
		must(t, err)
		must(t, db.Close())
		if err := Restore(ctx, file, t.TempDir()); err == nil {
			t.Error("the database of another program was restored")
		}
	})
	t.Run("a copy without its log", func(t *testing.T) {
		s := open(t, t.TempDir())
		shopper(t, s, "u")
		must(t, s.write(ctx, func(tx *tx) error { return nil }))
		db, err := sql.Open("sqlite", dsn(s.file, ""))
		must(t, err)
		_, err = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)") // everything is in the file now
		must(t, err)
		must(t, db.Close())
		shopper(t, s, "v") // and this in the log
		dir := t.TempDir()
		for _, f := range []string{"", "-wal"} { // cp sokone.db* elsewhere
			data, err := os.ReadFile(s.file + f)
			must(t, err)
			must(t, os.WriteFile(filepath.Join(dir, "copy.db"+f), data, 0o600))
		}
		into := t.TempDir()
		if err := Restore(ctx, filepath.Join(dir, "copy.db"), into); err != nil {
			return // refused: better than a silent loss
		}
		r := open(t, into)
		users, err := usersBy(ctx, r, "1 = 1")
		if err != nil || len(users) != 2 {
			t.Errorf("restored without a word, and what was in the log is lost: %d users, %v", len(users), err)
		}
	})
	t.Run("foreign keys", func(t *testing.T) {
		file := make(t, "SELECT 1")
		db, err := sql.Open("sqlite", file)
		must(t, err)
		_, err = db.Exec("DELETE FROM users")
		must(t, err)
		must(t, db.Close())
		if err := Restore(ctx, file, t.TempDir()); err == nil {
			t.Error("a backup whose references lead nowhere was restored")
		}
	})
}

func TestTwoProcessesBeginTogether(t *testing.T) {
	for range 10 {
		dir := t.TempDir()
		var all sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			all.Go(func() {
				s, err := Open(ctx, dir, Options{Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }})
				if errs[i] = err; err == nil {
					errs[i] = s.Close()
				}
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASiblingIsNotHeldByAnAlertThatWaitsForAPushService(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	detected(t, s, w, 850, noon)
	j := claim(t, s, "me", noon, 1)[0]
	must(t, s.BeginSend(ctx, outbox.SendStart{EntryID: j.Entry.ID, Owner: "me", From: j.Entry.Status, WatchID: w.Watch.ID, WatchRevision: j.Watch.Revision, LeaseUntil: noon.Add(time.Minute), Checked: outbox.Checked{At: noon, Price: yen(850)}}))
	// One of two devices answered 429 with Retry-After of a day.
	must(t, s.Settle(ctx, outbox.Settlement{EntryID: j.Entry.ID, Owner: "me", From: outbox.Sending, To: outbox.Retry, Reason: "push_rate_limited", RetryCount: 1,
		Retry: outbox.Schedule{NextAttemptAt: noon.Add(24 * time.Hour), Attempts: 1}, Deliveries: []outbox.Delivery{{SubscriptionID: "su", Outcome: outbox.RateLimited, Status: 429, At: noon}}}))
	if got := claim(t, s, "other", noon.Add(23*time.Hour), 10); len(got) == 0 {
		t.Error("the watch's other alert is not claimed for a day, and then expires")
	}
}

func TestAnImportResumesTheListing(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	l := w.Listing
	for range 3 {
		l = l.Failed(&shop.Error{Kind: shop.KindEmpty}, noon, watch.Schedule{Interval: time.Hour, Max: time.Hour}, 0)
	}
	_, err := s.SaveDetection(ctx, outbox.Detection{Listing: l})
	must(t, err)
	shopper(t, s, "v")
	imported := w
	imported.Watch.ID = "imported"
	imported.Listing.ID = "other"
	_, err = s.ImportWatches(ctx, "v", []watch.Watched{imported}, 10)
	must(t, err)
	due, err := s.Due(ctx, noon.Add(time.Minute), 10)
	must(t, err)
	if len(due) != 1 {
		t.Error("an imported watch on a listing that was paused is never polled; making it by its address resumes it")
	}
}

func TestAnExistingFileIsOursAlone(t *testing.T) {
	dir := t.TempDir()
	must(t, open(t, dir).Close())
	file := filepath.Join(dir, databaseFile)
	must(t, os.Chmod(file, 0o644)) // as cp leaves it
	must(t, open(t, dir).Ping(ctx))
	info, err := os.Stat(file)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestALateSaveDoesNotUndoANewerOne(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	slow, _, err := s.BeginPoll(ctx, "ltea", noon, noon.Add(time.Minute))
	must(t, err)
	later := noon.Add(2 * time.Minute)
	quick, ours, err := s.BeginPoll(ctx, "ltea", later, later.Add(time.Minute))
	must(t, err)
	if !ours {
		t.Fatal("lease did not end")
	}
	save := func(p watch.Poll, price int, began, at time.Time) {
		o := observed(price)
		o.At = at
		point := watch.PointOf(o)
		_, err := s.SaveDetection(ctx, outbox.Detection{Began: began, Listing: p.Listing.Read(o, watch.Schedule{Interval: time.Hour}, 0), Observed: &point})
		must(t, err)
	}
	save(quick, 800, later, later.Add(time.Second))
	save(slow, 1200, noon, noon.Add(time.Second))
	got, err := s.Watch(ctx, "u", w.Watch.ID)
	must(t, err)
	if !got.Listing.Last.Price.Equal(yen(800)) {
		t.Errorf("the listing's price is %s, read before the %s of a newer poll", got.Listing.Last.Price, yen(800))
	}
	h, err := s.History(ctx, "ltea")
	must(t, err)
	if last, _ := h.Last(); !last.Price.Equal(yen(800)) {
		t.Errorf("the newest point is %s", last.Price)
	}
}

func TestCloseLeavesOneFile(t *testing.T) {
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	must(t, s.Close())
	if info, err := os.Stat(s.file + "-wal"); err == nil && info.Size() > 0 {
		t.Errorf("after a clean stop %d bytes are in the log and not in %s: who copies that file has nothing", info.Size(), databaseFile)
	}
}
