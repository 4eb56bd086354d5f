package metrics_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/sokone/sokone/internal/metrics"
	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/store"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// counted is a store whose counts a test sets. It says how often it was asked.
type counted struct {
	mu    sync.Mutex
	stats store.Stats
	err   error
	asked int
}

func (c *counted) Stats(context.Context, time.Time) (store.Stats, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.stats, c.err
}

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func lines(t *testing.T, body string, want ...string) {
	t.Helper()
	for _, line := range want {
		if !strings.Contains("\n"+body, "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
}

func TestTheNumbersOfTheStore(t *testing.T) {
	s := &counted{stats: store.Stats{
		ByStatus: map[outbox.Status]int{outbox.Pending: 2, outbox.Sent: 7, outbox.Failed: 0}, ByReason: map[string]int{"condition_lost": 3}, Open: 2,
		OldestDue: noon.Add(-90 * time.Second), Problems: map[string]int{"blocked": 4}, Listings: 5, Watches: 6, Users: 1, Subscriptions: 8,
	}}
	m := metrics.New(s, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
	m.Circuits(func() int { return 2 })
	lines(t, scrape(t, m),
		`sokone_outbox_entries{status="pending"} 2`, `sokone_outbox_entries{status="sent"} 7`, `sokone_outbox_entries{status="failed"} 0`,
		`sokone_outbox_reasons{reason="condition_lost"} 3`, `sokone_outbox_open 2`, `sokone_outbox_oldest_due_seconds 90`,
		`sokone_listing_problems{kind="blocked"} 4`, `sokone_things{thing="listings"} 5`, `sokone_things{thing="watches"} 6`,
		`sokone_things{thing="users"} 1`, `sokone_things{thing="subscriptions"} 8`, `sokone_open_circuits 2`)
}

func TestNothingDueIsNoWait(t *testing.T) {
	for name, due := range map[string]time.Time{"none": {}, "a clock that went back": noon.Add(time.Hour)} {
		m := metrics.New(&counted{stats: store.Stats{OldestDue: due}}, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
		if !strings.Contains(scrape(t, m), "\nsokone_outbox_oldest_due_seconds 0\n") {
			t.Errorf("%s: the wait is not 0", name)
		}
	}
}

func TestWhatJobsAndRequestsDid(t *testing.T) {
	m := metrics.New(&counted{}, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
	m.Push(outbox.Accepted, 20*time.Millisecond)
	m.Push(outbox.Gone, time.Second)
	m.Fetch("blocked", time.Second)
	m.Job("detect", 2*time.Second, nil, map[string]int64{"read": 3})
	m.Job("detect", 2*time.Second, nil, map[string]int64{"read": 4})
	m.Job("dispatch", time.Second, errors.New("disk full"), nil)
	m.Panic("dispatch")
	lines(t, scrape(t, m),
		`sokone_push_seconds_count{outcome="`+string(outbox.Accepted)+`"} 1`, `sokone_push_seconds_sum{outcome="`+string(outbox.Gone)+`"} 1`,
		`sokone_fetch_seconds_count{outcome="blocked"} 1`, `sokone_job_seconds_count{job="detect",result="ok"} 2`,
		`sokone_job_results_total{job="detect",result="read"} 7`, `sokone_job_seconds_count{job="dispatch",result="error"} 1`,
		`sokone_job_panics_total{job="dispatch"} 1`)
}

// An eager scraper is no load, and a scrape after a while sees what is new.
func TestCountsAreKeptForSomeSeconds(t *testing.T) {
	now := noon
	s := &counted{}
	m := metrics.New(s, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	for range 5 {
		scrape(t, m)
	}
	if s.asked != 1 {
		t.Errorf("five scrapes at once counted %d times", s.asked)
	}
	now = now.Add(time.Minute)
	s.stats.Open = 9
	lines(t, scrape(t, m), "sokone_outbox_open 9")
	now = now.Add(-time.Hour) // the clock was set back
	s.stats.Open = 3
	lines(t, scrape(t, m), "sokone_outbox_open 3")
}

func TestACountThatFailsIsLoggedAndTheRestIsShown(t *testing.T) {
	var log bytes.Buffer
	s := &counted{err: errors.New("disk I/O error")}
	m := metrics.New(s, func() time.Time { return noon }, slog.New(slog.NewTextHandler(&log, nil)))
	m.Panic("detect")
	body := scrape(t, m)
	lines(t, body, `sokone_job_panics_total{job="detect"} 1`)
	if strings.Contains(body, "sokone_outbox_open") || !strings.Contains(log.String(), "disk I/O error") {
		t.Errorf("numbers that nobody counted, or no word of it: %s", log.String())
	}
	s.err = nil
	lines(t, scrape(t, m), "sokone_outbox_open 0") // a failure is not kept
}

func TestTwoServicesInOneProcess(t *testing.T) {
	for range 2 {
		m := metrics.New(&counted{}, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
		scrape(t, m)
	}
}

func TestNamesAreAsPrometheusAsks(t *testing.T) {
	s := &counted{stats: store.Stats{ByStatus: map[outbox.Status]int{outbox.Sent: 1}, ByReason: map[string]int{"expired": 1}, Problems: map[string]int{"parse": 1}}}
	m := metrics.New(s, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
	m.Circuits(func() int { return 0 })
	m.Push(outbox.Accepted, time.Second)
	m.Fetch("ok", time.Second)
	m.Job("detect", time.Second, nil, map[string]int64{"read": 1})
	m.Panic("detect")
	problems, err := promlint.New(strings.NewReader(scrape(t, m))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "sokone_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}
