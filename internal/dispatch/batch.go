package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// batch is the claimed entries of one listing: they share one re-fetch.
type batch struct {
	*pass
	owner   string
	claimed time.Time
	listing watch.Listing

	mu   sync.Mutex // one reader at a time; the others wait for what it read
	last reading
}

// reading is what a re-fetch found, and the history to judge it by.
type reading struct {
	at      time.Time
	quote   shop.Quote
	failed  *shop.Error
	history watch.History
	noTurn  bool // the shop was not asked: others were first for too long
}

// run works off the batch: the watches side by side, the entries of one watch
// in order, because the first that is sent may be all there is to say.
func (b *batch) run(ctx context.Context, jobs []outbox.Job) {
	var watches sync.WaitGroup
	for _, group := range byWatch(jobs) {
		watches.Go(func() {
			for i, j := range group {
				b.entry(ctx, j, i > 0)
			}
		})
	}
	watches.Wait()
}

// entry takes one claimed entry to its ending. stale says that another entry of
// its watch was worked on since the job was loaded.
func (b *batch) entry(ctx context.Context, j outbox.Job, stale bool) {
	// Once claimed, an entry is settled or given back even when ctx ends.
	settle := context.WithoutCancel(ctx)
	defer func() {
		if r := recover(); r != nil { // one hostile answer must not end the pass
			b.Logger.Error("dispatch: panic", "event_id", j.Entry.EventID, "panic", fmt.Sprint(r))
		}
	}()
	// A watch edited between re-check and send is decided again; one that is
	// edited all the time is left for the next pass.
	for range 3 {
		if ctx.Err() != nil {
			break
		}
		if stale {
			fresh, err := b.Store.Reload(settle, j.Entry.ID, b.owner)
			if err != nil {
				b.fail("reload", j.Entry, err)
				return
			}
			j = fresh
		}
		if err := b.attempt(ctx, settle, j); !errors.Is(err, outbox.ErrChanged) {
			return
		}
		if b.spent() {
			break
		}
		stale = true
	}
	if err := b.Store.Release(settle, j.Entry.ID, b.owner); err != nil {
		b.fail("release", j.Entry, err)
		return
	}
	b.count(func(c *Counts) { c.Released++ })
}

// spent reports that the lease of the batch is nearly over.
func (b *batch) spent() bool { return b.Now().Sub(b.claimed) > b.Lease/2 }

// attempt is guards, re-fetch, re-check, send and record. It returns
// outbox.ErrChanged where nothing was sent because the watch changed under it,
// or there was no turn at the shop before the lease runs out.
func (b *batch) attempt(ctx, settle context.Context, j outbox.Job) error {
	if reason := outbox.Guard(j, b.Now()); reason != "" {
		b.settle(settle, j, outbox.Withhold(j, reason), nil, nil, nil)
		return nil
	}
	if until, quiet := j.User.QuietUntil(b.Now()); quiet {
		b.settle(settle, j, outbox.Wait(j.Entry, until), nil, nil, nil)
		return nil
	}
	r, err := b.read(settle)
	if err != nil {
		b.fail("history", j.Entry, err)
		return nil
	}
	if r.noTurn {
		return outbox.ErrChanged
	}
	v := recheck(j, r)
	switch {
	case v.later != "":
		b.settle(settle, j, outbox.TryLater(j.Entry, j.Accepted, v.later, v.detail, v.retryAfter, b.MaxRetry, b.Now()), nil, nil, nil)
		return nil
	case v.withhold != "":
		b.settle(settle, j, outbox.Withhold(j, v.withhold), &v.checked, nil, nil)
		return nil
	}
	if ctx.Err() != nil {
		return outbox.ErrChanged // stopping: nothing was sent, so it is given back
	}
	now := b.Now()
	err = b.Store.BeginSend(settle, outbox.SendStart{
		EntryID: j.Entry.ID, Owner: b.owner, From: j.Entry.Status, RetryCount: j.Entry.RetryCount,
		WatchID: j.Watch.ID, WatchRevision: j.Watch.Revision,
		LeaseUntil: now.Add(b.Lease), Checked: v.checked,
	})
	if errors.Is(err, outbox.ErrChanged) {
		return err
	}
	if err != nil {
		b.fail("begin send", j.Entry, err)
		return nil
	}
	j.Entry.Status, j.Entry.Checked = outbox.Sending, &v.checked
	deliver, cancel := context.WithTimeout(settle, max(b.Lease, time.Minute))
	defer cancel()
	deliveries := b.deliver(deliver, j, v)
	ending := outbox.Delivered(j, deliveries, b.MaxRetry, b.Now())
	b.settle(settle, j, ending, &v.checked, deliveries, r.history.Points)
	return nil
}

