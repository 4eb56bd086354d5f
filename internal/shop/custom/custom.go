package custom

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"
	"golang.org/x/net/html"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/jsonapi"
	"github.com/sokone/sokone/internal/shop/page"
)

// Getter asks for pages.
type Getter interface {
	Get(ctx context.Context, r fetch.Request) (*fetch.Page, error)
}

// Adapter reads one described shop.
type Adapter struct {
	Shop
	get    Getter
	now    func() time.Time
	memory shop.Memory // by address
}

// New makes the adapter of a described shop.
func New(s Shop, get Getter, now func() time.Time) *Adapter {
	return &Adapter{Shop: s, get: get, now: now}
}

// Name is the adapter's word: "custom-" and the shop's name.
func (a *Adapter) Name() string { return "custom-" + a.Shop.Name }

// Match takes addresses of the shop's host whose path fits.
func (a *Adapter) Match(u *url.URL) (shop.Ref, bool) {
	host := strings.ToLower(u.Host)
	below, wild := strings.CutPrefix(a.host, "*")
	if wild && !strings.HasSuffix(host, below) || !wild && host != a.host || !a.path.MatchString(u.Path) {
		return shop.Ref{}, false
	}
	return shop.Ref{Adapter: a.Name(), ItemCode: page.Identity(u), URL: page.Canonical(u)}, true
}

// Quote reads the page by the description.
func (a *Adapter) Quote(ctx context.Context, ref shop.Ref) (shop.Quote, error) {
	before := a.memory.Before(ctx, ref.URL, a.now())
	p, err := a.get.Get(ctx, fetch.Request{URL: ref.URL, Accept: "text/html,application/json;q=0.9,*/*;q=0.5", ETag: before.ETag, LastModified: before.LastModified})
	if err != nil {
		return shop.Quote{}, err
	}
	if p.NotModified && before.Quote.Price.Known() {
		before.Quote.ObservedAt = a.now().UTC()
		return before.Quote, nil
	}
	isJSON := strings.Contains(p.ContentType, "json")
	if !isJSON {
		if failed := page.Classify(page.Input{URL: p.URL, Status: p.Status, ContentType: p.ContentType, Body: p.Body}); failed != nil {
			return shop.Quote{}, failed
		}
	} else if p.Status != http.StatusOK {
		return shop.Quote{}, jsonapi.Refused(p.Status)
	}
	text := p.Text()
	root := &html.Node{Type: html.DocumentNode} // what is JSON has no elements
	if !isJSON {                                // Classify has weighed it
		if root, err = html.Parse(strings.NewReader(text)); err != nil {
			return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "This page is built too strangely to be read.", Cause: err}
		}
	}
	// Where the shop leads to something else, the product is not there any more.
	now, ok := a.Match(p.URL)
	if !ok {
		address := page.Canonical(p.URL)
		return shop.Quote{Ref: shop.Ref{Adapter: a.Name(), ItemCode: address, URL: address}},
			&shop.Error{Kind: shop.KindEmpty, Message: "The shop leads from this address to one that is no product's."}
	}
	q, err := a.quote(now, answer{text, root})
	if err == nil {
		a.memory.Keep(ref.URL, p.Seen(q))
	}
	return q, err
}

func (a *Adapter) quote(ref shop.Ref, d answer) (shop.Quote, error) {
	shown := d.read(a.price)
	if shown == "" {
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "The price was not found where this shop's description says.", Cause: fmt.Errorf("shop %s: price: nothing there", a.Shop.Name)}
	}
	currency := d.read(a.currency)
	number, sign, ok := page.ReadPrice(shown, currency, "")
	if money.ValidCurrency(strings.ToUpper(currency)) {
		sign = strings.ToUpper(currency)
		number, _, ok = page.ReadPrice(shown+" "+sign, "", "")
	}
	price, err := money.Parse(number, sign)
	if !ok || err != nil || !price.Positive() {
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "What stands in the place of the price is none.", Cause: fmt.Errorf("shop %s: price: %.60q, currency: %.10q", a.Shop.Name, shown, sign)}
	}
	where := bounded(a.price.text+": "+shown, 200)
	q := shop.Quote{
		Ref: ref, Name: bounded(d.read(a.product), 300), Price: price, Availability: page.ReadAvailability(d.read(a.availability)), FoundBy: "custom", Evidence: where, ObservedAt: a.now().UTC(),
		Candidates: []shop.Candidate{{FoundBy: "custom", Price: price, Text: where, Won: true, Why: "where the shop's description says"}},
	}
	q.Quantity = page.Quantity(q.Name)
	return q, nil
}

// answer is what the shop sent: a page, or JSON.
type answer struct {
	text string
	root *html.Node
}

func (d answer) read(s source) string {
	switch {
	case s.value != "":
		return s.value
	case s.css != nil:
		e := s.css.MatchFirst(d.root)
		if e == nil {
			return ""
		}
		if s.attr != "" {
			for _, a := range e.Attr {
				if strings.EqualFold(a.Key, s.attr) {
					return strings.TrimSpace(a.Val)
				}
			}
			return ""
		}
		return page.TextOf(e)
	case s.json != nil:
		return d.readJSON(s)
	}
	return ""
}

func (d answer) readJSON(s source) string {
	text := d.text
	if s.in != nil {
		e := s.in.MatchFirst(d.root)
		if e == nil || e.FirstChild == nil {
			return ""
		}
		text = e.FirstChild.Data
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return ""
	}
	found := s.json.Select(v)
	if len(found) == 0 || slices.ContainsFunc(found, func(v any) bool { return !reflect.DeepEqual(v, found[0]) }) {
		return "" // of several that differ none is meant
	}
	switch v := found[0].(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return plainNumber(v)
	case bool:
		return map[bool]string{true: "in stock", false: "out of stock"}[v]
	}
	return ""
}

// plainNumber writes a number of JSON without an exponent. Where its point could be
// taken for a mark of thousands, a zero more says that it is none.
func plainNumber(n json.Number) string {
	d, _, err := apd.NewFromString(n.String())
	if err != nil || d.Exponent < -maxPlaces || d.Exponent > maxPlaces {
		return ""
	}
	s := d.Text('f')
	if _, fraction, _ := strings.Cut(s, "."); len(fraction) == 3 {
		s += "0"
	}
	return s
}

// maxPlaces is more than any price has, before or behind the point.
const maxPlaces = 18

func bounded(s string, runes int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > runes {
		return string(r[:runes])
	}
	return s
}
