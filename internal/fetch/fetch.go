package fetch

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sokone/sokone/internal/shop"
)

// Options of a Client. Guard, UserAgent and Now are required.
type Options struct {
	Guard        *Guard
	UserAgent    string        // with the operator's contact, so that a shop knows whom to ask
	HostInterval time.Duration // between the starts of two requests to one host
	MaxBytes     int64         // of a page, decompressed; default 10 MB
	Timeout      time.Duration // of a request with its redirects; default 30 s
	IgnoreRobots bool          // do not ask for robots.txt
	Now          func() time.Time
	Observe      func(outcome string, d time.Duration) // for metrics; may be nil
}

// maxRedirects is as many as a shop reasonably needs: http → https → www → slug.
const maxRedirects = 5

// Client asks shops for pages.
type Client struct {
	Options
	http   *http.Client
	polite *polite
	robots *robots
}

// Page is an answer. A status such as 404 is an answer too: whether it means
// "gone" or is a wall against bots is for the adapter to say.
type Page struct {
	URL         *url.URL // after redirects
	Status      int
	Header      http.Header
	ContentType string
	Body        []byte // decompressed, not decoded: Text does that
	NotModified bool   // the conditional request found nothing new
}

// Text is the body as UTF-8.
func (p *Page) Text() string {
	text, _ := Decode(p.Body, p.ContentType)
	return text
}

// Request is what to ask for.
type Request struct {
	URL            string
	Accept         string // default: HTML
	AcceptLanguage string // default: Japanese, then English
	Header         http.Header
	ETag           string // of what is known, for a conditional request
	LastModified   string
	Contract       bool // an interface that the operator has a key for: robots.txt does not speak of it
}

// New makes a client.
func New(o Options) *Client {
	if o.Guard == nil || o.Now == nil || o.UserAgent == "" {
		panic("fetch: an option is missing")
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 10 << 20
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	c := &Client{Options: o, polite: newPolite(o.HostInterval, o.Now), robots: newRobots(o.Now)}
	transport := o.Guard.Transport(2)
	transport.DisableCompression = true // ours is bounded before and after
	c.http = &http.Client{
		Transport: transport,
		Jar:       nil, // no cookies: prices are the visitor's who has none
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("too many redirects")
			}
			if r.URL.Scheme == "http" && via[0].URL.Scheme == "https" {
				return fmt.Errorf("%w: redirected from https to http", ErrForbidden)
			}
			return o.Guard.Check(r.Context(), r.URL)
		},
	}
	return c
}

// Get asks for a page. Every error is a *shop.Error: rate_limited (also while a
// host has asked for peace), server, blocked, network, refused or parse.
func (c *Client) Get(ctx context.Context, r Request) (*Page, error) {
	began := c.Now()
	page, err := c.get(ctx, r)
	if c.Observe != nil {
		outcome := "ok"
		if err != nil {
			outcome = string(shop.AsError(err).Kind)
		}
		c.Observe(outcome, c.Now().Sub(began))
	}
	return page, err
}

func (c *Client) get(ctx context.Context, r Request) (*Page, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, &shop.Error{Kind: shop.KindRefused, Message: "This is not the address of a web page.", Cause: err}
	}
	u = c.Guard.Upgrade(ctx, u)
	if err := c.Guard.Check(ctx, u); err != nil {
		return nil, refused(err)
	}
	host := strings.ToLower(u.Host)
	if err := c.polite.closed(host); err != nil {
		return nil, err
	}
	var pause time.Duration
	if !c.IgnoreRobots && !r.Contract {
		allowed, delay := c.robots.allows(ctx, c, u)
		if !allowed {
			return nil, &shop.Error{Kind: shop.KindBlocked, Message: "The shop asks programs not to read this page (robots.txt)."}
		}
		pause = delay
	}
	if err := c.polite.enter(ctx, host, pause); err != nil {
		return nil, unreachable(err)
	}
	var hold time.Duration
	var failed *shop.Error
	defer func() { c.polite.leave(host, hold, failed) }()
	// Who waited in line finds out here that the one before was turned away.
	if err := c.polite.closed(host); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	page, err := c.ask(ctx, u, r)
	if page != nil {
		if asked := RetryAfter(page.Header, c.Now()); asked > 0 && (page.Status == http.StatusTooManyRequests || page.Status >= 500) {
			hold = asked
		}
	}
	if err == nil {
		page, err = judge(page, hold)
	}
	if e := shop.AsError(err); e != nil && (e.Kind == shop.KindNetwork || e.Kind == shop.KindServer) && ctx.Err() != context.Canceled {
		failed = e
	}
	return page, err
}