// read returns the batch's one re-fetch, made anew where it has grown too old
// to be called fresh.
func (b *batch) read(ctx context.Context) (reading, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.last.at.IsZero() && b.Now().Sub(b.last.at) < freshFor {
		return b.last, nil
	}
	history, err := b.Store.History(ctx, b.listing.ID)
	if err != nil {
		return reading{}, err
	}
	// A shop is asked one thing at a time. Who has had no turn while most of the
	// lease went by gives the entry back, and no attempt is counted.
	turn, cancel := context.WithTimeout(ctx, b.Lease*3/4)
	defer cancel()
	quote, err := b.Shops.Quote(shop.Anew(turn), b.listing.Ref)
	if err != nil && turn.Err() != nil {
		return reading{noTurn: true}, nil
	}
	r := reading{at: b.Now(), quote: quote, failed: shop.AsError(err), history: history}
	if r.failed != nil && r.failed.Kind == shop.KindAuth {
		b.Logger.Error("dispatch: the shop refuses this server's key", "adapter", b.listing.Adapter, "error", err)
	}
	b.last = r
	return r, nil
}

// deliver sends to every subscription still owed, side by side.
func (b *batch) deliver(ctx context.Context, j outbox.Job, v verdict) []outbox.Delivery {
	deliveries := make([]outbox.Delivery, len(j.Owed))
	var sends sync.WaitGroup
	for i, s := range j.Owed {
		message := b.message(j, v, s)
		sends.Go(func() {
			defer func() {
				if r := recover(); r != nil { // unknown whether it was sent: owed, with the same event id
					deliveries[i] = outbox.Delivery{SubscriptionID: s.ID, Outcome: outbox.Network, Detail: fmt.Sprint("panic: ", r), At: b.Now()}
				}
			}()
			if err := b.sends.Acquire(ctx, 1); err != nil {
				deliveries[i] = outbox.Delivery{SubscriptionID: s.ID, Outcome: outbox.Network, Detail: "no turn in time", At: b.Now()}
				return
			}
			defer b.sends.Release(1)
			if b.Now().Sub(v.checked.At) > tooOld {
				deliveries[i] = outbox.Delivery{SubscriptionID: s.ID, Outcome: outbox.Network, Detail: "the price grew old while waiting for a turn", At: b.Now()}
				return
			}
			deliveries[i] = b.Sender.Send(ctx, s, message)
		})
	}
	sends.Wait()
	b.count(func(c *Counts) { c.Deliveries += len(deliveries) })
	return deliveries
}

// settle writes the ending of an attempt in one transaction.
func (b *batch) settle(ctx context.Context, j outbox.Job, e outbox.Ending, checked *outbox.Checked, deliveries []outbox.Delivery, points []watch.Point) {
	now := b.Now()
	s := outbox.Settlement{
		EntryID: j.Entry.ID, Owner: b.owner, From: j.Entry.Status, To: e.To,
		Reason: e.Reason, Retry: e.Retry, RetryCount: e.RetryCount,
		Checked: checked, Deliveries: deliveries, WatchID: j.Entry.WatchID,
	}
	if e.To == outbox.Sent {
		s.SentAt = now
		s.Told = told(j, watch.History{Points: points}, now)
		if deliveries == nil { // ended without a send of its own: what was told before stays
			s.Checked = nil
		}
	}
	if err := b.Store.Settle(ctx, s); err != nil {
		b.fail("settle", j.Entry, err)
		return
	}
	b.count(func(c *Counts) {
		switch e.To {
		case outbox.Sent:
			c.Sent++
		case outbox.Dropped:
			c.Dropped++
		case outbox.Retry:
			c.Retry++
		case outbox.Failed:
			c.Failed++
		}
	})
}

// told is what the accepted alert changes in its watch: by the observation that
// the message was made from, which may be that of an earlier attempt.
func told(j outbox.Job, h watch.History, now time.Time) *watch.Told {
	if j.Entry.Checked == nil {
		t := j.Watch.Tell(j.Entry.Trigger, watch.Observation{At: now}, h, now)
		return &t
	}
	o := j.Entry.Checked.Observation()
	t := j.Watch.Tell(j.Entry.Trigger, o, h.Before(j.Entry.DetectedAt), now)
	return &t
}
