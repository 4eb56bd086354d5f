package dispatch_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sokone/sokone/internal/detect"
	"github.com/sokone/sokone/internal/dispatch"
	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/store"
	"github.com/sokone/sokone/internal/watch"
)

// The model test drives the real store, detection and two dispatchers with
// random interleavings of price moves, failures, crashes, clock steps and
// removals, and compares what the receivers got with a small model of the
// promise: an alert is true when it is sent, comes once, and is never lost.

const (
	modelTarget = 900
	modelLease  = 2 * time.Minute
)

// world is what lies outside: the clock, the shop, the push service, the receivers.
type world struct {
	now time.Time

	price  map[string]int // by item code; yen
	name   string         // what every page names; "" for a tea tin
	out    map[string]bool
	broken map[string]shop.Kind

	push    outbox.Outcome // what the push service answers
	deliver bool           // with Network: it was delivered all the same
	dieIn   int            // writes until the process dies; below 0 for never
	sent    []received
	fail    func(format string, args ...any)
}

type received struct {
	watch   string // the device's only watch
	eventID string
	price   int
	at      time.Time
}

func (w *world) clock() time.Time { return w.now }

func (w *world) Quote(_ context.Context, ref shop.Ref) (shop.Quote, error) {
	if kind := w.broken[ref.ItemCode]; kind != "" {
		return shop.Quote{}, &shop.Error{Kind: kind, Message: "broken"}
	}
	q := shop.Quote{Ref: ref, Name: cmp.Or(w.name, "Tea tin"), Price: amount(w.price[ref.ItemCode]), Availability: shop.InStock, ObservedAt: w.now,
		Quantity: shop.Quantity{Amount: "1000", Unit: "g"}}
	if w.out[ref.ItemCode] {
		q.Availability = shop.OutOfStock
	}
	return q, nil
}

// errDead is what a process gets from its storage after it died: nothing it
// does any more has an effect.
var errDead = errors.New("this process is dead")

// mortal is a dispatcher's view of the store; it dies after some writes.
type mortal struct {
	dispatch.Store
	w    *world
	mu   sync.Mutex
	dead bool
}

func (m *mortal) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *mortal) lives() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.w.dieIn == 0 {
		m.dead = true
	}
	if m.w.dieIn >= 0 {
		m.w.dieIn--
	}
	return !m.dead
}

func (m *mortal) Claim(ctx context.Context, r outbox.ClaimRequest) ([]outbox.Job, error) {
	if !m.lives() {
		return nil, errDead
	}
	return m.Store.Claim(ctx, r)
}

func (m *mortal) BeginSend(ctx context.Context, s outbox.SendStart) error {
	if !m.lives() {
		return errDead
	}
	return m.Store.BeginSend(ctx, s)
}

func (m *mortal) Settle(ctx context.Context, s outbox.Settlement) error {
	if !m.lives() {
		return errDead
	}
	return m.Store.Settle(ctx, s)
}

func (m *mortal) Release(ctx context.Context, id int64, owner string) error {
	if m.isDead() {
		return errDead
	}
	return m.Store.Release(ctx, id, owner)
}

// sender delivers to the receivers of the world.
type sender struct {
	w *world
	m *mortal
	j map[string]string // subscription → watch
	l map[string]string // watch → item code
}

func (s sender) Send(_ context.Context, sub outbox.Subscription, msg outbox.Message) outbox.Delivery {
	d := outbox.Delivery{SubscriptionID: sub.ID, Outcome: s.w.push, At: s.w.now}
	if s.m.isDead() {
		d.Outcome = outbox.Network
		return d
	}
	if d.Outcome == outbox.Accepted || d.Outcome == outbox.Network && s.w.deliver {
		id := s.j[sub.ID]
		item := s.l[id]
		price := s.w.price[item]
		switch {
		case contains(msg.Body, "could not be read"):
			if s.w.broken[item] == "" {
				s.w.fail("told that a page that can be read cannot: %s", msg.Body)
			}
			return d
		case contains(msg.Body, "can be read again"):
			if s.w.broken[item] != "" {
				s.w.fail("told that a broken page can be read: %s", msg.Body)
			}
		case s.w.out[item] || s.w.broken[item] != "" || price > modelTarget:
			s.w.fail("a false alert: %s at %d, out %t, broken %q", msg.Body, price, s.w.out[item], s.w.broken[item])
		}
		if want := fmt.Sprintf(`"price":{"amount":"%d"`, price); !contains(msg.Body, want) {
			s.w.fail("the message says %s, the price is %d", msg.Body, price)
		}
		s.w.sent = append(s.w.sent, received{id, msg.EventID, price, s.w.now})
	}
	return d
}

