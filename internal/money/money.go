// Package money holds exact amounts with a currency. It is a thin layer over
// github.com/bojanz/currency: decimals, never floats; ISO 4217 codes and their
// minor units.
package money

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bojanz/currency"
	"github.com/cockroachdb/apd/v3"
)

// Errors of this package. Their texts are for a person; the field is named by the caller.
var (
	ErrAmount   = errors.New("amount is not a decimal number such as \"1298\" or \"12.50\"")
	ErrCurrency = errors.New("currency is not an ISO 4217 code such as \"JPY\"")
	ErrMismatch = errors.New("amounts are in different currencies")
	ErrRange    = errors.New("amount is too large")
)

// maxDigits bounds what is parsed, so that a hostile page cannot make arithmetic
// slow. What MarshalJSON wrote may be longer: a third has as many digits as the
// arithmetic carries.
const (
	maxDigits       = 40
	maxStoredDigits = 200
)

// Amount is an exact decimal in one currency. The zero value is "no amount":
// Known reports false, and it is null in JSON.
type Amount struct {
	a     currency.Amount
	known bool
}

// Parse reads a plain decimal string ("1298", "12.50", "-3") in the given ISO 4217
// currency. It knows no grouping and no signs of currencies: texts off pages are
// the business of the shop adapters.
func Parse(number, code string) (Amount, error) { return parse(number, code, maxDigits) }

func parse(number, code string, limit int) (Amount, error) {
	if len(number) > limit || !plainDecimal(number) {
		return Amount{}, fmt.Errorf("%w: %.40q", ErrAmount, number)
	}
	if !ValidCurrency(code) {
		return Amount{}, fmt.Errorf("%w: %.10q", ErrCurrency, code)
	}
	a, err := currency.NewAmount(number, code)
	if err != nil {
		return Amount{}, fmt.Errorf("%w: %.40q", ErrAmount, number)
	}
	return Amount{a, true}, nil
}

// MustParse is Parse for constants and tests; it panics on an error.
func MustParse(number, code string) Amount {
	a, err := Parse(number, code)
	if err != nil {
		panic(err)
	}
	return a
}

// FromMinor makes an amount from minor units: 1298 JPY is ¥1,298; 1298 USD is $12.98.
func FromMinor(minor int64, code string) (Amount, error) {
	if !ValidCurrency(code) {
		return Amount{}, fmt.Errorf("%w: %.10q", ErrCurrency, code)
	}
	a, err := currency.NewAmountFromInt64(minor, code)
	if err != nil {
		return Amount{}, fmt.Errorf("%w: %.10q", ErrCurrency, code)
	}
	return Amount{a, true}, nil
}

// Minor returns the amount in minor units of its currency, rounded half up,
// for storage.
func (a Amount) Minor() (int64, error) {
	if !a.known {
		return 0, ErrAmount
	}
	n, err := a.a.Round().Int64()
	if err != nil {
		return 0, ErrRange
	}
	return n, nil
}

// ValidCurrency reports whether code is a known ISO 4217 code, in upper case.
func ValidCurrency(code string) bool { return code != "" && currency.IsValid(code) }

// Digits is how many decimals a currency has: 0 for JPY, 2 for USD, 3 for KWD.
func Digits(code string) int {
	d, _ := currency.GetDigits(code)
	return int(d)
}

// Known reports whether there is an amount at all.
func (a Amount) Known() bool { return a.known }

// Currency is the ISO 4217 code, "" where there is no amount.
func (a Amount) Currency() string { return a.a.CurrencyCode() }

// Number is the decimal string, exactly as it was read: "19.90" stays "19.90".
// It is plain: arithmetic may leave 6.5E+2 behind, which nobody would parse.
func (a Amount) Number() string {
	if !a.known {
		return ""
	}
	n := a.a.Number()
	if !strings.ContainsRune(n, 'E') {
		return n
	}
	d, _, err := apd.NewFromString(n)
	if err != nil {
		return n
	}
	return d.Text('f')
}

// String is for logs and tests: "1298 JPY".
func (a Amount) String() string {
	if !a.known {
		return "none"
	}
	return a.Number() + " " + a.Currency()
}

// Positive reports whether there is an amount and it is above zero.
func (a Amount) Positive() bool { return a.known && a.a.IsPositive() }

// Negative reports whether there is an amount and it is below zero.
func (a Amount) Negative() bool { return a.known && a.a.IsNegative() }

// Round gives the amount in whole minor units, half up: what is stored, compared and shown.
func (a Amount) Round() Amount {
	if !a.known {
		return a
	}
	return Amount{a.a.Round(), true}
}

// SameCurrency reports whether both are known and can be compared.
func (a Amount) SameCurrency(b Amount) bool {
	return a.known && b.known && a.a.CurrencyCode() == b.a.CurrencyCode()
}

// Cmp compares exactly: -1, 0 or 1. It fails where the currencies differ or one is no amount.
func (a Amount) Cmp(b Amount) (int, error) {
	if !a.SameCurrency(b) {
		return 0, ErrMismatch
	}
	return a.a.Cmp(b.a)
}

// Less reports whether a < b; false where they cannot be compared.
func (a Amount) Less(b Amount) bool { c, err := a.Cmp(b); return err == nil && c < 0 }

// AtMost reports whether a ≤ b; false where they cannot be compared.
func (a Amount) AtMost(b Amount) bool { c, err := a.Cmp(b); return err == nil && c <= 0 }

// Equal reports whether both are the same amount, or both none.
func (a Amount) Equal(b Amount) bool {
	if !a.known || !b.known {
		return a.known == b.known
	}
	return a.a.Equal(b.a)
}

// Add returns a + b.
func (a Amount) Add(b Amount) (Amount, error) {
	if !a.SameCurrency(b) {
		return Amount{}, ErrMismatch
	}
	s, err := a.a.Add(b.a)
	return Amount{s, err == nil}, err
}

// Sub returns a - b.
func (a Amount) Sub(b Amount) (Amount, error) {
	if !a.SameCurrency(b) {
		return Amount{}, ErrMismatch
	}
	s, err := a.a.Sub(b.a)
	return Amount{s, err == nil}, err
}

// Mul returns a times a plain decimal string.
func (a Amount) Mul(factor string) (Amount, error) {
	if !a.known {
		return Amount{}, ErrAmount
	}
	p, err := a.a.Mul(factor)
	return Amount{p, err == nil}, err
}

// Div returns a divided by a plain decimal string other than zero.
func (a Amount) Div(divisor string) (Amount, error) {
	if !a.known {
		return Amount{}, ErrAmount
	}
	q, err := a.a.Div(divisor)
	return Amount{q, err == nil}, err
}

// Format writes the amount for a reader of the locale ("ja", "en-GB"): "¥1,298".
func (a Amount) Format(locale string) string {
	if !a.known {
		return ""
	}
	f := currency.NewFormatter(currency.NewLocale(locale))
	f.CurrencyDisplay = currency.DisplaySymbol
	return f.Format(a.a.Round())
}

type wire struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// MarshalJSON writes {"amount":"1298","currency":"JPY"}, or null.
func (a Amount) MarshalJSON() ([]byte, error) {
	if !a.known {
		return []byte("null"), nil
	}
	return json.Marshal(wire{a.Number(), a.Currency()})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Amount) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*a = Amount{}
		return nil
	}
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return ErrAmount
	}
	parsed, err := parse(w.Amount, w.Currency, maxStoredDigits)
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}

// plainDecimal accepts -?digits[.digits].
func plainDecimal(s string) bool {
	whole, frac, dotted := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return digits(whole) && (!dotted || digits(frac))
}

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
