package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/dispatch"
	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// The model test covers what dispatch does while its storage works; these are
// about what it does when something around it does not.

var start = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// script is a store, a shop and a sender that do as a test says.
type script struct {
	mu       sync.Mutex
	jobs     []outbox.Job
	claimErr error
	history  error
	begin    []error // answers of BeginSend, then nil
	settle   error
	reload   func(id int64) (outbox.Job, error)
	quote    func() (shop.Quote, error)
	send     func(ctx context.Context, s outbox.Subscription, m outbox.Message) outbox.Delivery

	settled  []outbox.Settlement
	released []int64
	sent     int
}

func (s *script) Claim(context.Context, outbox.ClaimRequest) ([]outbox.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs := s.jobs
	s.jobs = nil
	return jobs, s.claimErr
}

func (s *script) Reload(_ context.Context, id int64, _ string) (outbox.Job, error) {
	return s.reload(id)
}

func (s *script) History(context.Context, string) (watch.History, error) {
	return watch.History{}, s.history
}

func (s *script) BeginSend(context.Context, outbox.SendStart) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.begin) == 0 {
		return nil
	}
	err := s.begin[0]
	s.begin = s.begin[1:]
	return err
}

func (s *script) Settle(_ context.Context, e outbox.Settlement) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled = append(s.settled, e)
	return s.settle
}

func (s *script) Release(_ context.Context, id int64, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = append(s.released, id)
	return nil
}

func (s *script) Quote(context.Context, shop.Ref) (shop.Quote, error) { return s.quote() }

func (s *script) Send(ctx context.Context, sub outbox.Subscription, m outbox.Message) outbox.Delivery {
	s.mu.Lock()
	s.sent++
	s.mu.Unlock()
	return s.send(ctx, sub, m)
}

// queued is one claimed alert of ¥900, at a shop that asks ¥850.
func queued() *script {
	quote := shop.Quote{Name: "Tea tin", Price: amount(850), Availability: shop.InStock}
	o := watch.Observe(quote)
	o.At = start
	w := watch.New(watch.Watch{ID: "w", UserID: "u", ListingID: "l", Basis: watch.BasisPrice, CreatedAt: start.Add(-time.Hour),
		Triggers: []watch.Trigger{{Type: watch.TargetPrice, Target: amount(900)}}}, watch.Observation{Price: amount(1000)})
	_, fired := w.Observed(o, watch.History{})
	e := outbox.NewEntry(w, fired[0], o)
	e.ID = 1
	j := outbox.Job{Entry: e, Watch: w, Listing: watch.Listing{ID: "l", Name: "Tea tin"}, User: watch.User{Locale: "en"}, Owed: []outbox.Subscription{{ID: "s", Origin: "https://app.example"}}}
	s := &script{jobs: []outbox.Job{j}, quote: func() (shop.Quote, error) { return quote, nil }}
	s.reload = func(int64) (outbox.Job, error) { return j, nil }
	s.send = func(_ context.Context, sub outbox.Subscription, _ outbox.Message) outbox.Delivery {
		return outbox.Delivery{SubscriptionID: sub.ID, Outcome: outbox.Accepted, At: start}
	}
	return s
}

func run(t *testing.T, s *script, change func(*dispatch.Options)) (dispatch.Counts, string, error) {
	t.Helper()
	var log bytes.Buffer
	o := dispatch.Options{Store: s, Shops: s, Sender: s, Lease: time.Minute, MaxRetry: 8, TTL: time.Hour, Now: func() time.Time { return start }, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	if change != nil {
		change(&o)
	}
	counts, err := dispatch.New(o).Run(context.Background())
	return counts, log.String(), err
}

func TestAClaimThatFailsEndsThePass(t *testing.T) {
	s := queued()
	s.jobs, s.claimErr = nil, errors.New("disk full")
	if _, _, err := run(t, s, nil); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("%v", err)
	}
}

func TestAStorageThatFailsIsSaidAndTheEntryIsLeftAsItIs(t *testing.T) {
	for name, change := range map[string]func(*script){
		"history": func(s *script) { s.history = errors.New("disk full") },
		"begin":   func(s *script) { s.begin = []error{errors.New("disk full")} },
		"settle":  func(s *script) { s.settle = errors.New("disk full") },
	} {
		s := queued()
		change(s)
		counts, log, err := run(t, s, nil)
		if err == nil || counts.Sent != 0 || !strings.Contains(log, "storage failed") {
			t.Errorf("%s: %+v %v", name, counts, err)
		}
		if name != "settle" && s.sent != 0 {
			t.Errorf("%s: sent before it was recorded that a send begins", name)
		}
	}
}

func TestALeaseThatIsLostIsCountedAndNoFault(t *testing.T) {
	for name, change := range map[string]func(*script){
		"at begin":  func(s *script) { s.begin = []error{outbox.ErrLeaseLost} },
		"at settle": func(s *script) { s.settle = outbox.ErrLeaseLost },
		"at reload": func(s *script) {
			s.begin = []error{outbox.ErrChanged}
			s.reload = func(int64) (outbox.Job, error) { return outbox.Job{}, outbox.ErrLeaseLost }
		},
	} {
		s := queued()
		change(s)
		if counts, _, err := run(t, s, nil); err != nil || counts.Lost != 1 || counts.Sent != 0 {
			t.Errorf("%s: %+v %v", name, counts, err)
		}
	}
}

