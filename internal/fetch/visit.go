package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sokone/sokone/internal/shop"
)

func (c *Client) get(ctx context.Context, r Request) (*Page, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, &shop.Error{Kind: shop.KindRefused, Message: "This is not the address of a web page.", Cause: bare(err)}
	}
	v := visit{Client: c, left: c.Timeout, preface: r.preface, person: shop.IsAnew(ctx)}
	defer v.end()
	u = c.Guard.Upgrade(ctx, u)
	for range maxRedirects + 1 {
		to, page, err := v.ask(ctx, u, r)
		if to == nil {
			return page, err
		}
		if to = c.Guard.Upgrade(ctx, to); u.Scheme == "https" && to.Scheme == "http" {
			return nil, refused(fmt.Errorf("%w: redirected from https to http", ErrForbidden))
		}
		r.ETag, r.LastModified = "", "" // they are of the page that was asked for
		if v.host != keyOf(to) {
			r.Header = nil // an adapter's key is for its shop
		}
		u = to
	}
	return nil, unreachable(errRedirects)
}

// errRedirects is for the log.
var errRedirects = errors.New("too many redirects")

// visit is one Get with its redirects. It has the turn at one host at a time,
// and keeps it while it is sent about within that host.
type visit struct {
	*Client
	left    time.Duration // of the timeout; waiting for a turn does not count
	preface bool          // it reads robots.txt, and the page follows
	person  bool          // somebody waits: what fails is not held against the host, or five broken addresses that one pastes would close a shop to all

	host   string        // whose turn it has; "" for none
	rules  rules         // that host's
	asked  bool          // that host has been asked something
	hold   time.Duration // how long it asked us to stay away
	failed *shop.Error   // what went wrong there
}

// end gives the turn back.
func (v *visit) end() {
	switch {
	case v.host == "":
	case !v.asked, v.failed != nil && v.person:
		v.polite.pass(v.host, v.hold)
	default:
		if v.preface {
			v.polite.follow(v.host)
		}
		v.polite.leave(v.host, v.hold, v.failed)
	}
	*v = visit{Client: v.Client, left: v.left, preface: v.preface, person: v.person}
}

// turn waits for the turn at the host of u, unless the host has asked for peace,
// has failed too often, or does not want this address to be read.
func (v *visit) turn(ctx context.Context, u *url.URL, contract bool) error {
	host := keyOf(u)
	if v.host != host {
		v.end()
		if err := v.polite.closed(host); err != nil {
			return err
		}
		if !v.IgnoreRobots && !contract {
			found, err := v.robots.of(ctx, v.Client, u, host)
			if err != nil {
				return err
			}
			v.rules = found
		}
	}
	if !v.rules.allow(u) {
		return &shop.Error{Kind: shop.KindBlocked, Message: "The shop asks programs not to read this page (robots.txt)."}
	}
	if v.host == host {
		return nil
	}
	if err := v.polite.enter(ctx, host, v.rules.pause()); err != nil {
		return unreachable(err)
	}
	v.host = host
	// Who waited in line finds out here that the one before was turned away.
	return v.polite.closed(host)
}

// ask makes one request: it returns where that leads, or what it found.
func (v *visit) ask(ctx context.Context, u *url.URL, r Request) (to *url.URL, page *Page, err error) {
	if err := v.Guard.Check(ctx, u); err != nil {
		return nil, nil, failed(err)
	}
	if err := v.turn(ctx, u, r.Contract); err != nil {
		return nil, nil, err
	}
	v.asked = true
	defer func(began time.Time) {
		v.left -= v.Now().Sub(began)
		// A caller who leaves says nothing about the host.
		if e := shop.AsError(err); e != nil && (e.Kind == shop.KindNetwork || e.Kind == shop.KindServer) && ctx.Err() == nil {
			v.failed = e
		}
	}(v.Now())
	limited, cancel := context.WithTimeout(ctx, v.left)
	defer cancel()
	req, err := v.request(limited, u, r)
	if err != nil {
		return nil, nil, &shop.Error{Kind: shop.KindRefused, Message: "This is not the address of a web page.", Cause: err}
	}
	res, err := v.http.Do(req)
	if err != nil {
		return nil, nil, failed(err)
	}
	defer res.Body.Close()
	if err := v.judge(res); err != nil {
		return nil, nil, err
	}
	if to, err := redirect(res); to != nil || err != nil {
		return to, nil, err
	}
	page = &Page{URL: u, Status: res.StatusCode, Header: res.Header, ContentType: res.Header.Get("Content-Type"), NotModified: res.StatusCode == http.StatusNotModified}
	if page.Body, err = body(res, v.MaxBytes); err != nil {
		return nil, nil, err
	}
	return nil, page, nil
}

// judge turns away, by its status alone, what no adapter needs to see, and notes
// how long the host is to be left in peace.
func (v *visit) judge(res *http.Response) error {
	asked := RetryAfter(res.Header, v.Now())
	switch s := res.StatusCode; {
	case s == http.StatusTooManyRequests || s == 430: // 430 is Shopify's
		v.hold = cmp.Or(asked, unsaidHold)
		return limited(v.hold)
	case s >= 500:
		v.hold = asked
		return &shop.Error{Kind: shop.KindServer, Message: fmt.Sprintf("The shop has a fault of its own (status %d).", s), RetryAfter: asked}
	}
	return nil
}

func (c *Client) request(ctx context.Context, u *url.URL, r Request) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, bare(err)
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	for _, h := range []struct{ name, value string }{
		{"User-Agent", c.UserAgent},
		{"Accept", cmp.Or(r.Accept, "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5")},
		{"Accept-Language", cmp.Or(r.AcceptLanguage, "ja,en;q=0.8")},
		{"Accept-Encoding", "gzip, deflate"},
		{"If-None-Match", r.ETag},
		{"If-Modified-Since", r.LastModified},
	} {
		if h.value != "" {
			req.Header.Set(h.name, h.value)
		}
	}
	return req, nil
}

// redirect is where the answer leads; nil where it is an answer of its own.
func redirect(res *http.Response) (*url.URL, error) {
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	to, err := res.Location()
	if errors.Is(err, http.ErrNoLocation) {
		return nil, nil
	}
	if err != nil {
		return nil, refused(fmt.Errorf("%w: the shop leads to an address that is none", ErrForbidden))
	}
	return to, nil
}

// keyOf names the host for politeness: one host is one, however it is written.
func keyOf(u *url.URL) string {
	if p := u.Port(); p != "" && !(u.Scheme == "https" && p == "443") && !(u.Scheme == "http" && p == "80") {
		return net.JoinHostPort(hostOf(u), p)
	}
	return hostOf(u)
}
