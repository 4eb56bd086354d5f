package fetch

import (
	"context"
	"sync"
	"time"
)

// maxHold caps how long a shop can make us wait: ten years in a header are a
// mistake, or malice.
const maxHold = 24 * time.Hour

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
	next    time.Time // the next start
	hold    time.Time // until when the host asked for peace
}

func newPolite(interval time.Duration, now func() time.Time) *polite {
	return &polite{interval: interval, now: now, hosts: map[string]*place{}}
}

// held is how long the host has asked us to stay away, 0 if it has not.
func (p *polite) held(host string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.hosts[host]; h != nil {
		return max(h.hold.Sub(p.now()), 0)
	}
	return 0
}

// enter waits for the host's turn. The caller must call leave when it returns nil.
func (p *polite) enter(ctx context.Context, host string) error {
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
	wait := h.next.Sub(p.now())
	p.mu.Unlock()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			p.leave(host, 0)
			return ctx.Err()
		}
	}
	p.mu.Lock()
	h.next = p.now().Add(p.interval)
	p.mu.Unlock()
	return nil
}

// leave passes the turn on. hold is how long the host asked us to stay away.
func (p *polite) leave(host string, hold time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[host]
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
		if h.waiting == 0 && !h.next.After(now) && !h.hold.After(now) {
			delete(p.hosts, name)
		}
	}
}
