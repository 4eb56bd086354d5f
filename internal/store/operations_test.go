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

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/watch"
)

// dump is every row of every table of ours, to compare two databases by.
func dump(tb testing.TB, s *Store) string {
	tb.Helper()
	var b strings.Builder
	for _, table := range []string{"users", "devices", "link_codes", "subscriptions", "listings", "prices", "watches", "triggers", "outbox", "deliveries"} {
		rows, err := s.query(ctx, "SELECT * FROM "+table+" ORDER BY 1, 2")
		must(tb, each(rows, err, func(r *sql.Rows) error {
			columns, err := r.Columns()
			if err != nil {
				return err
			}
			row, to := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				to[i] = &row[i]
			}
			err = r.Scan(to...)
			fmt.Fprintln(&b, table, row)
			return err
		}))
	}
	return b.String()
}

// told is a store in which one alert was sent, one withheld, and two are open.
func told(tb testing.TB) *Store {
	tb.Helper()
	s := open(tb, tb.TempDir())
	shopper(tb, s, "u")
	detected(tb, s, watching(tb, s, "u", "tea"), 850, noon)
	jobs := claim(tb, s, "me", noon, 10)
	must(tb, beginning(s, jobs[0], "me", noon))
	t := jobs[0].Watch.Tell(jobs[0].Entry.Trigger, observed(850), watch.History{}, noon)
	must(tb, s.Settle(ctx, outbox.Settlement{EntryID: jobs[0].Entry.ID, Owner: "me", From: outbox.Sending, To: outbox.Sent, SentAt: noon, WatchID: jobs[0].Watch.ID, Told: &t,
		Deliveries: []outbox.Delivery{{SubscriptionID: "su", Outcome: outbox.Accepted, Status: 201, At: noon}}}))
	must(tb, s.Settle(ctx, outbox.Settlement{EntryID: jobs[1].Entry.ID, Owner: "me", From: outbox.Pending, To: outbox.Dropped, Reason: outbox.AlreadyTold}))
	detected(tb, s, watching(tb, s, "u", "rice"), 850, noon)
	return s
}

func TestABackupComesBackAsItWas(t *testing.T) {
	t.Parallel()
	s := told(t)
	want := dump(t, s)
	file := filepath.Join(t.TempDir(), "a copy?.db")
	must(t, s.Backup(ctx, file))
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) != 1 {
		t.Errorf("beside the backup: %q", left)
	}
	if err := s.Backup(ctx, file); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("a second backup into the same file: %v", err)
	}
	shopper(t, s, "since") // is not in the backup

	dir := filepath.Join(t.TempDir(), "new")
	must(t, Restore(ctx, file, dir))
	r := open(t, dir)
	if got := dump(t, r); got != want {
		t.Errorf("restored\n%s\nwant\n%s", got, want)
	}
	if findings, err := r.Check(ctx); err != nil || len(findings) > 0 {
		t.Errorf("check: %q, %v", findings, err)
	}
	if got := claim(t, r, "next", noon, 10); len(got) != 2 {
		t.Errorf("of the open alerts %d are due", len(got))
	}
	if err := Restore(ctx, file, dir); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("over a database: %v", err)
	}
}

func TestABadBackupChangesNothing(t *testing.T) {
	t.Parallel()
	good := filepath.Join(t.TempDir(), "good.db")
	must(t, told(t).Backup(ctx, good))
	data, err := os.ReadFile(good)
	must(t, err)
	damaged := append([]byte(nil), data...)
	copy(damaged[len(damaged)/2:], strings.Repeat("damage", 4096))
	for name, content := range map[string][]byte{
		"missing": nil, "empty": {}, "text": []byte("this is no database, only words"), "cut": data[:len(data)/2], "damaged": damaged,
	} {
		file := filepath.Join(t.TempDir(), name)
		if content != nil {
			must(t, os.WriteFile(file, content, 0o600))
		}
		dir := filepath.Join(t.TempDir(), "data")
		if err := Restore(ctx, file, dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("%s: left behind %q", name, left)
		}
	}
}

