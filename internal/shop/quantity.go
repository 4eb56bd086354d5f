package shop

import (
	"fmt"

	"github.com/sokone/sokone/internal/money"
)

// Quantity is how much a package holds, in one of BaseUnits. The zero value is
// "unsure".
type Quantity struct {
	Amount string `json:"amount"` // plain decimal, above zero
	Unit   string `json:"unit"`
}

// Known reports whether the content is known.
func (q Quantity) Known() bool { return q.Unit != "" && q.Amount != "" }

// Per names the unit that a price is shown for, and how many base units it holds.
type per struct{ base, size string }

// perUnits are the units that people compare by.
var perUnits = map[string]per{
	"100 g": {"g", "100"}, "kg": {"g", "1000"},
	"100 ml": {"ml", "100"}, "l": {"ml", "1000"},
	"m": {"m", "1"}, "piece": {"piece", "1"}, "sheet": {"sheet", "1"}, "roll": {"roll", "1"},
	"set": {"set", "1"}, "pair": {"pair", "1"}, "tablet": {"tablet", "1"}, "serving": {"serving", "1"},
}

// UnitPrice is a price for a normal unit: 330 JPY per "100 g".
type UnitPrice struct {
	Price money.Amount
	Per   string
}

// Units lists the words that UnitPriceOf takes.
func Units() []string {
	return []string{"100 g", "kg", "100 ml", "l", "m", "piece", "sheet", "roll", "set", "pair", "tablet", "serving"}
}

// BaseUnits lists the units that a quantity is measured in.
func BaseUnits() []string {
	return []string{"g", "ml", "m", "piece", "sheet", "roll", "set", "pair", "tablet", "serving"}
}

// DefaultUnit is the unit that people expect for a base unit.
func DefaultUnit(base string) string {
	switch base {
	case "g":
		return "100 g"
	case "ml":
		return "100 ml"
	}
	return base
}

// UnitPriceOf divides a price by the quantity, for the named unit. It fails where
// the quantity is unsure or measured otherwise (a price per kg of 12 rolls).
func UnitPriceOf(price money.Amount, q Quantity, unit string) (UnitPrice, error) {
	p, ok := perUnits[unit]
	if !ok {
		return UnitPrice{}, fmt.Errorf("unit %.20q is not one of %q", unit, Units())
	}
	if !q.Known() || q.Unit != p.base {
		return UnitPrice{}, fmt.Errorf("no quantity in %s is known", p.base)
	}
	times, err := price.Mul(p.size)
	if err != nil {
		return UnitPrice{}, err
	}
	each, err := times.Div(q.Amount)
	if err != nil {
		return UnitPrice{}, err
	}
	return UnitPrice{each, unit}, nil
}
