package fetch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sokone/sokone/internal/shop"
)

// errOpen is for the log.
var errOpen = errors.New("not asked: the host has failed too often")

// maxHold caps how long a shop can make us wait: ten years in a header are a
// mistake, or malice.
const maxHold = 24 * time.Hour

// The circuit of a host opens after so many failures in a row, for a while that
// doubles with each further one. The while is measured in the pauses between
// requests, so that who needs no pauses needs no circuit either.
const (
	failuresToOpen = 5
	openFor        = 30 // pauses
	maxOpen        = time.Hour
)

// unsaidHold is how long a host is left alone that says "too many requests" and
// not for how long: without it the next of its listings would ask in a moment.
const unsaidHold = time.Minute

// polite lets one request at a time to each host, with a pause between starts,
// and none while the host has asked for peace.
type polite struct {
	interval time.Duration
	now      func() time.Time

	mu    sync.Mutex
	hosts map[string]*place
}

// place is one host's. The channel holds its one token; who holds the token may
// ask. waiting counts those who want it, so that an idle host is forgotten.
type place struct {
	token   chan struct{}
	waiting int
	next    time.Time     // the next start
	pause   time.Duration // what the host wants between two starts
	hold    time.Time     // until when the host asked for peace

	failures int         // in a row
	open     time.Time   // until when the circuit is open
	why      *shop.Error // the failure that opened it
}

func newPolite(interval time.Duration, now func() time.Time) *polite {
	return &polite{interval: interval, now: now, hosts: map[string]*place{}}
}

// closed says why the host is not asked now: it has asked for peace, or it has
// failed so often that its circuit is open. nil if it may be asked.
func (p *polite) closed(host string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, now := p.hosts[host], p.now()
	switch {
	case h == nil:
	case h.hold.After(now):
		return limited(h.hold.Sub(now))
	case h.open.After(now):
		return &shop.Error{Kind: h.why.Kind, Message: h.why.Message, RetryAfter: h.open.Sub(now), Cause: errOpen}
	}
	return nil
}

// enter waits for the host's turn, which begins no sooner after the one before
// than the interval, or than pause where that is longer. The caller must call
// leave when it returns nil.
func (p *polite) enter(ctx context.Context, host string, pause time.Duration) error {
	p.mu.Lock()
	h := p.hosts[host]
	if h == nil {
		h = &place{token: make(chan struct{}, 1)}
		h.token <- struct{}{}
		p.hosts[host] = h
	}
	h.waiting++
	p.mu.Unlock()
	select {
	case <-h.token:
	case <-ctx.Done():
		p.mu.Lock()
		h.waiting--
		p.mu.Unlock()
		return ctx.Err()
	}
	p.mu.Lock()
	wait := min(h.next.Sub(p.now()), max(p.interval, h.pause)) // a clock set back makes nobody wait longer
	p.mu.Unlock()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			p.pass(host, 0)
			return ctx.Err()
		}
	}
	p.mu.Lock()
	h.next, h.pause = p.now().Add(max(p.interval, pause)), pause
	p.mu.Unlock()
	return nil
}

// follow lets the next one begin at once. The caller has the turn, and has only
// read robots.txt: that and the page it was read for are one visit.
func (p *polite) follow(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts[host].next = p.now()
}

// leave passes the turn on. hold is how long the host asked us to stay away, and
// failed what went wrong, if it did.
func (p *polite) leave(host string, hold time.Duration, failed *shop.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[host]
	if h.failures++; failed == nil {
		h.failures = 0
	}
	if over := h.failures - failuresToOpen; over >= 0 {
		h.why, h.open = failed, p.now().Add(min(openFor*p.interval<<min(over, 10), maxOpen))
	}
	p.free(h, hold)
}

// pass passes the turn on where nothing was learnt about the host: no circuit
// opens or closes by it.
func (p *polite) pass(host string, hold time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free(p.hosts[host], hold)
}

func (p *polite) free(h *place, hold time.Duration) {
	if hold > 0 {
		h.hold = p.now().Add(min(hold, maxHold))
	}
	h.waiting--
	h.token <- struct{}{}
	if len(p.hosts) > 1024 {
		p.forget()
	}
}

// forget drops hosts that nobody waits for and that owe nothing.
func (p *polite) forget() {
	now := p.now()
	for name, h := range p.hosts {
		if h.waiting == 0 && !h.next.After(now) && !h.hold.After(now) && !h.open.After(now) {
			delete(p.hosts, name)
		}
	}
}

// Open counts the hosts whose circuit is open.
func (c *Client) Open() int {
	c.polite.mu.Lock()
	defer c.polite.mu.Unlock()
	n, now := 0, c.polite.now()
	for _, h := range c.polite.hosts {
		if h.open.After(now) {
			n++
		}
	}
	return n
}
