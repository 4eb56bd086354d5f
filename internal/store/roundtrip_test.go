package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// same compares by JSON: amounts are equal by value, and a difference is read.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	g, err := json.Marshal(got)
	must(t, err)
	w, err := json.Marshal(want)
	must(t, err)
	if string(g) != string(w) {
		t.Errorf("%s\n got %s\nwant %s", what, g, w)
	}
}

func TestAListingComesBackWhole(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	usd := func(n string) money.Amount { return money.MustParse(n, "USD") }
	kwd := func(n string) money.Amount { return money.MustParse(n, "KWD") }
	at := func(minutes int) time.Time {
		return noon.Add(time.Duration(minutes)*time.Minute + 123*time.Millisecond)
	}
	last := watch.Observation{At: at(1), Price: usd("19.90"), Shipping: usd("0.00"), Points: usd("0.20"), Availability: shop.Preorder,
		Quantity: shop.Quantity{Amount: "2.5", Unit: "kg"}, Name: "Tea “tin” 緑茶 🍵", ImageURL: "https://img.example/a?b=c&d", FoundBy: "json-ld", Evidence: `offers.price "19.90" USD`}
	base := watch.Listing{ID: w.Listing.ID, Ref: w.Listing.Ref, Name: last.Name, ImageURL: last.ImageURL, NextCheckAt: at(30)}
	base.URL = "https://www.tea.example/after/redirect"
	for name, change := range map[string]func(*watch.Listing){
		"read": func(l *watch.Listing) { l.Last, l.CheckedAt = last, last.At },
		"never read": func(l *watch.Listing) {
			l.Last = watch.Observation{Availability: shop.Unknown, Name: l.Name, ImageURL: l.ImageURL}
		},
		"three digits": func(l *watch.Listing) {
			l.Last = last
			l.Last.Price, l.Last.Shipping, l.Last.Points = kwd("1.234"), kwd("0.001"), money.Amount{}
		},
		"failing": func(l *watch.Listing) {
			l.Last, l.CheckedAt, l.Failures, l.GoneStrikes = last, last.At, 7, 2
			l.Problem, l.RestingUntil = &watch.Problem{Kind: "blocked", Since: at(2), Message: "The shop shows a wall of bots."}, at(20)
		},
		"another product": func(l *watch.Listing) { l.Since, l.Last = at(1), last; l.Last.Since = at(1) },
		"gone": func(l *watch.Listing) {
			l.Last, l.Paused, l.Failures, l.GoneStrikes = last, true, 3, 3
			l.Problem = &watch.Problem{Kind: watch.ProblemGone, Since: at(3), Message: "gone"}
		},
		"in quarantine": func(l *watch.Listing) {
			l.Last = last
			l.Suspect = &watch.Suspect{Why: watch.TooGood, Observation: watch.Observation{At: at(4), Price: usd("1.99"), Availability: shop.InStock, Name: "Tea", Quantity: shop.Quantity{Amount: "1", Unit: "l"}}}
			l.Problem = &watch.Problem{Kind: string(watch.TooGood), Since: at(4), Message: "too good"}
		},
	} {
		l := base
		change(&l)
		_, err := s.SaveDetection(ctx, outbox.Detection{Listing: l})
		must(t, err)
		got, err := s.Watch(ctx, "u", w.Watch.ID)
		must(t, err)
		same(t, name, got.Listing, l)
	}
}