func contains(body []byte, s string) bool { return bytes.Contains(body, []byte(s)) }

func TestModelOfThePromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "model")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		m := newModel(t, dir)
		defer m.close()
		t.Repeat(map[string]func(*rapid.T){
			"move the price": func(t *rapid.T) {
				m.w.price[m.item(t)] = rapid.SampledFrom([]int{700, 800, 850, 900, 901, 1000, 1200}).Draw(t, "price")
			},
			"sell out or restock": func(t *rapid.T) { i := m.item(t); m.w.out[i] = !m.w.out[i] },
			"break or mend the page": func(t *rapid.T) {
				m.w.broken[m.item(t)] = rapid.SampledFrom([]shop.Kind{"", "", shop.KindParse, shop.KindNetwork, shop.KindRateLimited, shop.KindBlocked}).Draw(t, "kind")
			},
			"push service": func(t *rapid.T) {
				m.w.push = rapid.SampledFrom([]outbox.Outcome{outbox.Accepted, outbox.Accepted, outbox.Server, outbox.Network, outbox.RateLimited}).Draw(t, "outcome")
				m.w.deliver = rapid.Bool().Draw(t, "delivered all the same")
			},
			"time passes": func(t *rapid.T) {
				m.w.now = m.w.now.Add(time.Duration(rapid.IntRange(1, 1500).Draw(t, "minutes")) * time.Minute)
			},
			"the clock steps back": func(t *rapid.T) {
				m.w.now = m.w.now.Add(-time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
			},
			"detect":       func(t *rapid.T) { m.detect(t, rapid.IntRange(0, 1).Draw(t, "process")) },
			"detect again": func(t *rapid.T) { m.detect(t, rapid.IntRange(0, 1).Draw(t, "process")) },
			"dispatch":     func(t *rapid.T) { m.dispatch(t, rapid.IntRange(0, 1).Draw(t, "process"), -1) },
			"dispatch dies": func(t *rapid.T) {
				m.dispatch(t, rapid.IntRange(0, 1).Draw(t, "process"), rapid.IntRange(0, 6).Draw(t, "after"))
			},
			"pause or resume": func(t *rapid.T) { m.pause(t) },
			"":                func(t *rapid.T) { m.check(t) },
		})
		m.settle(t)
	})
}

// One event that several triggers wait for is one alert, however long it lasts.
func TestOneEventIsToldOnce(t *testing.T) {
	m := newModel(t, t.TempDir())
	defer m.close()
	m.w.price["tea"] = 850
	for range 60 { // 30 hours in half hours
		m.w.now = m.w.now.Add(30 * time.Minute)
		m.detect(t, 0)
		m.dispatch(t, 1, -1)
	}
	if len(m.w.sent) != 2 {
		t.Errorf("two watches wait for ¥900; told: %+v", m.w.sent)
	}
}