func (c *Client) ask(ctx context.Context, u *url.URL, r Request) (*Page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, &shop.Error{Kind: shop.KindRefused, Message: "This is not the address of a web page.", Cause: err}
	}
	set := func(name, value, otherwise string) {
		if value == "" {
			value = otherwise
		}
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	set("User-Agent", c.UserAgent, "")
	set("Accept", r.Accept, "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5")
	set("Accept-Language", r.AcceptLanguage, "ja,en;q=0.8")
	set("Accept-Encoding", "gzip, deflate", "")
	set("If-None-Match", r.ETag, "")
	set("If-Modified-Since", r.LastModified, "")
	res, err := c.http.Do(req)
	if err != nil {
		if errors.Is(err, ErrForbidden) {
			return nil, refused(err)
		}
		return nil, unreachable(err)
	}
	defer res.Body.Close()
	page := &Page{URL: res.Request.URL, Status: res.StatusCode, Header: res.Header, ContentType: res.Header.Get("Content-Type"), NotModified: res.StatusCode == http.StatusNotModified}
	page.Body, err = body(res, c.MaxBytes)
	return page, err
}

// body reads and decompresses, bounded on both sides: a bomb is cut where it
// passes the limit, not where it ends.
func body(res *http.Response, limit int64) ([]byte, error) {
	in := io.Reader(io.LimitReader(res.Body, limit+1))
	var err error
	switch encoding := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		in, err = gzip.NewReader(in)
	case "deflate":
		in, err = zlib.NewReader(in)
	default:
		return nil, &shop.Error{Kind: shop.KindParse, Message: "The shop answered in a form that cannot be read.", Cause: fmt.Errorf("Content-Encoding %.40q", encoding)}
	}
	if errors.Is(err, io.EOF) && (res.StatusCode == http.StatusNotModified || res.ContentLength == 0) {
		return nil, nil // says gzip, and is empty
	}
	if err != nil {
		return nil, unreachable(err)
	}
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(in, limit+1))
	if n > limit {
		return nil, &shop.Error{Kind: shop.KindParse, Message: fmt.Sprintf("The page is larger than %d MB.", limit>>20)}
	}
	if err != nil {
		return nil, unreachable(err)
	}
	return b.Bytes(), nil
}

// judge turns away what no adapter needs to see.
func judge(p *Page, hold time.Duration) (*Page, error) {
	switch s := p.Status; {
	case s == http.StatusTooManyRequests || s == 430: // 430 is Shopify's
		return nil, limited(hold)
	case s >= 500:
		return nil, &shop.Error{Kind: shop.KindServer, Message: fmt.Sprintf("The shop has a fault of its own (status %d).", s), RetryAfter: hold}
	}
	return p, nil
}

func limited(wait time.Duration) *shop.Error {
	return &shop.Error{Kind: shop.KindRateLimited, Message: "The shop asks us to come back later.", RetryAfter: wait}
}

func refused(err error) *shop.Error {
	var quoted *url.Error
	if errors.As(err, &quoted) {
		err = quoted.Err
	}
	message := err.Error()
	if i := strings.Index(message, ErrForbidden.Error()); i >= 0 {
		message = message[i:]
	}
	return &shop.Error{Kind: shop.KindRefused, Message: strings.ToUpper(message[:1]) + message[1:] + ".", Cause: err}
}

func unreachable(err error) *shop.Error {
	// Errors of net/http quote the address, and an address can hold a key.
	var quoted *url.Error
	if errors.As(err, &quoted) {
		err = quoted.Err
	}
	message := "The shop could not be reached."
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		message = "There is no shop at this address."
	case errors.Is(err, context.DeadlineExceeded):
		message = "The shop took too long to answer."
	}
	return &shop.Error{Kind: shop.KindNetwork, Message: message, Cause: err}
}

// RetryAfter reads the header of RFC 9110 section 10.2.3: seconds or a date. A
// date past, garbage, or nothing is 0; more than a day is a day.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(v, 10, 63); err == nil {
		return time.Duration(min(seconds, uint64(maxHold/time.Second))) * time.Second
	} else if errors.Is(err, strconv.ErrRange) {
		return maxHold
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(at.Sub(now), 0), maxHold)
	}
	return 0
}