func TestAWatchComesBackWhole(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	for i, w := range []watch.Watch{
		{Basis: watch.BasisEffective, Currency: "USD", Quantity: shop.Quantity{Amount: "1.5", Unit: "g"}, Product: "Tea", Note: "日本語 'quoted' \x00 \"", Paused: true, Reference: money.MustParse("19.90", "USD"), Triggers: []watch.Trigger{
			{Type: watch.UnitPrice, Target: money.MustParse("0.3333", "USD"), Unit: "100 g", Armed: true},
			{Type: watch.PriceDrop, Percent: "12.5"},
			{Type: watch.LowestInDays, Days: 365, Armed: true},
			{Type: watch.BackInStock},
			{Type: watch.TargetPrice, Target: money.MustParse("12.50", "USD"), Armed: true},
			{Type: watch.Unreadable, Armed: true}, {Type: watch.Readable}}},
		{Basis: watch.BasisTotal, Currency: "JPY", Triggers: []watch.Trigger{{Type: watch.PriceDrop, Percent: "0", Armed: true}}}, // no reference: the shop states no shipping
	} {
		w.ID, w.UserID, w.CreatedAt = fmt.Sprint("watch", i), "u", noon.Add(time.Duration(i)*time.Second)
		made, err := s.CreateWatch(ctx, w, watch.Listing{ID: fmt.Sprint("l", i), Ref: shop.Ref{Adapter: "page", ItemCode: fmt.Sprint(i), URL: "https://x.example/p"}}, observed(1000), 10)
		must(t, err)
		w.ListingID = made.Listing.ID
		got, err := s.Watch(ctx, "u", w.ID)
		must(t, err)
		same(t, "made", got.Watch, w)
		same(t, "listing", got.Listing, made.Listing)
		w.Note, w.Paused, w.Basis, w.Triggers = "new", false, watch.BasisPrice, w.Triggers[:1]
		w.Revision++
		changed, err := s.UpdateWatch(ctx, "u", w.ID, func(x *watch.Watched) error {
			x.Watch.Note, x.Watch.Paused, x.Watch.Basis, x.Watch.Triggers = w.Note, w.Paused, w.Basis, w.Triggers
			return nil
		})
		must(t, err)
		same(t, "answered", changed.Watch, w)
		got, err = s.Watch(ctx, "u", w.ID)
		must(t, err)
		same(t, "changed", got.Watch, w)
	}
	ws, err := s.Watches(ctx, "u")
	if err != nil || len(ws) != 2 || ws[0].Watch.ID != "watch1" {
		t.Errorf("the newest is not first: %+v, %v", ws, err)
	}
}

func TestAnEntryComesBackWhole(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	w := watching(t, s, "u", "tea")
	o := observed(850)
	o.At, o.Shipping, o.Points, o.Quantity = noon.Add(time.Minute), yen(0), yen(8), shop.Quantity{Amount: "100", Unit: "g"}
	change, fired := w.Watch.Observed(o, watch.History{})
	want := outbox.NewEntry(w.Watch, fired[0], o)
	_, err := s.SaveDetection(ctx, outbox.Detection{Listing: w.Listing, Changes: []watch.Change{change}, Entries: []outbox.Entry{want}})
	must(t, err)
	j := claim(t, s, "me", o.At, 1)[0]
	want.ID = j.Entry.ID
	same(t, "claimed", j.Entry, want)
	same(t, "its watch", j.Watch, w.Watch)
	if j.User.ID != "u" || j.Listing.ID != w.Listing.ID || len(j.Owed) != 1 {
		t.Errorf("job %+v", j)
	}

	checked := outbox.Checked{At: o.At, Price: yen(840), Shipping: yen(0), Points: yen(8), Why: fired[0].Why}
	must(t, s.BeginSend(ctx, outbox.SendStart{EntryID: want.ID, Owner: "me", From: outbox.Pending, WatchID: w.Watch.ID, WatchRevision: w.Watch.Revision, LeaseUntil: o.At.Add(time.Minute), Checked: checked}))
	want.Status, want.Checked = outbox.Sending, &checked
	same(t, "being sent", entry(t, s, "u", want.EventID), want)

	want.Status, want.Reason, want.RetryCount = outbox.Retry, outbox.Push(outbox.Server), 1
	want.Retry = outbox.Schedule{NextAttemptAt: o.At.Add(1500 * time.Millisecond), LastError: "push_server: 503 \"busy\"", Attempts: 1}
	must(t, s.Settle(ctx, outbox.Settlement{EntryID: want.ID, Owner: "me", From: outbox.Sending, To: want.Status, Reason: want.Reason, Retry: want.Retry, RetryCount: 1}))
	same(t, "to be tried again", entry(t, s, "u", want.EventID), want)

	j = claim(t, s, "next", want.Retry.NextAttemptAt, 1)[0]
	same(t, "claimed again", j.Entry, want)
	must(t, s.Settle(ctx, outbox.Settlement{EntryID: want.ID, Owner: "next", From: outbox.Retry, To: outbox.Failed, Reason: outbox.MaxRetry, RetryCount: 2,
		Retry: outbox.Schedule{LastError: "the end", Attempts: 2}}))
	want.Status, want.Reason, want.RetryCount, want.Retry = outbox.Failed, outbox.MaxRetry, 2, outbox.Schedule{LastError: "the end", Attempts: 2}
	same(t, "failed", entry(t, s, "u", want.EventID), want)
}

