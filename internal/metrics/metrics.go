// Package metrics shows the service's numbers to Prometheus.
package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/store"
)

// Store counts.
type Store interface {
	Stats(ctx context.Context, now time.Time) (store.Stats, error)
}

// Metrics of one service, in a registry of its own.
type Metrics struct {
	registry *prometheus.Registry
	pushes   *prometheus.HistogramVec
	fetches  *prometheus.HistogramVec
	jobs     *prometheus.HistogramVec
	panics   *prometheus.CounterVec
	results  *prometheus.CounterVec
}

// New makes the metrics; counts of the store are taken when they are asked for.
func New(s Store, now func() time.Time, logger *slog.Logger) *Metrics {
	latency := []float64{.005, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		pushes:   prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "sokone_push_seconds", Help: "Requests to push services, by outcome.", Buckets: latency}, []string{"outcome"}),
		fetches:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "sokone_fetch_seconds", Help: "Requests to shops, by outcome, waiting for a turn included.", Buckets: latency}, []string{"outcome"}),
		jobs:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "sokone_job_seconds", Help: "Passes of a job, by result.", Buckets: latency}, []string{"job", "result"}),
		panics:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sokone_job_panics_total", Help: "Passes that panicked."}, []string{"job"}),
		results:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sokone_job_results_total", Help: "What passes did, by result."}, []string{"job", "result"}),
	}
	m.registry.MustRegister(m.pushes, m.fetches, m.jobs, m.panics, m.results,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&stats{store: s, now: now, logger: logger})
	return m
}

// Circuits shows how many shops are not asked because they failed too often.
func (m *Metrics) Circuits(open func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sokone_open_circuits", Help: "Hosts that are not asked for a while, because they failed too often."},
		func() float64 { return float64(open()) }))
}

// Handler answers in the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Push records a request to a push service.
func (m *Metrics) Push(o outbox.Outcome, d time.Duration) {
	m.pushes.WithLabelValues(string(o)).Observe(d.Seconds())
}

// Fetch records a request to a shop.
func (m *Metrics) Fetch(outcome string, d time.Duration) {
	m.fetches.WithLabelValues(outcome).Observe(d.Seconds())
}

// Job records a pass and what it did.
func (m *Metrics) Job(job string, d time.Duration, err error, counts map[string]int64) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.jobs.WithLabelValues(job, result).Observe(d.Seconds())
	for name, n := range counts {
		m.results.WithLabelValues(job, name).Add(float64(n))
	}
}

// Panic records a pass that panicked.
func (m *Metrics) Panic(job string) { m.panics.WithLabelValues(job).Inc() }

var (
	entries   = prometheus.NewDesc("sokone_outbox_entries", "Outbox entries in each state.", []string{"status"}, nil)
	reasons   = prometheus.NewDesc("sokone_outbox_reasons", "Outbox entries retried, dropped or failed, by reason.", []string{"reason"}, nil)
	open      = prometheus.NewDesc("sokone_outbox_open", "Outbox entries that are not final.", nil, nil)
	oldest    = prometheus.NewDesc("sokone_outbox_oldest_due_seconds", "How long the longest waiting entry has been due.", nil, nil)
	problems  = prometheus.NewDesc("sokone_listing_problems", "Listings that cannot be read, by what is wrong.", []string{"kind"}, nil)
	inventory = prometheus.NewDesc("sokone_things", "How many there are.", []string{"thing"}, nil)
)

// stats turns counts of the store into metrics. They are kept for some seconds,
// so that an eager scraper is no load.
type stats struct {
	store  Store
	now    func() time.Time
	logger *slog.Logger

	mu   sync.Mutex
	at   time.Time
	last store.Stats
}

const keepStats = 5 * time.Second

// Describe names the metrics.
func (s *stats) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{entries, reasons, open, oldest, problems, inventory} {
		ch <- d
	}
}

// Collect counts.
func (s *stats) Collect(ch chan<- prometheus.Metric) {
	st, ok := s.get()
	if !ok {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for status, n := range st.ByStatus {
		gauge(entries, float64(n), string(status))
	}
	for reason, n := range st.ByReason {
		gauge(reasons, float64(n), reason)
	}
	for kind, n := range st.Problems {
		gauge(problems, float64(n), kind)
	}
	gauge(open, float64(st.Open))
	waited := 0.0
	if !st.OldestDue.IsZero() {
		waited = max(s.now().Sub(st.OldestDue).Seconds(), 0)
	}
	gauge(oldest, waited)
	for thing, n := range map[string]int{"listings": st.Listings, "watches": st.Watches, "users": st.Users, "subscriptions": st.Subscriptions} {
		gauge(inventory, float64(n), thing)
	}
}

func (s *stats) get() (store.Stats, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if !s.at.IsZero() && now.Sub(s.at).Abs() < keepStats {
		return s.last, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	st, err := s.store.Stats(ctx, now)
	if err != nil {
		s.logger.Error("metrics: counts failed", "error", err)
		return store.Stats{}, false
	}
	s.at, s.last = now, st
	return st, true
}
