package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
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

// Seen is what to remember of an answer that was read as q.
func (p *Page) Seen(q shop.Quote) shop.Seen {
	return shop.Seen{ETag: p.Header.Get("ETag"), LastModified: p.Header.Get("Last-Modified"), Quote: q}
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

	preface bool // this is robots.txt
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
		Transport:     transport,
		Jar:           nil, // no cookies: prices are the visitor's who has none
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
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

// body reads and decompresses, bounded on both sides: a bomb is cut where it
// passes the limit, not where it ends.
func body(res *http.Response, limit int64) ([]byte, error) {
	in := bufio.NewReader(io.LimitReader(res.Body, limit+1))
	head, err := in.Peek(2)
	switch {
	case len(head) > 0:
	case errors.Is(err, io.EOF):
		return nil, nil // empty, whatever it is said to be packed in
	default:
		return nil, unreachable(err)
	}
	var out io.Reader = in
	switch encoding := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		err = nil
	case "gzip", "x-gzip":
		out, err = gzip.NewReader(in)
	case "deflate":
		// Many servers leave out the zlib header (RFC 1950), and browsers take both.
		if len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			out, err = zlib.NewReader(in)
		} else {
			out, err = flate.NewReader(in), nil
		}
	default:
		return nil, &shop.Error{Kind: shop.KindParse, Message: "The shop answered in a form that cannot be read.", Cause: fmt.Errorf("Content-Encoding %.40q", encoding)}
	}
	if err != nil {
		return nil, unreachable(err)
	}
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(out, limit+1))
	if n > limit {
		return nil, &shop.Error{Kind: shop.KindParse, Message: fmt.Sprintf("The page is larger than %d MB.", limit>>20)}
	}
	if err != nil {
		return nil, unreachable(err)
	}
	return b.Bytes(), nil
}

// failed tells a refusal of the guard from a fault of the network.
func failed(err error) *shop.Error {
	if errors.Is(err, ErrForbidden) {
		return refused(err)
	}
	return unreachable(err)
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
	return &shop.Error{Kind: shop.KindRefused, Message: strings.ToUpper(message[:1]) + message[1:] + ".", Cause: bare(err)}
}

// bare is the error without the address, which its text would repeat with all
// that shoppers and adapters carry in it.
func bare(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
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
	return &shop.Error{Kind: shop.KindNetwork, Message: message, Cause: bare(err)}
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
