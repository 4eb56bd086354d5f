// Package detect is the detection pass: it polls each due listing once for all
// its watches, and writes what it saw and whom to tell in one transaction. It
// sends nothing.
package detect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// Store is what detection needs of the storage.
type Store interface {
	Due(ctx context.Context, now time.Time, limit int) ([]watch.Due, error)
	BeginPoll(ctx context.Context, listingID string, now, leaseUntil time.Time) (watch.Poll, bool, error)
	SaveDetection(ctx context.Context, d outbox.Detection) (enqueued int, err error)
}

// Shops reads listings.
type Shops interface {
	Quote(ctx context.Context, ref shop.Ref) (shop.Quote, error)
}

// Options of a Detector. All but Budget, Workers and Limit are required.
type Options struct {
	Store    Store
	Shops    Shops
	Schedule watch.Schedule   // when a listing is due again
	Lease    time.Duration    // how long a listing being polled belongs to this process
	Budget   time.Duration    // no poll begins later than this into a pass; 0 for no limit
	Polls    *rate.Limiter    // bounds the polls of all hosts together; nil for no bound
	Workers  int              // hosts polled at the same time; default 32
	Limit    int              // listings looked at in one pass; default 50 000
	Now      func() time.Time // the clock
	Spread   func() float64   // in [0, 1): spreads due times
	Logger   *slog.Logger
}

// Detector runs detection passes.
type Detector struct{ Options }

// New checks the options; a missing one is a programmer's error.
func New(o Options) *Detector {
	if o.Store == nil || o.Shops == nil || o.Now == nil || o.Spread == nil || o.Logger == nil || o.Lease <= 0 {
		panic("detect: an option is missing")
	}
	if o.Workers == 0 {
		o.Workers = 32
	}
	if o.Limit == 0 {
		o.Limit = 50_000
	}
	return &Detector{o}
}

// Counts of one pass.
type Counts struct {
	Due         int64 `json:"due"`
	Read        int64 `json:"read"`
	Failed      int64 `json:"failed"`      // nothing could be read
	Quarantined int64 `json:"quarantined"` // read, and not believed yet
	Skipped     int64 `json:"skipped"`     // another process has it, or the pass ran out of time
	Enqueued    int64 `json:"enqueued"`
}

// Run makes one pass. When ctx ends it starts no more polls and finishes those
// in flight. Polls go to many hosts at once and to each host one at a time.
func (d *Detector) Run(ctx context.Context) (Counts, error) {
	began := d.Now()
	due, err := d.Store.Due(ctx, began, d.Limit)
	if err != nil {
		return Counts{}, fmt.Errorf("detect: due listings: %w", err)
	}
	p := &pass{Detector: d, began: began}
	p.counts.Due = int64(len(due))
	// A host goes round: one poll, then back to the end of the line, so that a
	// shop with many listings does not hold up the others.
	hosts := queues(due)
	line := make(chan *queue, len(hosts))
	for _, q := range hosts {
		line <- q
	}
	var open atomic.Int64
	if open.Store(int64(len(hosts))); len(hosts) == 0 {
		close(line)
	}
	var workers sync.WaitGroup
	for range min(d.Workers, len(hosts)) {
		workers.Go(func() {
			for q := range line {
				if ctx.Err() != nil || p.spent() || !p.turn(ctx) {
					atomic.AddInt64(&p.counts.Skipped, int64(len(q.listings)))
					q.listings = nil
				} else {
					p.poll(ctx, q.listings[0])
					q.listings = q.listings[1:]
				}
				if len(q.listings) > 0 {
					line <- q
				} else if open.Add(-1) == 0 {
					close(line)
				}
			}
		})
	}
	workers.Wait()
	return p.counts, errors.Join(p.failure, ctx.Err())
}

type queue struct{ listings []string }

func queues(due []watch.Due) []*queue {
	byHost := map[string]*queue{}
	var hosts []*queue
	for _, l := range due {
		q := byHost[l.Host]
		if q == nil {
			q = &queue{}
			byHost[l.Host] = q
			hosts = append(hosts, q)
		}
		q.listings = append(q.listings, l.ListingID)
	}
	return hosts
}

type pass struct {
	*Detector
	began   time.Time
	counts  Counts
	once    sync.Once
	failure error // the first failure of the storage; the pass goes on, as others may do better
}

// turn waits until one more poll is within the bound of all hosts together. It
// is false where that is not in this pass: what is due longest is polled first in
// the next.
func (p *pass) turn(ctx context.Context) bool {
	if p.Polls == nil {
		return true
	}
	if p.Budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, p.began.Add(p.Budget))
		defer cancel()
	}
	return p.Polls.Wait(ctx) == nil
}

func (p *pass) spent() bool { return p.Budget > 0 && p.Now().Sub(p.began) > p.Budget }

func (p *pass) poll(ctx context.Context, listingID string) {
	// In flight is finished even when ctx ends; the lease bounds it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(p.Lease, time.Minute))
	defer cancel()
	defer func() {
		if r := recover(); r != nil { // one hostile page must not end the pass
			atomic.AddInt64(&p.counts.Failed, 1)
			p.Logger.Error("detect: panic while polling", "listing", listingID, "panic", fmt.Sprint(r))
		}
	}()
	now := p.Now()
	poll, ours, err := p.Store.BeginPoll(ctx, listingID, now, now.Add(p.Lease))
	if err != nil {
		p.fail(listingID, err)
		return
	}
	if !ours {
		atomic.AddInt64(&p.counts.Skipped, 1)
		return
	}
	quote, err := p.Shops.Quote(ctx, poll.Listing.Ref)
	plan := Decide(poll, quote, shop.AsError(err), p.Now(), p.Schedule, p.Spread())
	p.report(poll.Listing, plan, err)
	plan.Detection.Began = now
	enqueued, err := p.Store.SaveDetection(ctx, plan.Detection)
	if err != nil {
		p.fail(listingID, err)
		return
	}
	atomic.AddInt64(&p.counts.Enqueued, int64(enqueued))
}

func (p *pass) report(l watch.Listing, plan Plan, err error) {
	switch {
	case plan.Failed != nil:
		atomic.AddInt64(&p.counts.Failed, 1)
		level := slog.LevelDebug
		if plan.Failed.Kind == shop.KindAuth {
			level = slog.LevelError // only the operator can mend a key
		}
		p.Logger.Log(context.Background(), level, "detect: listing not read",
			"listing", l.ID, "adapter", l.Adapter, "kind", plan.Failed.Kind, "error", err)
	case plan.Quarantined:
		atomic.AddInt64(&p.counts.Quarantined, 1)
	default:
		atomic.AddInt64(&p.counts.Read, 1)
	}
}

func (p *pass) fail(listingID string, err error) {
	p.once.Do(func() { p.failure = fmt.Errorf("detect: listing %s: %w", listingID, err) })
	p.Logger.Error("detect: storage failed", "listing", listingID, "error", err)
}
