package watch

import (
	"time"

	"github.com/cockroachdb/apd/v3"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
)

// Truth of a condition. Unclear means that the observation says nothing about
// it: it neither fires nor re-arms.
type Truth int

// The three truths.
const (
	Unclear Truth = iota
	No
	Yes
)

func truth(b bool) Truth {
	if b {
		return Yes
	}
	return No
}

// Why holds the numbers that a person is shown; those that do not belong to the
// trigger are unknown and left out of JSON.
type Why struct {
	Price        money.Amount      `json:"price,omitzero"`     // in the watch's basis
	Reference    money.Amount      `json:"reference,omitzero"` // price_drop: what it fell from
	Target       money.Amount      `json:"target,omitzero"`
	Percent      string            `json:"percent,omitempty"` // price_drop: the percentage asked for
	Days         int               `json:"days,omitempty"`    // lowest_in_days: the window asked for
	Lowest       money.Amount      `json:"lowest,omitzero"`   // lowest_in_days: the lowest before
	LowestSince  time.Time         `json:"lowest_since,omitzero"`
	UnitPrice    money.Amount      `json:"unit_price,omitzero"`
	Unit         string            `json:"unit,omitempty"`
	Availability shop.Availability `json:"availability,omitempty"`
	FailingSince time.Time         `json:"failing_since,omitzero"`
	FailureKind  shop.Kind         `json:"failure_kind,omitempty"`
}

// Decision is what Decide says about one trigger.
type Decision struct {
	Holds Truth // the condition itself
	Fires bool  // it holds, and the shopper has not been told of it yet
	Why   Why
}

// Decide is the one rule: detection asks it before it queues an alert, and
// dispatch asks it again, on a fresh observation, before it sends. History must
// end before the observation that detection made.
//
// A holding trigger fires when it is armed, or when the price is lower than the
// one last notified.
func Decide(w Watch, t Trigger, o Observation, h History) Decision {
	d := condition(w, t, o, h)
	if d.Holds != Yes {
		return d
	}
	d.Fires = t.Armed || lowerThanNotified(w, t, o)
	return d
}

func condition(w Watch, t Trigger, o Observation, h History) Decision {
	switch t.Type {
	case Unreadable:
		return unreadable(w, o)
	case Readable:
		return Decision{Holds: truth(o.Failure == nil && w.Mismatch(o) == ""), Why: Why{Price: o.Amount(w.Basis), Availability: o.Availability}}
	}
	if o.Failure != nil || w.Mismatch(o) != "" {
		return Decision{}
	}
	if t.Type == BackInStock {
		return backInStock(w, o)
	}
	// A price that nobody can pay, or that is not stated in the watch's basis, says
	// nothing about a price trigger.
	price := o.Amount(w.Basis)
	if o.Availability == shop.OutOfStock || !price.Positive() {
		return Decision{}
	}
	switch t.Type {
	case TargetPrice:
		return Decision{Holds: truth(price.AtMost(t.Target)), Why: Why{Price: price, Target: t.Target}}
	case PriceDrop:
		return priceDrop(w, t, price)
	case LowestInDays:
		return lowestInDays(w, t, o, price, h)
	case UnitPrice:
		return unitPrice(w, t, o, price)
	}
	return Decision{}
}

func unreadable(w Watch, o Observation) Decision {
	failure := o.Failure
	if m := w.Mismatch(o); m != "" { // a price can be read, and it is not that of what is watched
		failure = &Failure{Kind: shop.Kind(m), Since: o.Since}
	}
	if failure == nil {
		return Decision{Holds: No}
	}
	if !failure.Gone && o.At.Sub(failure.Since) < UnreadableAfter {
		return Decision{} // too early to say
	}
	return Decision{Holds: Yes, Why: Why{FailingSince: failure.Since, FailureKind: failure.Kind}}
}

func backInStock(w Watch, o Observation) Decision {
	why := Why{Price: o.Amount(w.Basis), Availability: o.Availability}
	switch o.Availability {
	case shop.InStock:
		return Decision{Holds: Yes, Why: why}
	case shop.OutOfStock, shop.Preorder:
		return Decision{Holds: No, Why: why}
	}
	return Decision{}
}

func priceDrop(w Watch, t Trigger, price money.Amount) Decision {
	why := Why{Price: price, Reference: w.Reference, Percent: t.Percent}
	limit, err := percentOff(w.Reference, t.Percent)
	if err != nil || !price.SameCurrency(w.Reference) {
		return Decision{}
	}
	// Percent 0 means any drop, so the reference itself is not one.
	return Decision{Holds: truth(price.AtMost(limit) && price.Less(w.Reference)), Why: why}
}

// percentOff is reference × (1 − percent/100), exactly.
func percentOff(reference money.Amount, percent string) (money.Amount, error) {
	p, _, err := apd.NewFromString(percent)
	if err != nil {
		return money.Amount{}, err
	}
	var rest apd.Decimal
	if _, err := apd.BaseContext.WithPrecision(30).Sub(&rest, apd.New(100, 0), p); err != nil {
		return money.Amount{}, err
	}
	rest.Exponent -= 2
	return reference.Mul(rest.Text('f'))
}

func lowestInDays(w Watch, t Trigger, o Observation, price money.Amount, h History) Decision {
	since := o.At.AddDate(0, 0, -t.Days)
	if !h.Covers(o.At.Add(-ShortHistory)) {
		since = w.CreatedAt
	}
	lowest := h.Lowest(w.Basis, w.Currency, since)
	if !lowest.Known() {
		return Decision{}
	}
	if first := h.Points[0].At; first.After(since) {
		since = first // nothing is claimed of a time that nobody looked at
	}
	why := Why{Price: price, Days: t.Days, Lowest: lowest, LowestSince: since}
	return Decision{Holds: truth(price.Less(lowest)), Why: why}
}

func unitPrice(w Watch, t Trigger, o Observation, price money.Amount) Decision {
	u, err := shop.UnitPriceOf(price, w.contents(o), t.Unit)
	if err != nil {
		return Decision{}
	}
	why := Why{Price: price, Target: t.Target, UnitPrice: u.Price, Unit: t.Unit}
	return Decision{Holds: truth(u.Price.AtMost(t.Target)), Why: why}
}

// lowerThanNotified: each new low tells again. It is about prices, so it never
// fires the triggers that are not.
func lowerThanNotified(w Watch, t Trigger, o Observation) bool {
	switch t.Type {
	case BackInStock, Unreadable, Readable:
		return false
	}
	return w.LastNotified != nil && o.Amount(w.Basis).Less(w.LastNotified.Amount(w.Basis))
}