// A page that names another product is flagged after a second look, and never
// compared: neither detection nor the re-check of what is queued believes it.
func TestAnotherProductIsFlaggedAndNotCompared(t *testing.T) {
	m := newModel(t, t.TempDir())
	defer m.close()
	m.w.fail = t.Fatalf
	step := func() {
		m.w.now = m.w.now.Add(30 * time.Minute)
		m.detect(t, 0)
		m.dispatch(t, 1, -1)
	}
	m.w.price["tea"] = 850
	m.detect(t, 0) // queued, and not yet sent
	m.w.name, m.w.price["tea"] = "Electric kettle", 800
	for range 10 {
		step()
	}
	if len(m.w.sent) != 0 {
		t.Fatalf("told of a kettle: %+v", m.w.sent)
	}
	w, err := m.stores[0].Watch(context.Background(), "user0", "watchuser0")
	must(t, err)
	if p := w.Problem(); p == nil || p.Kind != string(watch.OtherProduct) || w.Listing.Name != "Electric kettle" {
		t.Errorf("%+v", p)
	}
	entries, _, err := m.stores[0].Alerts(context.Background(), "user0", "", 10)
	must(t, err)
	if len(entries) == 0 || entries[0].Status != outbox.Dropped || entries[0].Reason != outbox.ConditionLost {
		t.Errorf("what was queued for the tea: %+v", entries)
	}
	_, err = m.stores[0].UpdateWatch(context.Background(), "user0", "watchuser0", func(w *watch.Watched) (err error) {
		w.Watch, err = w.Watch.Accept(w.Listing)
		return err
	})
	must(t, err)
	for range 10 {
		step()
	}
	if len(m.w.sent) != 1 || m.w.sent[0].watch != "watchuser0" || m.w.sent[0].price != 800 {
		t.Errorf("one owner took the kettle for it: %+v", m.w.sent)
	}
	m.w.name = ""
	for range 3 {
		step()
	}
	if len(m.w.sent) != 2 || m.w.sent[1].watch != "watchuser1" {
		t.Errorf("the tea is back for the other: %+v", m.w.sent)
	}
}

type model struct {
	w      *world
	stores [2]*store.Store // two processes on one file
	users  []string
	items  []string
	subs   map[string]string // subscription → watch
	onto   map[string]string // watch → item code
}

func newModel(t rapid.TB, dir string) *model {
	ctx := context.Background()
	m := &model{
		w: &world{now: time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC), price: map[string]int{}, out: map[string]bool{},
			broken: map[string]shop.Kind{}, push: outbox.Accepted, dieIn: -1, fail: func(f string, a ...any) { t.Fatalf(f, a...) }},
		items: []string{"tea", "rice"}, subs: map[string]string{}, onto: map[string]string{},
	}
	for i := range m.stores {
		s, err := store.Open(ctx, dir, store.Options{Logger: slog.New(slog.DiscardHandler), Now: m.w.clock})
		if err != nil {
			t.Fatal(err)
		}
		m.stores[i] = s
	}
	for i, item := range []string{"tea", "tea", "rice"} {
		m.w.price[item] = 1000
		user, device := fmt.Sprintf("user%d", i), fmt.Sprintf("device%d", i)
		must(t, m.stores[0].CreateUser(ctx, watch.User{ID: user, Timezone: "UTC", Locale: "en", CreatedAt: m.w.now},
			watch.Device{ID: device, UserID: user, CreatedAt: m.w.now}, []byte(device)))
		must(t, m.stores[0].PutSubscription(ctx, outbox.Subscription{ID: "sub" + user, DeviceID: device, Endpoint: "https://push.example/" + user, P256dh: "p", Auth: "a", KeyID: "k", Origin: "https://app.example"}))
		quote, _ := m.w.Quote(ctx, shop.Ref{Adapter: "page", ItemCode: item, URL: "https://" + item + ".example/p"})
		o := watch.Observe(quote)
		made := watch.New(watch.Watch{ID: "watch" + user, UserID: user, Basis: watch.BasisPrice, CreatedAt: m.w.now,
			Triggers: []watch.Trigger{{Type: watch.TargetPrice, Target: amount(modelTarget)}, {Type: watch.UnitPrice, Target: amount(modelTarget), Unit: "kg"}}}, o)
		if _, err := m.stores[0].CreateWatch(ctx, made, watch.Listing{ID: "listing" + item, Ref: quote.Ref, Name: o.Name}, o, 10); err != nil {
			t.Fatal(err)
		}
		m.users = append(m.users, user)
		m.subs["sub"+user], m.onto["watch"+user] = "watch"+user, item
	}
	return m
}

func (m *model) close() {
	for _, s := range m.stores {
		_ = s.Close()
	}
}

func (m *model) item(t *rapid.T) string { return rapid.SampledFrom(m.items).Draw(t, "item") }