func TestAWatchThatChangesIsDecidedAgain(t *testing.T) {
	s := queued()
	s.begin = []error{outbox.ErrChanged}
	paused := s.jobs[0]
	paused.Watch.Paused = true
	s.reload = func(int64) (outbox.Job, error) { return paused, nil }
	counts, _, err := run(t, s, nil)
	if err != nil || counts.Dropped != 1 || s.settled[0].Reason != outbox.WatchPaused || s.sent != 0 {
		t.Errorf("%+v %v %+v", counts, err, s.settled)
	}
	s = queued()
	s.begin = []error{outbox.ErrChanged, outbox.ErrChanged, outbox.ErrChanged, outbox.ErrChanged}
	if counts, _, err := run(t, s, nil); err != nil || counts.Released != 1 || len(s.released) != 1 || s.sent != 0 {
		t.Errorf("one that changes all the time: %+v %v", counts, err)
	}
}

func TestAPanicHarmsNoOther(t *testing.T) {
	s := queued()
	other := s.jobs[0]
	other.Entry.ID, other.Entry.ListingID, other.Entry.WatchID, other.Watch.ID = 2, "l2", "w2", "w2"
	other.Listing.ID = "l2"
	s.jobs = append(s.jobs, other)
	good := s.quote
	first := true
	var mu sync.Mutex
	s.quote = func() (shop.Quote, error) {
		mu.Lock()
		defer mu.Unlock()
		if first {
			first = false
			panic("a hostile page")
		}
		return good()
	}
	counts, log, _ := run(t, s, nil)
	if counts.Sent != 1 || !strings.Contains(log, "a hostile page") {
		t.Errorf("%+v %s", counts, log)
	}
	s = queued()
	s.send = func(context.Context, outbox.Subscription, outbox.Message) outbox.Delivery { panic("a hostile answer") }
	if counts, _, err := run(t, s, nil); err != nil || counts.Retry != 1 || s.settled[0].Reason != outbox.Push(outbox.Network) {
		t.Errorf("a panic while sending may have sent: %+v %v", counts, err)
	}
}

func TestTheOperatorIsToldOfARefusedKey(t *testing.T) {
	s := queued()
	s.quote = func() (shop.Quote, error) { return shop.Quote{}, &shop.Error{Kind: shop.KindAuth, Message: "key"} }
	counts, log, _ := run(t, s, nil)
	if counts.Retry != 1 || s.settled[0].Reason != "refetch_auth" || !strings.Contains(log, "level=ERROR") {
		t.Errorf("%+v %s", counts, log)
	}
}

func TestOneThatIsStoppedGivesBackWhatItHasNotSent(t *testing.T) {
	s := queued()
	ctx, cancel := context.WithCancel(context.Background())
	quote := s.quote
	s.quote = func() (shop.Quote, error) { cancel(); return quote() }
	d := dispatch.New(dispatch.Options{Store: s, Shops: s, Sender: s, Lease: time.Minute, MaxRetry: 8, TTL: time.Hour, Now: func() time.Time { return start }, Logger: slog.New(slog.DiscardHandler)})
	counts, err := d.Run(ctx)
	if err != nil || counts.Released != 1 || s.sent != 0 || len(s.settled) != 0 {
		t.Errorf("%+v %v", counts, err)
	}
}

func TestAQuoteIsNeverUsedWhenOlderThanAMinute(t *testing.T) {
	s := queued()
	now := start
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	s.begin = []error{outbox.ErrChanged}
	reads := 0
	quote := s.quote
	s.quote = func() (shop.Quote, error) { reads++; return quote() }
	job := s.jobs[0]
	s.reload = func(int64) (outbox.Job, error) { // meanwhile, a minute passes
		mu.Lock()
		now = now.Add(time.Minute)
		mu.Unlock()
		return job, nil
	}
	if counts, _, err := run(t, s, func(o *dispatch.Options) { o.Now = clock }); err != nil || counts.Sent != 1 || reads != 2 {
		t.Errorf("%+v %v, read %d times", counts, err, reads)
	}
	checked := s.settled[0].Checked
	if !checked.At.Equal(start.Add(time.Minute)) {
		t.Errorf("checked at %s", checked.At)
	}
}

func TestTheMessageLeadsToThePublicAddress(t *testing.T) {
	for publicURL, want := range map[string]string{"": "https://app.example/watches/w", "https://sokone.example": "https://sokone.example/watches/w"} {
		s := queued()
		var body string
		s.send = func(_ context.Context, sub outbox.Subscription, m outbox.Message) outbox.Delivery {
			body = string(m.Body)
			if m.TTL != time.Hour || len(m.Body) > 2048 {
				t.Errorf("TTL %s, %d bytes", m.TTL, len(m.Body))
			}
			return outbox.Delivery{SubscriptionID: sub.ID, Outcome: outbox.Accepted}
		}
		run(t, s, func(o *dispatch.Options) { o.PublicURL = publicURL })
		if !strings.Contains(body, `"navigate":"`+want+`"`) {
			t.Errorf("%s", body)
		}
	}
}

func TestAnOptionThatIsMissingIsAProgrammersError(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a dispatcher without a store was made")
		}
	}()
	dispatch.New(dispatch.Options{})
}
