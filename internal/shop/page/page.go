// Package page reads any product page that says in a machine's words what it
// sells: schema.org as JSON-LD or microdata, or Open Graph product tags. What it
// cannot be sure of it refuses: a wrong price is worse than none.
package page

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/shop"
)

// Getter asks for pages.
type Getter interface {
	Get(ctx context.Context, r fetch.Request) (*fetch.Page, error)
}

// Adapter reads pages.
type Adapter struct {
	get Getter
	now func() time.Time

	memory shop.Memory // by address
}

// New makes the adapter.
func New(get Getter, now func() time.Time) *Adapter {
	return &Adapter{get: get, now: now}
}

// Name is the adapter's word.
func (a *Adapter) Name() string { return "page" }

// Match takes every web address: this adapter is asked last.
func (a *Adapter) Match(u *url.URL) (shop.Ref, bool) {
	return shop.Ref{Adapter: a.Name(), ItemCode: Identity(u), URL: Canonical(u)}, true
}

// Quote reads the page now.
func (a *Adapter) Quote(ctx context.Context, ref shop.Ref) (shop.Quote, error) {
	// A page that says when it has changed is not sent again while it has not.
	before := a.memory.Before(ctx, ref.URL, a.now())
	p, err := a.get.Get(ctx, fetch.Request{URL: ref.URL, ETag: before.ETag, LastModified: before.LastModified})
	if err != nil {
		return shop.Quote{}, err
	}
	if p.NotModified && before.Quote.Price.Known() {
		before.Quote.ObservedAt = a.now().UTC()
		return before.Quote, nil
	}
	if toFrontPage(ref.URL, p.URL) {
		return shop.Quote{Ref: shop.Ref{Adapter: a.Name(), ItemCode: Identity(p.URL), URL: Canonical(p.URL)}},
			failure(shop.KindEmpty, "This address leads to the shop's front page: the product is not there.")
	}
	q, failed := Extract(Input{URL: p.URL, Status: p.Status, ContentType: p.ContentType, Body: p.Body, Now: a.now()})
	q.Adapter = a.Name()
	if q.ItemCode == "" { // where it led is what it is
		q.ItemCode, q.URL = Identity(p.URL), Canonical(p.URL)
	}
	if failed != nil && !failed.SoldOut {
		return shop.Quote{Ref: q.Ref}, failed
	}
	a.settle(ctx, ref.URL, p, &q)
	q.ObservedAt = a.now().UTC()
	if failed != nil {
		return q, failed
	}
	a.memory.Keep(ref.URL, p.Seen(q))
	return q, nil
}

// Input is an answer of a shop.
type Input struct {
	URL         *url.URL // after redirects
	Status      int
	ContentType string
	Body        []byte
	Now         time.Time // tells offers that have run out; zero: none has
}

// Extract reads a quote off an answer, or says why there is none. It is pure.
// The quote has no time and no adapter's name yet; ItemCode and URL are set where
// the page names a canonical address of its own.
func Extract(in Input) (shop.Quote, *shop.Error) {
	text, _ := fetch.Decode(in.Body, in.ContentType)
	if in.Status == http.StatusOK && !looksLikeHTML(in.ContentType, text) {
		return shop.Quote{}, failure(shop.KindParse, "This address leads to something that is no web page.")
	}
	doc, err := parse(text, in.URL)
	if err != nil {
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "This page is built too strangely to be read.", Cause: err}
	}
	doc.now = in.Now
	if e := classify(in, doc); e != nil {
		return shop.Quote{}, e
	}
	q, e := find(doc)
	if e != nil && !e.SoldOut {
		return shop.Quote{}, e
	}
	if link := doc.canonicalAddress(); link != nil {
		q.ItemCode, q.URL = Identity(link), Canonical(link)
	}
	q.Evidence = evidence(q)
	return q, e
}

// evidence is the text of the candidate that won: what a person can look for on
// the page, months later, to see whether the price was read right.
func evidence(q shop.Quote) string {
	for _, c := range q.Candidates {
		if c.Won && c.FoundBy == q.FoundBy {
			return c.Text
		}
	}
	return ""
}

// Classify says what an answer is when it is no product page; nil if it may be one.
func Classify(in Input) *shop.Error {
	text, _ := fetch.Decode(in.Body, in.ContentType)
	doc, err := parse(text, in.URL)
	if err != nil {
		return &shop.Error{Kind: shop.KindParse, Message: "This page is built too strangely to be read.", Cause: err}
	}
	return classify(in, doc)
}

func looksLikeHTML(contentType, text string) bool {
	if mime := strings.ToLower(contentType); mime != "" && !strings.Contains(mime, "html") && !strings.Contains(mime, "text/plain") {
		return false
	}
	head := strings.ToLower(strings.TrimSpace(text[:min(len(text), 4096)]))
	return strings.HasPrefix(head, "<") || strings.Contains(head, "<html") || strings.Contains(head, "<body") || strings.Contains(head, "<meta")
}

func failure(kind shop.Kind, message string) *shop.Error {
	return &shop.Error{Kind: kind, Message: message}
}