func (m *model) detect(t rapid.TB, process int) {
	d := detect.New(detect.Options{Store: m.stores[process], Shops: m.w, Lease: modelLease, Now: m.w.clock,
		Spread: func() float64 { return 0.5 }, Logger: slog.New(slog.DiscardHandler),
		Schedule: watch.Schedule{Interval: 0, Max: time.Hour}})
	if _, err := d.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func (m *model) dispatch(t rapid.TB, process, dieIn int) {
	m.w.dieIn = dieIn
	mortal := &mortal{Store: m.stores[process], w: m.w}
	d := dispatch.New(dispatch.Options{Store: mortal, Shops: m.w, Sender: sender{m.w, mortal, m.subs, m.onto}, Lease: modelLease,
		MaxRetry: 8, TTL: time.Hour, Now: m.w.clock, Logger: slog.New(slog.DiscardHandler), Sends: 1})
	if _, err := d.Run(context.Background()); err != nil && !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	m.w.dieIn = -1
}

func (m *model) pause(t *rapid.T) {
	user := rapid.SampledFrom(m.users).Draw(t, "user")
	_, err := m.stores[0].UpdateWatch(context.Background(), user, "watch"+user, func(w *watch.Watched) error {
		w.Watch.Paused = !w.Watch.Paused
		return nil
	})
	must(t, err)
}

// check holds after every step.
func (m *model) check(t rapid.TB) {
	ctx := context.Background()
	findings, err := m.stores[1].Check(ctx)
	must(t, err)
	if len(findings) > 0 {
		t.Fatalf("the database is not well: %q", findings)
	}
	for _, user := range m.users {
		w, err := m.stores[0].Watch(ctx, user, "watch"+user)
		must(t, err)
		entries, _, err := m.stores[0].Alerts(ctx, user, "", 1000)
		must(t, err)
		m.once(t, w.Watch, entries)
	}
}

// once: one alert a day and trigger, each marked sent only if a receiver has it
// under that event id, and last_notified moved by nothing else.
func (m *model) once(t rapid.TB, w watch.Watch, entries []outbox.Entry) {
	told := map[string]outbox.Entry{}
	days := map[string]string{}
	var last *outbox.Entry
	for _, e := range entries {
		if e.Status != outbox.Sent {
			continue
		}
		told[e.EventID] = e
		day := e.DetectedAt.UTC().Format(time.DateOnly) + string(e.Trigger)
		if other := days[day]; other != "" {
			t.Fatalf("two alerts of %s on %s: %s and %s", e.Trigger, day, other, e.EventID)
		}
		days[day] = e.EventID
		if e.Trigger.Chosen() && (last == nil || e.SentAt.After(last.SentAt)) {
			last = &e
		}
	}
	if (last == nil) != (w.LastNotified == nil) {
		t.Fatalf("last_notified is %+v, the last sent alert %+v", w.LastNotified, last)
	}
	// Every committed "sent" reached the receiver under that event id.
	for id, e := range told {
		if !e.Trigger.Chosen() {
			continue
		}
		reached := false
		for _, r := range m.w.sent {
			reached = reached || r.eventID == id && r.watch == w.ID
		}
		if !reached {
			t.Fatalf("entry %s is marked sent, and nobody got it", id)
		}
	}
}

// settle mends everything, offers a price below any before, and lets days pass:
// each watch must hear of it, and no entry may be left open.
func (m *model) settle(t *rapid.T) {
	ctx := context.Background()
	for _, item := range m.items {
		m.w.broken[item], m.w.out[item], m.w.price[item] = "", false, 650
	}
	m.w.push = outbox.Accepted
	for _, user := range m.users {
		_, err := m.stores[0].UpdateWatch(ctx, user, "watch"+user, func(w *watch.Watched) error { w.Watch.Paused = false; return nil })
		must(t, err)
	}
	for range 80 { // 40 hours in half hours
		m.w.now = m.w.now.Add(30 * time.Minute)
		m.detect(t, 0)
		m.dispatch(t, 1, -1)
	}
	m.check(t)
	for _, user := range m.users {
		reached := false
		for _, r := range m.w.sent {
			reached = reached || r.watch == "watch"+user && r.price == 650
		}
		if !reached {
			t.Fatalf("lost: %s never heard of 650", user)
		}
		entries, _, err := m.stores[0].Alerts(ctx, user, "", 1000)
		must(t, err)
		for _, e := range entries {
			if !e.Status.Final() {
				t.Fatalf("stuck: %+v", e)
			}
		}
	}
}

func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
