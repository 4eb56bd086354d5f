// Package dispatch is the dispatch pass: it claims due entries of the outbox,
// reads their price again, decides again with the rule that detection used,
// sends what is still true, and records what became of it.
package dispatch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// Store is what dispatch needs of the storage. Every write is fenced by the owner.
type Store interface {
	Claim(ctx context.Context, r outbox.ClaimRequest) ([]outbox.Job, error)
	Reload(ctx context.Context, entryID int64, owner string) (outbox.Job, error)
	History(ctx context.Context, listingID string) (watch.History, error)
	BeginSend(ctx context.Context, s outbox.SendStart) error
	Settle(ctx context.Context, s outbox.Settlement) error
	Release(ctx context.Context, entryID int64, owner string) error
}

// Shops reads listings.
type Shops interface {
	Quote(ctx context.Context, ref shop.Ref) (shop.Quote, error)
}

// Sender hands one message to one push service. It returns an outcome for every
// answer, and never an error.
type Sender interface {
	Send(ctx context.Context, s outbox.Subscription, m outbox.Message) outbox.Delivery
}

// Options of a Dispatcher. All but PublicURL, Batch, InFlight and Sends are required.
type Options struct {
	Store     Store
	Shops     Shops
	Sender    Sender
	Lease     time.Duration // how long a claimed entry belongs to one pass
	MaxRetry  int           // attempts before an entry fails
	TTL       time.Duration // how long a push service may hold an alert
	PublicURL string        // where a click leads; "" for the address under which the device subscribed
	Batch     int           // entries claimed at once; default 200
	InFlight  int           // entries worked on at once, waiting for a turn at their shop included; default 2000
	Sends     int           // deliveries under way at once; default 64
	Now       func() time.Time
	Logger    *slog.Logger
}

// Dispatcher runs dispatch passes. Two of them, in one process or in two, never
// work on the same entry at the same time.
type Dispatcher struct{ Options }

// New checks the options; a missing one is a programmer's error.
func New(o Options) *Dispatcher {
	if o.Store == nil || o.Shops == nil || o.Sender == nil || o.Now == nil || o.Logger == nil ||
		o.Lease <= 0 || o.MaxRetry <= 0 || o.TTL <= 0 {
		panic("dispatch: an option is missing")
	}
	if o.Batch == 0 {
		o.Batch = 200
	}
	if o.InFlight == 0 {
		o.InFlight = 10 * o.Batch // one shop with a long line must not hold up the others
	}
	if o.Sends == 0 {
		o.Sends = 64
	}
	return &Dispatcher{o}
}

// A quote is used within a minute of being read, or not at all: freshFor is how
// old it may be when a message is made from it, tooOld when that is sent.
const (
	freshFor = 45 * time.Second
	tooOld   = 60 * time.Second
)

// Counts of one pass.
type Counts struct {
	Claimed    int `json:"claimed"`
	Sent       int `json:"sent"`
	Dropped    int `json:"dropped"`
	Retry      int `json:"retry"`
	Failed     int `json:"failed"`
	Released   int `json:"released"`   // given back untouched
	Lost       int `json:"lost"`       // the lease ended before the work did
	Deliveries int `json:"deliveries"` // requests to push services
}

// Run claims and works off entries until none is due. When ctx ends it claims no
// more, finishes the sends in flight and gives the rest back.
func (d *Dispatcher) Run(ctx context.Context) (Counts, error) {
	p := &pass{Dispatcher: d, entries: semaphore.NewWeighted(int64(d.InFlight)), sends: semaphore.NewWeighted(int64(d.Sends))}
	err := p.claimAll(ctx)
	p.work.Wait()
	if p.failure != nil {
		err = errors.Join(err, p.failure)
	}
	return p.counts, err
}

type pass struct {
	*Dispatcher
	entries *semaphore.Weighted // bounds entries in flight
	sends   *semaphore.Weighted // bounds deliveries under way
	work    sync.WaitGroup

	mu      sync.Mutex
	counts  Counts
	failure error // the first failure of the storage
}

func (p *pass) claimAll(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := p.entries.Acquire(ctx, int64(p.Batch)); err != nil {
			return nil
		}
		owner, now := rand.Text(), p.Now()
		jobs, err := p.Store.Claim(ctx, outbox.ClaimRequest{
			Owner: owner, Now: now, LeaseUntil: now.Add(p.Lease), Limit: p.Batch, MaxRetry: p.MaxRetry,
		})
		p.entries.Release(int64(p.Batch - len(jobs)))
		if err != nil {
			return fmt.Errorf("dispatch: claim: %w", err)
		}
		if len(jobs) == 0 {
			return nil
		}
		p.count(func(c *Counts) { c.Claimed += len(jobs) })
		for _, group := range byListing(jobs) {
			b := &batch{pass: p, owner: owner, claimed: now, listing: group[0].Listing}
			p.work.Go(func() {
				defer p.entries.Release(int64(len(group)))
				b.run(ctx, group)
			})
		}
		if p.failed() {
			return nil // the storage is unwell: what is claimed comes back when its lease ends
		}
	}
	return nil
}

// byListing keeps the order of the claim: the oldest first.
func byListing(jobs []outbox.Job) [][]outbox.Job {
	return groupBy(jobs, func(j outbox.Job) string { return j.Entry.ListingID })
}

func byWatch(jobs []outbox.Job) [][]outbox.Job {
	return groupBy(jobs, func(j outbox.Job) string { return j.Entry.WatchID })
}

func groupBy(jobs []outbox.Job, key func(outbox.Job) string) [][]outbox.Job {
	at := map[string]int{}
	var groups [][]outbox.Job
	for _, j := range jobs {
		k := key(j)
		i, seen := at[k]
		if !seen {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], j)
	}
	return groups
}

func (p *pass) count(f func(*Counts)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.counts)
}

func (p *pass) failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure != nil
}

// fail records that the storage refused a write. The entry is not touched: its
// lease ends, and it is re-checked.
func (p *pass) fail(doing string, e outbox.Entry, err error) {
	if errors.Is(err, outbox.ErrLeaseLost) {
		p.count(func(c *Counts) { c.Lost++ })
		p.Logger.Warn("dispatch: lease lost", "doing", doing, "event_id", e.EventID)
		return
	}
	p.Logger.Error("dispatch: storage failed", "doing", doing, "event_id", e.EventID, "error", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure == nil {
		p.failure = fmt.Errorf("dispatch: %s: %w", doing, err)
	}
}
