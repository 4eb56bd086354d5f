package watch

import (
	"errors"
	"fmt"

	"github.com/sokone/sokone/internal/shop"
)

// ErrOtherCurrency is what Accept returns where a target is in the currency of before.
var ErrOtherCurrency = errors.New("a target is in another currency")

// Mismatch says why an observation is not of what the watch was made for: the
// page names another product, or asks another currency. "" if it is. What does
// not match is shown, and never compared.
func (w Watch) Mismatch(o Observation) Suspicion {
	switch {
	case o.Failure != nil:
		return ""
	case w.Product != "" && !SameName(w.Product, o.Name):
		return OtherProduct
	case o.Price.Known() && w.Currency != "" && o.Price.Currency() != w.Currency:
		return NewCurrency
	}
	return ""
}

// Accept makes the watch one on what its listing shows now: its owner says that
// it is the same product, or that it will do. Drops are measured from now on.
func (w Watch) Accept(l Listing) (Watch, error) {
	if w.Mismatch(l.Last) == "" {
		return w, nil
	}
	for _, t := range w.Triggers {
		if t.Target.Known() && t.Target.Currency() != l.Last.Price.Currency() {
			return w, ErrOtherCurrency
		}
	}
	if w.Product != "" {
		w.Quantity = shop.Quantity{} // it was said of the other product
	}
	w.Product, w.Currency, w.Reference = "", l.Last.Price.Currency(), l.Last.Amount(w.Basis)
	w.Triggers = Arm(w.Triggers, l.Last)
	for i, t := range w.Triggers {
		if t.Type == Readable {
			w.Triggers[i].Armed = false // its owner knows
		}
	}
	return w, nil
}

// Problem is what is wrong with the watch as its owner sees it: the listing's
// problem, or that it shows something else.
func (w Watched) Problem() *Problem {
	if p := w.Listing.Problem; p != nil {
		return p
	}
	kind := w.Watch.Mismatch(w.Listing.Last)
	if kind == "" {
		return nil
	}
	p := &Problem{Kind: string(kind), Since: w.Listing.Since, Message: "The shop now asks another currency, so its prices are not compared."}
	if kind == OtherProduct {
		p.Message = fmt.Sprintf("The page now shows another product, %q, so its prices are not compared.", w.Listing.Name)
	}
	return p
}

// contents is how much the package holds: by the owner's word, else the shop's.
func (w Watch) contents(o Observation) shop.Quantity {
	if w.Quantity.Known() {
		return w.Quantity
	}
	return o.Quantity
}