func TestABackupThatCannotBeWrittenLeavesNothing(t *testing.T) {
	t.Parallel()
	s := told(t)
	if err := s.Backup(ctx, filepath.Join(t.TempDir(), "nowhere", "copy.db")); err == nil {
		t.Error("written into a directory that does not exist")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	dir := t.TempDir()
	if err := s.Backup(cancelled, filepath.Join(dir, "copy.db")); err == nil {
		t.Error("written though it was called off")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind %q", left)
	}
}

func TestANewerDatabaseIsRefusedAndUntouched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	must(t, s.write(ctx, func(tx *tx) error {
		_, err := tx.exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
		return err
	}))
	must(t, s.Close())
	_, err := Open(ctx, dir, Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	if err == nil || !strings.Contains(err.Error(), "9999") || !strings.Contains(err.Error(), "up to ") {
		t.Errorf("%v", err)
	}
}

func TestADirectoryOfAnyName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space", "100%", "%41", "a?b=c", "a#b", "底値", "a&_pragma=foreign_keys(0)"} {
		dir := filepath.Join(t.TempDir(), name)
		s := open(t, dir)
		shopper(t, s, "u")
		if _, err := os.Stat(filepath.Join(dir, databaseFile)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%q: %v, %v", name, info.Mode(), err)
		}
		must(t, s.Close())
		if users, err := usersBy(ctx, open(t, dir), "1 = 1"); err != nil || len(users) != 1 {
			t.Errorf("%q opened again: %d users, %v", name, len(users), err)
		}
	}
}

// Pragmas belong to connections: each of the pool must have them.
func TestEveryConnectionHasThePragmas(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	want := map[string]string{"foreign_keys": "1", "journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000", "trusted_schema": "0"}
	ask := func(who string, c *sql.Conn, want map[string]string) {
		for pragma, value := range want {
			var got string
			if err := c.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got); err != nil || got != value {
				t.Errorf("%s: %s is %s, %v; want %s", who, pragma, got, err, value)
			}
		}
	}
	ask("writer", s.writes.conn, want)
	want["query_only"] = "1"
	for i := range 8 {
		c, err := s.readers.Conn(ctx)
		must(t, err)
		defer c.Close()
		ask(fmt.Sprint("reader ", i), c, want)
	}
}

