package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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
	robotsAgain    = time.Hour           // after one that is no robots.txt
	robotsMissing  = 30 * 24 * time.Hour // after which one that cannot be reached forbids nothing
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
	lost  time.Time // since when it could not be reached; zero if it was
	none  bool      // it has never been reached
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
	return r.group.Test(plainEscapes(path))
}

// pause is what the host wants between two requests.
func (r rules) pause() time.Duration {
	if r.group == nil {
		return 0
	}
	return min(r.group.CrawlDelay, maxCrawlDelay)
}

// of is what the host of u wants. The caller must not hold the host's turn:
// robots.txt is a request like any other. All who ask at once share it, and one
// who leaves does not end it.
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

// read asks for robots.txt. One that the shop says it does not have, or that is
// none, forbids nothing. While one cannot be reached, what it said last holds;
// where that is not known nothing is read, and the fault is the error, until it
// has been so for a month (RFC 9309, section 2.3.1).
func (r *robots) read(ctx context.Context, c *Client, u *url.URL, host string) (rules, error) {
	found := rules{until: r.now().Add(robotsAgain)}
	at := url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	p, err := c.get(ctx, Request{URL: at.String(), Accept: "text/plain", Contract: true, preface: true})
	if err != nil && ctx.Err() != nil {
		return rules{}, unreachable(ctx.Err()) // it had no turn in time: nothing is known
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.known[host]
	switch kind := kindOf(err); {
	case kind == shop.KindRateLimited:
		return rules{}, err
	case errors.Is(err, errRedirects):
	case kind == shop.KindNetwork || kind == shop.KindServer:
		found = before
		if found.none = before.none || !known; before.lost.IsZero() {
			found.lost = r.now()
		}
		switch {
		case r.now().Sub(found.lost) >= robotsMissing:
			found.group, found.none, found.until = nil, false, r.now().Add(robotsAgain)
		case found.none:
			r.keep(host, found)
			e := *shop.AsError(err)
			e.Message = strings.TrimSuffix(e.Message, ".") + ", when it was asked for its robots.txt."
			return rules{}, &e
		default:
			found.until = r.now().Add(robotsAgain)
		}
	case err != nil:
	case p.Status == http.StatusOK:
		if data, err := robotstxt.FromBytes(affordable(p.Body[:min(len(p.Body), maxRobots)])); err == nil {
			found = rules{group: data.FindGroup(robotsName), until: r.now().Add(robotsFor)}
		}
	case p.Status >= 400 && p.Status < 500:
		found.until = r.now().Add(robotsFor) // there is none
	}
	r.keep(host, found)
	return found, nil
}

// maxPatterns bounds the rules with wildcards, in bytes. Each is a regular
// expression that every address is tried against: half a megabyte of them would
// cost ten seconds a poll. Shops have a kilobyte or two.
const maxPatterns = 16 << 10

// affordable is a robots.txt without the rules that go beyond maxPatterns, with
// its paths and the names it calls in the one form that they are compared in.
func affordable(body []byte) []byte {
	var out bytes.Buffer
	patterns := 0
	for line := range bytes.FieldsFuncSeq(body, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if field, path, _ := bytes.Cut(line, []byte(":")); !bytes.EqualFold(bytes.TrimSpace(field), []byte("user-agent")) && bytes.ContainsAny(path, "*$") {
			if patterns += len(line); patterns > maxPatterns {
				continue
			}
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		switch name := strings.ToLower(string(bytes.TrimSpace(field))); name {
		case "user-agent":
			line = []byte("User-agent: " + productToken(string(value)))
		case "allow", "disallow":
			path, _, _ := strings.Cut(string(value), "#")
			line = []byte(name + ": " + plainEscapes(strings.TrimSpace(path)))
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// productToken is whom a group is for: a token of letters, "-" and "_", whole and
// in any case (RFC 9309, section 2.2.1). "Sokone/2.0" is us, and "sok" is not, which
// the parser takes for a beginning of our name.
func productToken(value string) string {
	value = strings.TrimSpace(value)
	end := strings.IndexFunc(value, func(r rune) bool { return r != '-' && r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') })
	token := value
	if end > 0 {
		token = value[:end]
	}
	if len(token) < len(robotsName) && strings.EqualFold(token, robotsName[:len(token)]) && token != "" {
		return "x-" + token
	}
	return token
}

// plainEscapes writes a path in the one form that robots.txt is compared in (RFC
// 9309, section 2.2.2): what need not be escaped is not, and all else is, in
// capitals.
func plainEscapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				i += 2
				if c = byte(n); !unreserved(c) {
					fmt.Fprintf(&b, "%%%02X", c)
					continue
				}
			}
		}
		if c >= 0x80 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// unreserved characters of RFC 3986, section 2.3.
func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func (r *robots) keep(host string, found rules) {
	if len(r.known) >= maxRobotsHosts {
		clear(r.known)
	}
	r.known[host] = found
}

func kindOf(err error) shop.Kind {
	if err == nil {
		return ""
	}
	return shop.AsError(err).Kind
}
