package fetch

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/temoto/robotstxt"
	"golang.org/x/sync/singleflight"

	"github.com/sokone/sokone/internal/shop"
)

// What is kept of robots.txt (RFC 9309): for a day at most, and no more than the
// half megabyte that a crawler must read.
const (
	robotsFor      = 24 * time.Hour
	robotsAgain    = time.Hour // after one that could not be read
	maxRobots      = 512 << 10
	maxRobotsHosts = 4096
	maxCrawlDelay  = time.Minute
	robotsWait     = time.Minute // for a turn at the host, and the answer
)

// robotsName is the product token that shops address us by (RFC 9309, section 2.2.1).
const robotsName = "Sokone"

// robots remembers what hosts allow.
type robots struct {
	now   func() time.Time
	group singleflight.Group
	mu    sync.Mutex
	known map[string]rules
}

type rules struct {
	group *robotstxt.Group // nil allows everything
	until time.Time
}

func newRobots(now func() time.Time) *robots {
	return &robots{now: now, known: map[string]rules{}}
}

// allow reports whether the address may be read.
func (r rules) allow(u *url.URL) bool {
	if r.group == nil {
		return true
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return r.group.Test(path)
}

// pause is what the host wants between two requests.
func (r rules) pause() time.Duration {
	if r.group == nil {
		return 0
	}
	return min(r.group.CrawlDelay, maxCrawlDelay)
}

// of is what the host of u wants. A robots.txt that is missing, or that cannot be
// read, forbids nothing: whoever cannot serve it does not serve products either,
// and says so itself. The caller must not hold the host's turn: robots.txt is a
// request like any other. All who ask at once share it, and one who leaves does
// not end it.
func (r *robots) of(ctx context.Context, c *Client, u *url.URL, host string) (rules, error) {
	r.mu.Lock()
	known, ok := r.known[host]
	r.mu.Unlock()
	if ok && !r.now().After(known.until) {
		return known, nil
	}
	result := r.group.DoChan(host, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), robotsWait)
		defer cancel()
		return r.read(ctx, c, u, host)
	})
	select {
	case got := <-result:
		return got.Val.(rules), got.Err
	case <-ctx.Done():
		return rules{}, unreachable(ctx.Err())
	}
}

func (r *robots) read(ctx context.Context, c *Client, u *url.URL, host string) (rules, error) {
	found := rules{until: r.now().Add(robotsAgain)}
	at := url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	p, err := c.get(ctx, Request{URL: at.String(), Accept: "text/plain", Contract: true})
	switch {
	case err != nil && ctx.Err() != nil:
		return rules{}, unreachable(ctx.Err()) // it had no turn in time: nothing is known
	case err != nil && shop.AsError(err).Kind == shop.KindRateLimited:
		return rules{}, err
	case err != nil:
	case p.Status == http.StatusOK:
		if data, err := robotstxt.FromBytes(p.Body[:min(len(p.Body), maxRobots)]); err == nil {
			found = rules{data.FindGroup(robotsName), r.now().Add(robotsFor)}
		}
	case p.Status >= 400 && p.Status < 500:
		found.until = r.now().Add(robotsFor) // there is none
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= maxRobotsHosts {
		clear(r.known)
	}
	r.known[host] = found
	return found, nil
}
