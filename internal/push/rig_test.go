package push_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/push"
	"github.com/sokone/sokone/internal/push/pushtest"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// clock is a time that only the test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// logs is a log that a test can read.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// errors counts the operator signals.
func (l *logs) errors() int { return strings.Count(l.String(), "level=ERROR") }

// rig is a sender and a push service under one clock.
type rig struct {
	*push.Sender
	service *pushtest.Service
	clock   *clock
	logs    *logs
	keys    push.Keys
}

func newRig(t testing.TB, change ...func(*push.Options)) *rig {
	t.Helper()
	c := &clock{at: time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)}
	service, err := pushtest.Listen(pushtest.Options{Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		service.Close()
		for _, f := range service.Refusals() { // the sender breaks no rule, in no test
			if !strings.HasPrefix(f.Fault, "VapidPkHashMismatch") {
				t.Errorf("refused with %d: %s", f.Status, f.Fault)
			}
		}
	})
	keys, err := push.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	l := &logs{}
	o := push.Options{
		Keys: keys, Contact: "mailto:ops@example.org", AllowNetworks: loopback,
		Now: c.Now, Logger: slog.New(slog.NewTextHandler(l, nil)),
	}
	for _, f := range change {
		f(&o)
	}
	s := push.NewSender(o)
	t.Cleanup(s.Close)
	return &rig{s, service, c, l, keys}
}

// subscribe makes a stored subscription under today's key.
func (r *rig) subscribe(t testing.TB) outbox.Subscription {
	t.Helper()
	b, err := r.service.Subscribe("")
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.CheckSubscription(b.Endpoint, b.Keys.P256dh, b.Keys.Auth)
	if err != nil {
		t.Fatal(err)
	}
	s.ID = rand.Text()
	return s
}

func message() outbox.Message {
	id := outbox.NewEventID()
	return outbox.Message{EventID: id, Body: body(id), TTL: time.Hour}
}

func body(eventID string) []byte {
	return fmt.Appendf(nil, `{"web_push":8030,"notification":{"title":"Kaffee","navigate":"https://example.org/","tag":%[1]q,"data":{"event_id":%[1]q}}}`, eventID)
}

// send sends a new message and fails the test where the outcome is another.
func (r *rig) send(t *testing.T, s outbox.Subscription, want outbox.Outcome) outbox.Delivery {
	t.Helper()
	d := r.Send(ctx(t), s, message())
	if d.Outcome != want {
		t.Fatalf("outcome %q (%d, %s), want %q", d.Outcome, d.Status, d.Detail, want)
	}
	if d.SubscriptionID != s.ID || d.At.IsZero() {
		t.Errorf("delivery is of %q at %s", d.SubscriptionID, d.At)
	}
	return d
}

// requests fails the test where another number of requests came in.
func (r *rig) requests(t *testing.T, want int) {
	t.Helper()
	if got := r.service.Requests(); got != want {
		t.Errorf("%d requests, want %d", got, want)
	}
}

func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return c
}
