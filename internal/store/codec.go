package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sokone/sokone/internal/money"
)

// layout is the one form of an instant: UTC, milliseconds, fixed width, so that
// text sorts as time does and SQLite's date() reads it.
const layout = "2006-01-02T15:04:05.000Z"

func instant(t time.Time) string { return t.UTC().Format(layout) }

// orNull is NULL for the zero time.
func orNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return instant(t)
}

// clock scans an instant, NULL as the zero time.
type clock struct{ to *time.Time }

func (c clock) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*c.to = time.Time{}
		return nil
	case string:
		t, err := time.Parse(layout, v)
		*c.to = t
		return err
	}
	return fmt.Errorf("store: %T is no instant", v)
}

// minor is an amount in minor units, NULL where there is none. Amounts are
// rounded before they come here; one that does not fit is an error.
func minor(a money.Amount) (any, error) {
	if !a.Known() {
		return nil, nil
	}
	return a.Minor()
}

// minors is minor for several, stopping at the first error.
func minors(amounts ...money.Amount) ([]any, error) {
	out := make([]any, len(amounts))
	for i, a := range amounts {
		m, err := minor(a)
		if err != nil {
			return nil, fmt.Errorf("store: %s: %w", a, err)
		}
		out[i] = m
	}
	return out, nil
}

// amountOf is the other way; the currency stands in a column of its own.
func amountOf(minor sql.NullInt64, currency string) (money.Amount, error) {
	if !minor.Valid || currency == "" {
		return money.Amount{}, nil
	}
	return money.FromMinor(minor.Int64, currency)
}

// parts are the three columns of a price.
type parts struct{ price, shipping, points sql.NullInt64 }

// into sets three amounts of one currency.
func (p parts) into(currency string, price, shipping, points *money.Amount) error {
	for _, a := range []struct {
		minor sql.NullInt64
		to    *money.Amount
	}{{p.price, price}, {p.shipping, shipping}, {p.points, points}} {
		amount, err := amountOf(a.minor, currency)
		if err != nil {
			return err
		}
		*a.to = amount
	}
	return nil
}

// list encodes keys for `IN (SELECT value FROM json_each(?))`, so that a query
// for many rows is one prepared statement.
func list[T any](keys []T) string {
	encoded, err := json.Marshal(keys)
	if err != nil {
		panic(err) // strings and integers always encode
	}
	return string(encoded)
}