func TestAlertsAreListedOnceEachTheNewestFirst(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for _, user := range []string{"u", "v"} {
		shopper(t, s, user)
		for i := range 4 {
			detected(t, s, watching(t, s, user, fmt.Sprint(i)), 850, noon)
		}
	}
	seen := map[string]bool{}
	last := int64(1 << 62)
	cursor := ""
	for page := 0; page == 0 || cursor != ""; page++ {
		entries, next, err := s.Alerts(ctx, "u", cursor, 3)
		must(t, err)
		if len(entries) == 0 || len(entries) > 3 {
			t.Fatalf("page %d has %d", page, len(entries))
		}
		for _, e := range entries {
			if e.UserID != "u" || seen[e.EventID] || e.ID >= last {
				t.Errorf("page %d: %+v", page, e)
			}
			seen[e.EventID], last = true, e.ID
		}
		if page == 0 { // one more, while the reader turns the page
			detected(t, s, watching(t, s, "u", "since"), 850, noon)
		}
		cursor = next
	}
	if len(seen) != 8 {
		t.Errorf("%d alerts, want 8", len(seen))
	}
	for event := range seen {
		if _, err := s.Alert(ctx, "v", event); !errors.Is(err, watch.ErrNotFound) {
			t.Errorf("somebody else's alert: %v", err)
		}
	}
	for _, bad := range []string{"x", "AAAA", "!!!!!!!!", "AAAAAAAAAAAAAAAAAAAA"} {
		if _, _, err := s.Alerts(ctx, "u", bad, 3); !errors.Is(err, watch.ErrNotFound) {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
}

func TestWhatIsNotYoursIsNotFound(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	shopper(t, s, "v")
	id := watching(t, s, "u", "tea").Watch.ID
	for name, do := range map[string]func() error{
		"read": func() error { _, err := s.Watch(ctx, "v", id); return err },
		"change": func() error {
			_, err := s.UpdateWatch(ctx, "v", id, func(*watch.Watched) error { return nil })
			return err
		},
		"remove":  func() error { return s.RemoveWatch(ctx, "v", id, noon) },
		"restore": func() error { _, err := s.RestoreWatch(ctx, "v", id, 100); return err },
	} {
		if err := do(); !errors.Is(err, watch.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if ws, err := s.Watches(ctx, "v"); err != nil || len(ws) != 0 {
		t.Errorf("listed: %v, %v", ws, err)
	}
	if _, err := s.Watch(ctx, "u", id); err != nil {
		t.Errorf("the owner's: %v", err)
	}
}

func TestWatchesOfOneShopper(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	create := func(id, item string) (watch.Watched, error) {
		w := watch.New(watch.Watch{ID: id, UserID: "u", Basis: watch.BasisPrice, CreatedAt: noon, Triggers: []watch.Trigger{{Type: watch.TargetPrice, Target: yen(900)}}}, observed(1000))
		return s.CreateWatch(ctx, w, watch.Listing{ID: "l" + id, Ref: shop.Ref{Adapter: "page", ItemCode: item, URL: "https://x.example/p"}}, observed(1000), 2)
	}
	first, err := create("1", "tea")
	must(t, err)
	if again, err := create("2", "tea"); !errors.Is(err, watch.ErrConflict) || again.Watch.ID != "1" {
		t.Errorf("the same product again: %v, of watch %q", err, again.Watch.ID)
	}
	_, err = create("3", "rice")
	must(t, err)
	if _, err := create("4", "salt"); !errors.Is(err, watch.ErrLimit) {
		t.Errorf("above the limit: %v", err)
	}
	var listings int
	must(t, one(s, []any{&listings}, "SELECT count(*) FROM listings"))
	if listings != 2 {
		t.Errorf("%d listings: a watch that was refused left one", listings)
	}
	must(t, s.RemoveWatch(ctx, "u", "1", noon))
	if err := s.RemoveWatch(ctx, "u", "1", noon); !errors.Is(err, watch.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	back, err := s.RestoreWatch(ctx, "u", "1", 100)
	must(t, err)
	if back.Watch.Removed || back.Watch.Revision != first.Watch.Revision+2 || len(back.Watch.Triggers) != 3 {
		t.Errorf("restored %+v", back.Watch)
	}
	if _, err := s.RestoreWatch(ctx, "u", "1", 100); !errors.Is(err, watch.ErrNotFound) {
		t.Errorf("one that is not removed: %v", err)
	}
	must(t, s.RemoveWatch(ctx, "u", "1", noon.Add(-undoFor)))
	if _, err := s.RestoreWatch(ctx, "u", "1", 100); !errors.Is(err, watch.ErrNotFound) {
		t.Errorf("after a day: %v", err)
	}
	boom := errors.New("boom")
	if _, err := s.UpdateWatch(ctx, "u", "3", func(w *watch.Watched) error { w.Watch.Note = "half"; return boom }); !errors.Is(err, boom) {
		t.Errorf("a change that fails: %v", err)
	}
	if w, err := s.Watch(ctx, "u", "3"); err != nil || w.Watch.Note != "" || w.Watch.Revision != 0 {
		t.Errorf("after it: %+v, %v", w.Watch, err)
	}
}

func TestAnImportIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	watching(t, s, "u", "tea")
	imports := func(items ...string) (ws []watch.Watched) {
		for _, item := range items {
			w := watch.New(watch.Watch{ID: "i" + item + fmt.Sprint(len(ws)), Basis: watch.BasisPrice, CreatedAt: noon, Triggers: []watch.Trigger{{Type: watch.TargetPrice, Target: yen(900)}}}, observed(1000))
			ws = append(ws, watch.Watched{Watch: w, Listing: watch.Listing{ID: "li" + item, Ref: shop.Ref{Adapter: "page", ItemCode: item, URL: "https://x.example/" + item}, NextCheckAt: noon}})
		}
		return ws
	}
	if _, err := s.ImportWatches(ctx, "u", imports("a", "b", "c"), 3); !errors.Is(err, watch.ErrLimit) {
		t.Errorf("above the limit: %v", err)
	}
	if ws, _ := s.Watches(ctx, "u"); len(ws) != 1 {
		t.Errorf("%d watches after an import that failed", len(ws))
	}
	n, err := s.ImportWatches(ctx, "u", imports("a", "tea", "a", "b"), 3)
	if err != nil || n != 2 {
		t.Errorf("imported %d, %v; one is there already and one is there twice", n, err)
	}
	if due, err := s.Due(ctx, noon, 10); err != nil || len(due) != 3 {
		t.Errorf("due: %v, %v", due, err)
	}
}

func TestASubscriptionBelongsToOneDevice(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	shopper(t, s, "v")
	must(t, s.CreateLinkCode(ctx, "u", []byte("code"), noon.Add(time.Minute)))
	_, err := s.LinkDevice(ctx, []byte("code"), watch.Device{ID: "d2", CreatedAt: noon}, []byte("h2"), noon)
	must(t, err)
	sub := func(device string) string {
		got, err := s.Subscription(ctx, device)
		if errors.Is(err, watch.ErrNotFound) {
			return "none"
		}
		must(t, err)
		return got.ID + " " + got.Endpoint
	}
	put := func(id, device, endpoint, auth string) error {
		return s.PutSubscription(ctx, outbox.Subscription{ID: id, DeviceID: device, Endpoint: "https://push.example/" + endpoint, P256dh: "p", Auth: auth, KeyID: "k"})
	}
	if err := put("theft", "dv", "u", "a"); !errors.Is(err, watch.ErrConflict) || sub("du") != "su https://push.example/u" || sub("dv") != "sv https://push.example/v" {
		t.Errorf("another user's endpoint: %v; %s, %s", err, sub("du"), sub("dv"))
	}
	must(t, put("fresh", "du", "u", "a"))
	if sub("du") != "su https://push.example/u" {
		t.Errorf("the same again: %s; its id must stay, as deliveries know it", sub("du"))
	}
	must(t, put("fresh", "du", "u", "new keys"))
	if sub("du") != "fresh https://push.example/u" {
		t.Errorf("new keys: %s", sub("du"))
	}
	must(t, put("moved", "d2", "u", "new keys"))
	if sub("du") != "none" || sub("d2") != "fresh https://push.example/u" {
		t.Errorf("moved to another device of the user: %s, %s", sub("du"), sub("d2"))
	}
	must(t, put("other", "d2", "second", "a"))
	if sub("d2") != "other https://push.example/second" {
		t.Errorf("replaced: %s", sub("d2"))
	}
	must(t, s.DeleteSubscription(ctx, "d2"))
	must(t, s.DeleteSubscription(ctx, "d2"))
	want := outbox.Subscription{ID: "w", DeviceID: "du", Endpoint: "https://push.example/w?x=1", P256dh: "B", Auth: "A", KeyID: "K", Origin: "https://app.example", ExpiresAt: noon.Add(time.Hour)}
	must(t, s.PutSubscription(ctx, want))
	got, err := s.Subscription(ctx, "du")
	must(t, err)
	same(t, "subscription", got, want)
}

func TestAProfileIsKept(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	shopper(t, s, "u")
	want := watch.User{ID: "u", Timezone: "Asia/Tokyo", Locale: "ja", QuietFrom: "22:00", QuietTo: "07:30", CreatedAt: noon}
	must(t, s.UpdateUser(ctx, want))
	got, d, err := s.Authenticate(ctx, []byte("hashu"))
	must(t, err)
	same(t, "user", got, want)
	same(t, "device", d, watch.Device{ID: "du", UserID: "u", CreatedAt: noon})
	if _, _, err := s.Authenticate(ctx, []byte("hash")); !errors.Is(err, watch.ErrNotFound) {
		t.Errorf("an unknown token: %v", err)
	}
	if err := s.UpdateUser(ctx, watch.User{ID: "nobody"}); !errors.Is(err, watch.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
	must(t, s.CreateLinkCode(ctx, "u", []byte("old"), noon.Add(time.Minute)))
	must(t, s.CreateLinkCode(ctx, "u", []byte("new"), noon.Add(time.Minute)))
	for code, when := range map[string]time.Time{"old": noon, "new": noon.Add(time.Minute)} {
		if _, err := s.LinkDevice(ctx, []byte(code), watch.Device{ID: code}, []byte(code), when); !errors.Is(err, watch.ErrNotFound) {
			t.Errorf("the %s code at %s: %v", code, when, err)
		}
	}
}
