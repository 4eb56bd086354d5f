// Package jsonapi is what the adapters of shops' JSON interfaces share: asking
// politely, within limits, and telling an answer from a wall.
package jsonapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
)

// Getter asks for pages.
type Getter interface {
	Get(ctx context.Context, r fetch.Request) (*fetch.Page, error)
}

// maxAnswer is more than any answer about one product takes.
const maxAnswer = 2 << 20

// Get asks for JSON and decodes a good answer into v, with numbers as
// json.Number where v leaves room. The page is returned with any status that
// fetch lets pass; v is filled only with 200.
func Get(ctx context.Context, g Getter, r fetch.Request, v any) (*fetch.Page, error) {
	r.Accept = "application/json"
	p, err := g.Get(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(p.Body) > maxAnswer {
		return p, &shop.Error{Kind: shop.KindParse, Message: "The shop's answer is too large."}
	}
	if p.Status != http.StatusOK {
		return p, nil
	}
	if strings.Contains(p.ContentType, "html") { // maintenance, or a wall, with status 200
		return p, &shop.Error{Kind: shop.KindBlocked, Message: "The shop answered with a page instead of data."}
	}
	d := json.NewDecoder(bytes.NewReader(p.Body))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return p, &shop.Error{Kind: shop.KindParse, Message: "The shop's answer cannot be read.", Cause: err}
	}
	return p, nil
}

// Pages reads the page of a shop that turns out not to have the interface.
type Pages interface {
	Match(u *url.URL) (shop.Ref, bool)
	Quote(ctx context.Context, ref shop.Ref) (shop.Quote, error)
}

// ByPage falls back to the product's page.
func ByPage(ctx context.Context, pages Pages, u *url.URL) (shop.Quote, error) {
	ref, ok := pages.Match(u)
	if !ok {
		return shop.Quote{}, &shop.Error{Kind: shop.KindRefused, Message: "This is not the address of a product."}
	}
	return pages.Quote(ctx, ref)
}

// Only is the quote of the one price in an answer; where says which field that
// was, and why that field.
func Only(adapter string, price money.Amount, where, why string) shop.Quote {
	return shop.Quote{
		Price: price, Availability: shop.Unknown, FoundBy: adapter, Evidence: where,
		Candidates: []shop.Candidate{{FoundBy: adapter, Price: price, Text: where, Won: true, Why: why}},
	}
}

// Refused is the error for a status that says no.
func Refused(status int) *shop.Error {
	switch {
	case status == http.StatusNotFound || status == http.StatusGone:
		return &shop.Error{Kind: shop.KindEmpty, Message: "The shop says that this product does not exist."}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &shop.Error{Kind: shop.KindBlocked, Message: "The shop does not let programs read this product."}
	}
	return &shop.Error{Kind: shop.KindServer, Message: "The shop gave an answer that is no product."}
}
