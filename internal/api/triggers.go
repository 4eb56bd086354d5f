package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// takes says which members each type of trigger has.
var takes = map[watch.TriggerType][]string{
	watch.TargetPrice:  {"target"},
	watch.PriceDrop:    {"percent"},
	watch.LowestInDays: {"days"},
	watch.UnitPrice:    {"target", "unit"},
	watch.BackInStock:  {},
}

// triggers turns what was sent into triggers of a listing as last observed. The
// first fault is returned, naming its field.
func triggers(sent []Trigger, o watch.Observation) ([]watch.Trigger, error) {
	if len(sent) == 0 {
		return nil, field("body.triggers", "Send at least one trigger: what to wait for.")
	}
	var out []watch.Trigger
	for i, s := range sent {
		at := fmt.Sprintf("body.triggers[%d]", i)
		t, err := trigger(at, s, o)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(other watch.Trigger) bool { return other.Type == t.Type }) {
			return nil, field(at+".type", "There is a %s trigger already; a watch has one of each type.", t.Type)
		}
		out = append(out, t)
	}
	return out, nil
}

func trigger(at string, s Trigger, o watch.Observation) (watch.Trigger, error) {
	t := watch.Trigger{Type: watch.TriggerType(s.Type)}
	for name, sent := range map[string]bool{"target": s.Target != nil, "percent": s.Percent != nil, "days": s.Days != nil, "unit": s.Unit != nil} {
		if sent && !slices.Contains(takes[t.Type], name) {
			return t, field(at+"."+name, "A %s trigger takes no %s. Leave it out.", t.Type, name)
		}
	}
	var err error
	switch t.Type {
	case watch.TargetPrice:
		t.Target, err = target(at, s.Target, o)
		t.Target = t.Target.Round()
	case watch.PriceDrop:
		t.Percent = "0"
		if s.Percent != nil {
			t.Percent = strconv.FormatFloat(*s.Percent, 'f', -1, 64)
		}
	case watch.LowestInDays:
		t.Days = watch.DefaultDays
		if s.Days != nil {
			t.Days = *s.Days
		}
	case watch.UnitPrice:
		if t.Target, err = target(at, s.Target, o); err != nil {
			return t, err
		}
		t.Unit, err = unit(at+".unit", s.Unit, o)
	}
	return t, err
}

func target(at string, sent *Money, o watch.Observation) (money.Amount, error) {
	at += ".target"
	if sent == nil {
		return money.Amount{}, field(at, "Send the price to wait for, as {\"amount\":\"1298\",\"currency\":\"JPY\"}.")
	}
	amount, err := money.Parse(sent.Amount, sent.Currency)
	if err != nil {
		return amount, field(at, "This is no price: %s.", err)
	}
	if !amount.Round().Positive() && !amount.Positive() {
		return amount, field(at+".amount", "The price to wait for must be above zero.")
	}
	if !o.Price.Known() {
		return amount, field(at, "No price of this product has been seen yet that a target could be compared with. Wait for back_in_stock, and set the target then.")
	}
	if c := o.Price.Currency(); c != amount.Currency() {
		return amount, field(at+".currency", "This shop's prices are in %s; send the target in %s.", c, c)
	}
	if _, err := amount.Minor(); err != nil {
		return amount, field(at+".amount", "This amount is too large.")
	}
	return amount, nil
}

func unit(at string, sent *string, o watch.Observation) (string, error) {
	if sent == nil {
		return "", field(at, "Send the unit to compare by: one of %s.", strings.Join(shop.Units(), ", "))
	}
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, " ", "")) }
	for _, u := range shop.Units() {
		if plain(u) != plain(*sent) {
			continue
		}
		if _, err := shop.UnitPriceOf(o.Price, o.Quantity, u); err != nil {
			return "", field(at, "It is not known how much of this unit the product holds, so its price per %s cannot be watched.", u)
		}
		return u, nil
	}
	return "", field(at, "%.20q is not a unit. Send one of %s.", *sent, strings.Join(shop.Units(), ", "))
}

// basis is checked against what the shop states.
func basis(sent string, o watch.Observation) (watch.Basis, error) {
	b := watch.Basis(sent)
	if b == "" {
		b = watch.BasisPrice
	}
	if b != watch.BasisPrice && !o.Amount(b).Known() {
		return b, field("body.basis", "This shop does not state the cost of shipping, so only the basis \"price\" can be watched.")
	}
	return b, nil
}

// keepMarks lets a trigger that is sent again unchanged keep its mark, so that
// editing another does not tell the same thing twice.
func keepMarks(before, after []watch.Trigger) []watch.Trigger {
	for i, t := range after {
		for _, b := range before {
			same := t
			same.Armed = b.Armed
			if b.Type == t.Type && b.Target.Equal(t.Target) && b.Percent == t.Percent && b.Days == t.Days && b.Unit == t.Unit {
				after[i] = same
			}
		}
	}
	for _, b := range before {
		if !b.Type.Chosen() {
			after = append(after, b)
		}
	}
	return after
}
