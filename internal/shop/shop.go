// Package shop says what a shop is to Sokone: an Adapter that turns the address
// of a product into a Quote, or into an Error whose kind says what to do about it.
// Each kind of shop has its own folder below this one.
package shop

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/sokone/sokone/internal/money"
)

// Availability of a product. Unknown is a state of its own: it is neither "in" nor "out".
type Availability string

// The four states; no other is ever stored or sent.
const (
	InStock    Availability = "in_stock"
	OutOfStock Availability = "out_of_stock"
	Preorder   Availability = "preorder" // can be ordered, is not there yet; back-orders too
	Unknown    Availability = "unknown"
)

// Ref names a listing: an adapter, that shop's item code, and the canonical
// address a person can open. (Adapter, ItemCode) is the identity.
type Ref struct {
	Adapter  string
	ItemCode string
	URL      string
}

// Quote is what an adapter read about a listing at one moment. Price is always
// known and above zero: an adapter that finds no such price returns an Error.
// Beside an Error that says SoldOut, the quote holds all but the price.
type Quote struct {
	Ref                       // identity after redirects and canonical links; may differ from what was asked
	Name         string       // plain text, never HTML
	ImageURL     string       // absolute http(s) address, or ""
	Price        money.Amount // shelf price as read, with tax where the shop states both
	Shipping     money.Amount // cost of shipping; unknown where the shop does not state it
	Points       money.Amount // value of points given back; unknown where there are none
	Quantity     Quantity     // content, for the unit price; zero where unsure
	Availability Availability
	FoundBy      string      // which rule won: "json-ld", "microdata", "opengraph", …
	Evidence     string      // the short piece of the page that the price was read from; bounded plain text
	Candidates   []Candidate // what else was seen, and why it lost; for `sokone quote`
	ObservedAt   time.Time   // UTC
}

// Candidate is one price that an adapter considered.
type Candidate struct {
	FoundBy string       `json:"found_by"`
	Price   money.Amount `json:"price"`
	Text    string       `json:"text"` // a short snippet of where it stood
	Won     bool         `json:"won"`
	Why     string       `json:"why"` // why it won or lost
}

// Kind of an Error: a closed set of stable words, also in reasons ("refetch_network").
type Kind string

// The kinds of DESIGN.md.
const (
	KindEmpty       Kind = "empty"        // gone
	KindBlocked     Kind = "blocked"      // bot wall, login
	KindParse       Kind = "parse"        // no price, or none that can be trusted
	KindRateLimited Kind = "rate_limited" // 429; RetryAfter may be set
	KindNetwork     Kind = "network"      // no answer
	KindServer      Kind = "server"       // 5xx, queue, maintenance
	KindAuth        Kind = "auth"         // the operator's key is missing or refused
	KindRefused     Kind = "refused"      // the address is not allowed
)

// Error is why there is no quote.
type Error struct {
	Kind       Kind
	Message    string        // one sentence that a shopper can act on; nothing secret
	RetryAfter time.Duration // how long the shop asked us to wait; 0 if it did not
	SoldOut    bool          // there is no price because the product, which is there, cannot be bought
	Cause      error         // for the log only
}

// Error makes the kind and the cause visible to the operator.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Kind, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// AsError returns err as an *Error: itself where it is one, else a network error
// that keeps err as its cause. It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: KindNetwork, Message: "The shop could not be reached.", Cause: err}
}

// Adapter reads one kind of shop.
type Adapter interface {
	// Name is the stable word stored with every listing: "page", "demo", "rakuten".
	Name() string
	// Match says whether the address is one of this adapter's, and which item it
	// names. It does no I/O.
	Match(u *url.URL) (Ref, bool)
	// Quote reads the listing now. Every error is an *Error. Beside an error the
	// quote may hold the Ref that the address led to.
	Quote(ctx context.Context, ref Ref) (Quote, error)
}

type anewKey struct{}

// Anew asks adapters for the whole answer, and not only whether it has changed:
// what is told to somebody does not rest on a shop's word that it has not.
func Anew(ctx context.Context) context.Context { return context.WithValue(ctx, anewKey{}, true) }

// IsAnew reports whether the caller wants the whole answer.
func IsAnew(ctx context.Context) bool { return ctx.Value(anewKey{}) != nil }