func TestCloseFinishesWhatWasAskedAndRefusesMore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	begun, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { _ = s.write(ctx, func(*tx) error { close(begun); <-release; return nil }) })
	<-begun
	const n = 20
	for i := range n {
		all.Go(func() {
			if err := s.CreateUser(ctx, watch.User{ID: fmt.Sprint(i), CreatedAt: noon}, watch.Device{ID: fmt.Sprint(i), CreatedAt: noon}, []byte(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	for len(s.writes.requests) < n {
		time.Sleep(time.Millisecond) // until all of them stand in line
	}
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	close(release)
	must(t, <-closed)
	all.Wait()
	if err := s.DeleteDevice(ctx, "0"); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
	if users, err := usersBy(ctx, open(t, dir), "1 = 1"); err != nil || len(users) != n {
		t.Errorf("%d users, %v", len(users), err)
	}
}

func TestAWriteWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	begun, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		if err := b.write(ctx, func(*tx) error { close(begun); <-release; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-begun
	all.Go(func() {
		if err := a.CreateUser(ctx, watch.User{ID: "u", CreatedAt: noon}, watch.Device{ID: "d", CreatedAt: noon}, []byte("h")); err != nil {
			t.Errorf("while another process writes: %v", err)
		}
	})
	if users, err := usersBy(ctx, a, "1 = 1"); err != nil || len(users) != 0 {
		t.Errorf("a reader was held up by a writer: %d, %v", len(users), err)
	}
	close(release)
	all.Wait()
	if users, err := usersBy(ctx, b, "1 = 1"); err != nil || len(users) != 1 {
		t.Errorf("%d users, %v", len(users), err)
	}
}

func TestHousekeepingKeepsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	s := told(t) // tea has final alerts, rice has open ones
	watching(t, s, "u", "live")
	for _, id := range []string{"wutea", "wurice"} {
		must(t, s.RemoveWatch(ctx, "u", id, noon))
	}
	must(t, s.CreateLinkCode(ctx, "u", []byte("code"), noon.Add(time.Minute)))
	left := func() (ids []string) {
		rows, err := s.query(ctx, "SELECT id FROM watches ORDER BY id")
		must(t, each(rows, err, func(r *sql.Rows) error {
			var id string
			err := r.Scan(&id)
			ids = append(ids, id)
			return err
		}))
		return ids
	}
	must(t, s.Housekeep(ctx, noon.Add(keepRemoved-time.Millisecond), Retention{}))
	if got := left(); len(got) != 3 {
		t.Errorf("too early: %v are left", got)
	}
	must(t, s.Housekeep(ctx, noon.Add(keepRemoved), Retention{}))
	if got := fmt.Sprint(left()); got != "[wulive wurice]" {
		t.Errorf("left are %s", got)
	}
	if alerts, _, err := s.Alerts(ctx, "u", "", 10); err != nil || len(alerts) != 4 {
		t.Errorf("%d alerts, %v: the list of alerts outlives its watches", len(alerts), err)
	}
	if _, err := s.LinkDevice(ctx, []byte("code"), watch.Device{ID: "x"}, []byte("x"), noon); !errors.Is(err, watch.ErrNotFound) {
		t.Errorf("a code that ended: %v", err)
	}
	if findings, err := s.Check(ctx); err != nil || len(findings) > 0 {
		t.Errorf("check: %q, %v", findings, err)
	}
}

func TestHousekeepingThrowsAwayWhatIsOld(t *testing.T) {
	t.Parallel()
	s := told(t)
	w := watching(t, s, "u", "live")
	for i, price := range []int{950, 1000, 990} {
		detected(t, s, w, price, noon.Add(time.Duration(i+1)*time.Hour))
	}
	count := func() string {
		h, err := s.History(ctx, w.Listing.ID)
		must(t, err)
		alerts, _, err := s.Alerts(ctx, "u", "", 100)
		must(t, err)
		final := 0
		for _, a := range alerts {
			if a.Status.Final() {
				final++
			}
		}
		return fmt.Sprintf("%d prices, %d alerts, %d of them final", len(h.Points), len(alerts), final)
	}
	before := count()
	must(t, s.Housekeep(ctx, noon.Add(48*time.Hour), Retention{Default: 60 * time.Hour}))
	if got := count(); got != before {
		t.Errorf("too early: %s, and before %s", got, before)
	}
	must(t, s.Housekeep(ctx, noon.Add(48*time.Hour), Retention{Adapters: map[string]time.Duration{"rakuten": time.Hour}}))
	if got := count(); got != before {
		t.Errorf("another adapter's: %s, and before %s", got, before)
	}
	must(t, s.Housekeep(ctx, noon.Add(48*time.Hour), Retention{Adapters: map[string]time.Duration{w.Listing.Adapter: time.Hour}}))
	if got := count(); !strings.HasPrefix(got, "1 prices") {
		t.Errorf("left: %s", got)
	}
	must(t, s.Housekeep(ctx, noon.Add(48*time.Hour), Retention{Default: 24 * time.Hour}))
	if got := count(); !strings.HasPrefix(got, "1 prices") || !strings.HasSuffix(got, " 0 of them final") || strings.Contains(got, " 0 alerts") {
		t.Errorf("the newest price and what is open stay: %s", got)
	}
}

func TestCheckNamesWhatIsBroken(t *testing.T) {
	t.Parallel()
	for statement, finding := range map[string]string{
		"DELETE FROM deliveries":                                                                                                       "accepted by a push service",
		"UPDATE outbox SET reason = '' WHERE status = 'dropped'":                                                                       "says why",
		"UPDATE outbox SET status = 'retry', reason = 'x' WHERE status = 'pending'":                                                    "says when it is due",
		"UPDATE outbox SET listing_id = 'nowhere' WHERE status = 'pending'":                                                            "user and listing",
		"UPDATE watches SET notified_at = '2020-01-01T00:00:00.000Z' WHERE id = 'wutea'":                                               "last_notified",
		"UPDATE watches SET notified_at = NULL WHERE id = 'wutea'":                                                                     "has moved last_notified",
		"DELETE FROM triggers WHERE watch_id = 'wurice'":                                                                               "has a trigger",
		"UPDATE prices SET price = 0":                                                                                                  "above zero",
		"UPDATE prices SET confirmed_at = '2020-01-01T00:00:00.000Z' WHERE listing_id = 'l'||'tea'":                                    "confirmed after",
		"PRAGMA foreign_keys = 0; DELETE FROM users":                                                                                   "references",
		"DROP TRIGGER outbox_snapshot_is_immutable; UPDATE outbox SET detected_payload_json = '{\"schema\":77}' WHERE status = 'sent'": "snapshot",
	} {
		s := told(t)
		if findings, err := s.Check(ctx); err != nil || len(findings) > 0 {
			t.Fatalf("before: %q, %v", findings, err)
		}
		db, err := sql.Open("sqlite", dsn(s.file, ""))
		must(t, err)
		db.SetMaxOpenConns(1)
		_, err = db.Exec(statement)
		must(t, errors.Join(err, db.Close()))
		findings, err := s.Check(ctx)
		must(t, err)
		if !strings.Contains(strings.Join(findings, "\n"), finding) {
			t.Errorf("%s: %q", statement, findings)
		}
	}
}

func TestStatsCountWhatIsThere(t *testing.T) {
	t.Parallel()
	s := told(t)
	for _, j := range claim(t, s, "me", noon, 1) {
		must(t, later(s, j, "me", outbox.Pending, noon.Add(time.Hour)))
	}
	st, err := s.Stats(ctx, noon.Add(time.Minute))
	must(t, err)
	want := map[outbox.Status]int{outbox.Sent: 1, outbox.Dropped: 1, outbox.Pending: 1, outbox.Retry: 1, outbox.Sending: 0, outbox.Failed: 0}
	for status, n := range want {
		if st.ByStatus[status] != n {
			t.Errorf("%d are %s, want %d", st.ByStatus[status], status, n)
		}
	}
	if st.ByReason[string(outbox.AlreadyTold)] != 1 || st.ByReason["refetch_network"] != 1 || st.Open != 2 || st.Listings != 2 || st.Watches != 2 || st.Users != 1 || st.Subscriptions != 1 {
		t.Errorf("%+v", st)
	}
	if !st.OldestDue.Equal(noon) {
		t.Errorf("the oldest is due since %s", st.OldestDue)
	}
	for _, j := range claim(t, s, "me", noon, 10) {
		must(t, s.Settle(ctx, outbox.Settlement{EntryID: j.Entry.ID, Owner: "me", From: j.Entry.Status, To: outbox.Dropped, Reason: outbox.Expired}))
	}
	if due, err := s.OldestDue(ctx, noon.Add(time.Minute)); err != nil || !due.IsZero() {
		t.Errorf("none is due, and yet %s, %v", due, err)
	}
	if due, err := s.OldestDue(ctx, noon.Add(2*time.Hour)); err != nil || !due.Equal(noon.Add(time.Hour)) {
		t.Errorf("the retry is due since %s, %v", due, err)
	}
}
