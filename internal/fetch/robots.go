package fetch

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/temoto/robotstxt"
	"golang.org/x/sync/singleflight"
)

// What is kept of robots.txt (RFC 9309): for a day at most, and no more than the
// half megabyte that a crawler must read.
const (
	robotsFor      = 24 * time.Hour
	robotsAgain    = time.Hour // after one that could not be read
	maxRobots      = 512 << 10
	maxRobotsHosts = 4096
	maxCrawlDelay  = time.Minute
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

// allows reports whether the host lets us ask for the address, and how long it
// wants us to pause between requests. A robots.txt that is missing, or that
// cannot be read, forbids nothing: whoever cannot serve it does not serve
// products either, and says so itself.
func (r *robots) allows(ctx context.Context, c *Client, u *url.URL) (bool, time.Duration) {
	origin := u.Scheme + "://" + u.Host
	r.mu.Lock()
	known, ok := r.known[origin]
	r.mu.Unlock()
	if !ok || r.now().After(known.until) {
		got, _, _ := r.group.Do(origin, func() (any, error) { return r.read(ctx, c, origin), nil })
		known = got.(rules)
	}
	if known.group == nil {
		return true, 0
	}
	path := u.EscapedPath()
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return known.group.Test(path), min(known.group.CrawlDelay, maxCrawlDelay)
}

func (r *robots) read(ctx context.Context, c *Client, origin string) rules {
	found := rules{until: r.now().Add(robotsAgain)}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if u, err := url.Parse(origin + "/robots.txt"); err == nil {
		p, err := c.ask(ctx, u, Request{Accept: "text/plain"})
		if err == nil && p.Status == http.StatusOK && len(p.Body) <= maxRobots {
			if data, err := robotstxt.FromBytes(p.Body); err == nil {
				found = rules{data.FindGroup(robotsName), r.now().Add(robotsFor)}
			}
		} else if err == nil && p.Status >= 400 && p.Status < 500 {
			found.until = r.now().Add(robotsFor) // there is none
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= maxRobotsHosts {
		clear(r.known)
	}
	r.known[origin] = found
	return found
}
