// Package watch decides when a shopper is told. It holds listings, watches,
// triggers, the reference, re-arming and quarantine as pure functions: values
// in, values and reasons out. It does no I/O and has no clock of its own.
package watch

import (
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
)

// Basis is which amount of a quote a watch compares.
type Basis string

// The bases of DESIGN.md section 4.
const (
	BasisPrice     Basis = "price"     // the shelf price
	BasisTotal     Basis = "total"     // with shipping
	BasisEffective Basis = "effective" // total less points
)

// Bases lists the valid bases.
func Bases() []Basis { return []Basis{BasisPrice, BasisTotal, BasisEffective} }

// TriggerType is the stable word for a condition.
type TriggerType string

// The triggers that a shopper chooses, and the two that every watch carries so
// that a silent failure is told, once, and its end too.
const (
	TargetPrice  TriggerType = "target_price"
	PriceDrop    TriggerType = "price_drop"
	LowestInDays TriggerType = "lowest_in_days"
	UnitPrice    TriggerType = "unit_price"
	BackInStock  TriggerType = "back_in_stock"

	Unreadable TriggerType = "unreadable" // the price could not be read for a day, or the product is gone
	Readable   TriggerType = "readable"   // it can be read again, after Unreadable was told
)

// ChosenTypes lists the triggers that a shopper may choose.
func ChosenTypes() []TriggerType {
	return []TriggerType{TargetPrice, PriceDrop, LowestInDays, UnitPrice, BackInStock}
}

// Chosen reports whether a shopper chose this trigger; the others are ours.
func (t TriggerType) Chosen() bool { return t != Unreadable && t != Readable }

// DefaultDays is the window of lowest_in_days where none is given.
const DefaultDays = 90

// Trigger is one condition that a watch waits for. Which of the fields matter
// depends on the type.
type Trigger struct {
	Type    TriggerType
	Target  money.Amount // target_price and unit_price
	Percent string       // price_drop: plain decimal, "0" for any drop
	Days    int          // lowest_in_days
	Unit    string       // unit_price: one of shop.Units

	// Armed says that the trigger has been seen not to hold since the last sent
	// alert, or has never been told. It is apart from LastNotified: only a sent
	// alert clears it, only an observation sets it.
	Armed bool
}

// Watch is one user's interest in one listing.
type Watch struct {
	ID        string
	UserID    string
	ListingID string
	Triggers  []Trigger // chosen ones first, then Unreadable and Readable
	Basis     Basis
	Currency  string // of the first price seen, "" before there was one; quotes in another never fire
	Note      string
	Paused    bool
	Removed   bool
	CreatedAt time.Time

	Quantity shop.Quantity // the content as its owner corrected it; zero for the shop's
	Product  string        // what it was made for, once the page names another product; "" before

	Reference    money.Amount // in Basis: what a drop is measured from
	LastNotified *Notified    // nil until the first sent alert

	// Revision counts every change by the user and every sent alert. What was
	// decided on one revision is not applied to another.
	Revision int64
}

// Notified is the last alert that was accepted for delivery: all parts of the
// price, so that it can be compared in any basis.
type Notified struct {
	At                      time.Time
	Price, Shipping, Points money.Amount
}

// Amount is the notified price in a basis.
func (n Notified) Amount(b Basis) money.Amount { return inBasis(b, n.Price, n.Shipping, n.Points) }

// New fills in what a fresh watch starts with: the reference, and the triggers
// that every watch carries. A trigger that holds at the first check tells at
// once; back_in_stock needs to have seen the product unavailable first.
func New(w Watch, o Observation) Watch {
	w.Currency = o.Price.Currency()
	w.Reference = o.Amount(w.Basis)
	w.Triggers = Arm(w.Triggers, o)
	w.Triggers = append(w.Triggers, Trigger{Type: Unreadable, Armed: true}, Trigger{Type: Readable})
	return w
}

// Arm gives chosen triggers their starting mark, given the latest observation.
func Arm(triggers []Trigger, o Observation) []Trigger {
	armed := make([]Trigger, len(triggers))
	for i, t := range triggers {
		t.Armed = t.Type != BackInStock || o.Availability == shop.OutOfStock || o.Availability == shop.Preorder
		armed[i] = t
	}
	return armed
}

// Trigger finds the watch's trigger of a type.
func (w Watch) Trigger(typ TriggerType) (Trigger, bool) {
	for _, t := range w.Triggers {
		if t.Type == typ {
			return t, true
		}
	}
	return Trigger{}, false
}

// Observation is what is kept of one reading of a listing: rounded to the
// currency's minor unit, which is what is stored, compared and shown.
type Observation struct {
	At                      time.Time
	Price, Shipping, Points money.Amount // Price is unknown where the product is sold out without a price
	Availability            shop.Availability
	Quantity                shop.Quantity
	Name, ImageURL          string
	FoundBy, Evidence       string    // the rule that found the price, and the piece of the page it stood in
	Since                   time.Time // Listing.Since, where the observation is of a known listing

	// Failure is set where nothing could be read; the other fields are then empty.
	Failure *Failure
}

// Failure says since when a listing could not be read, as of the observation.
type Failure struct {
	Kind  shop.Kind
	Since time.Time
	Gone  bool // the product page is gone for good
}

// Observe keeps what matters of a quote.
func Observe(q shop.Quote) Observation {
	return Observation{
		At: q.ObservedAt, Price: q.Price.Round(), Shipping: q.Shipping.Round(), Points: q.Points.Round(),
		Availability: q.Availability, Quantity: q.Quantity,
		Name: q.Name, ImageURL: q.ImageURL, FoundBy: q.FoundBy, Evidence: q.Evidence,
	}
}

// SoldOut is the observation of a product that is there but cannot be bought
// and shows no price.
func SoldOut(at time.Time) Observation {
	return Observation{At: at, Availability: shop.OutOfStock}
}

// Amount is the price in a basis; unknown where a part of it is not stated.
func (o Observation) Amount(b Basis) money.Amount { return inBasis(b, o.Price, o.Shipping, o.Points) }

// inBasis needs the shipping for a total. Points that are not stated count as
// none: the effective price is then the total.
func inBasis(b Basis, price, shipping, points money.Amount) money.Amount {
	if b == BasisPrice || !price.Known() {
		return price
	}
	total, err := price.Add(shipping)
	if err != nil {
		return money.Amount{}
	}
	if b == BasisTotal || !points.Known() {
		return total
	}
	effective, err := total.Sub(points)
	if err != nil {
		return money.Amount{}
	}
	return effective
}
