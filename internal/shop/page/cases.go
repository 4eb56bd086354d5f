package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
)

// Verdict on one case.
type Verdict int

// The verdicts. Wrong is a price where an error is due, or another price;
// Refused is an error where a price is due.
const (
	Right Verdict = iota
	Refused
	Wrong
)

// Result is how one case went.
type Result struct {
	Kind, Name string
	Verdict    Verdict
	Got, Want  string
}

// asOf is the day on which cases are read: what has run out must not depend on when
// they are tried.
var asOf = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// RunCases tries a folder of cases: each folder in it that has a pages.json holds
// answers of shops, and that file says what must be read; prices.json holds price
// texts, unit_titles.json product titles. What is not there is left out.
func RunCases(folder fs.FS) ([]Result, error) {
	var results []Result
	lists, err := fs.Glob(folder, "*/pages.json")
	if err != nil {
		return nil, err
	}
	for _, list := range lists {
		r, err := runPages(folder, path.Dir(list))
		if err != nil {
			return nil, err
		}
		results = append(results, r...)
	}
	for _, run := range []func(fs.FS) ([]Result, error){runPrices, runTitles} {
		r, err := run(folder)
		if err != nil {
			return nil, err
		}
		results = append(results, r...)
	}
	return results, nil
}

// readCases reads a list of cases; a file that is missing holds none.
func readCases[T any](folder fs.FS, name string) ([]T, error) {
	data, err := fs.ReadFile(folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var cases []T
	if err := json.Unmarshal(data, &cases); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return cases, nil
}

type pageCase struct {
	File        string `json:"file"`
	HTML        string `json:"html"` // the answer itself, where no file holds it
	URL         string `json:"url"`
	Status      int    `json:"status"`
	ContentType string `json:"content_type"`
	Expect      struct {
		Error        string            `json:"error"`
		Amount       string            `json:"amount"`
		Currency     string            `json:"currency"`
		Availability shop.Availability `json:"availability"`
		Name         string            `json:"name"`
		UnitPrice    *struct {
			Amount   string `json:"amount"`
			Currency string `json:"currency"`
			Per      string `json:"per"`
		} `json:"unit_price"`
	} `json:"expect"`
}

func runPages(folder fs.FS, kind string) ([]Result, error) {
	cases, err := readCases[pageCase](folder, kind+"/pages.json")
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, c := range cases {
		body := []byte(c.HTML)
		if c.HTML == "" {
			if body, err = fs.ReadFile(folder, kind+"/"+c.File); err != nil {
				return nil, err
			}
		}
		u, err := url.Parse(cmp.Or(c.URL, "https://shop.example/p/"+strings.TrimSuffix(c.File, ".html")))
		if err != nil {
			return nil, err
		}
		q, failed := Extract(Input{URL: u, Status: cmp.Or(c.Status, 200), ContentType: c.ContentType, Body: body, Now: asOf})
		results = append(results, c.judge(kind, q, failed))
	}
	return results, nil
}

func (c pageCase) judge(kind string, q shop.Quote, failed *shop.Error) Result {
	r := Result{Kind: kind, Name: c.File}
	if failed != nil {
		r.Got = "error " + string(failed.Kind)
	} else {
		r.Got = fmt.Sprintf("%s %s %q (%s)", q.Price, q.Availability, q.Name, q.FoundBy)
	}
	if c.Expect.Error != "" {
		r.Want = "error " + c.Expect.Error
		switch {
		case failed == nil:
			r.Verdict = Wrong
		case string(failed.Kind) != c.Expect.Error:
			r.Verdict = Wrong
		}
		return r
	}
	r.Want = fmt.Sprintf("%s %s %s %q", c.Expect.Amount, c.Expect.Currency, c.Expect.Availability, c.Expect.Name)
	switch {
	case failed != nil:
		r.Verdict = Refused
	case !sameNumber(q.Price.Number(), c.Expect.Amount),
		!writtenWith(q.Price.Currency(), c.Expect.Currency),
		c.Expect.Availability != "" && q.Availability != c.Expect.Availability,
		c.Expect.Name != "" && q.Name != c.Expect.Name:
		r.Verdict = Wrong
	case c.Expect.UnitPrice != nil:
		u := c.Expect.UnitPrice
		r.Want += fmt.Sprintf(" %s %s per %s", u.Amount, u.Currency, u.Per)
		got, err := shop.UnitPriceOf(q.Price, q.Quantity, u.Per)
		wantUnit, wantErr := money.Parse(u.Amount, u.Currency)
		r.Got += fmt.Sprintf(" %s per %s", got.Price, got.Per)
		switch {
		case err != nil:
			r.Verdict = Refused
		case wantErr != nil || !got.Price.Round().Equal(wantUnit):
			r.Verdict = Wrong
		}
	}
	return r
}

// writtenWith reports whether a currency is the one expected, by its ISO 4217 code
// or by a bare sign, which means any currency that is written with that sign.
func writtenWith(code, expected string) bool {
	for _, s := range signsOf {
		if s.sign == expected && s.currency == code {
			return true
		}
	}
	return code == expected || slices.Contains(sharedSigns[expected], code)
}

type priceCase struct {
	Text     string  `json:"text"`
	Hint     *string `json:"hint"`
	Amount   *string `json:"amount"`
	Symbol   *string `json:"symbol"`
	Currency *string `json:"currency"`
	Several  bool    `json:"several"`
}

func runPrices(folder fs.FS) ([]Result, error) {
	cases, err := readCases[priceCase](folder, "prices.json")
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, c := range cases {
		hint := ""
		if c.Hint != nil {
			hint = *c.Hint
		}
		r := Result{Kind: "prices", Name: c.Text}
		amount, currency, ok := ReadPrice(c.Text, hint, "")
		r.Got, r.Want = "none", "none"
		if ok {
			r.Got = amount + " " + currency
		}
		switch {
		case c.Amount == nil:
			if ok {
				r.Verdict = Wrong
			}
		default:
			r.Want = *c.Amount
			if c.Currency != nil {
				r.Want += " " + *c.Currency
			}
			switch {
			case !ok && c.Several:
			case !ok:
				r.Verdict = Refused
			case !sameNumber(amount, *c.Amount), c.Currency != nil && currency != *c.Currency:
				r.Verdict = Wrong
			}
		}
		results = append(results, r)
	}
	return results, nil
}

func sameNumber(a, b string) bool {
	x, err1 := money.Parse(a, "USD")
	y, err2 := money.Parse(b, "USD")
	return err1 == nil && err2 == nil && x.Equal(y)
}

type titleCase struct {
	Title    string       `json:"title"`
	Quantity *json.Number `json:"quantity"`
	Unit     *string      `json:"unit"`
}

func runTitles(folder fs.FS) ([]Result, error) {
	cases, err := readCases[titleCase](folder, "unit_titles.json")
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, c := range cases {
		r := Result{Kind: "titles", Name: c.Title}
		q := Quantity(c.Title)
		r.Got, r.Want = "none", "none"
		if q.Known() {
			r.Got = q.Amount + " " + q.Unit
		}
		switch {
		case c.Quantity == nil || c.Unit == nil:
			if q.Known() {
				r.Verdict = Wrong
			}
		default:
			r.Want = c.Quantity.String() + " " + *c.Unit
			switch {
			case !q.Known():
				r.Verdict = Refused
			case q.Unit != *c.Unit || !sameNumber(q.Amount, c.Quantity.String()):
				r.Verdict = Wrong
			}
		}
		results = append(results, r)
	}
	return results, nil
}

// Scores counts verdicts by kind, in the order of the results.
func Scores(results []Result) (kinds []string, counts map[string][3]int) {
	counts = map[string][3]int{}
	for _, r := range results {
		if !slices.Contains(kinds, r.Kind) {
			kinds = append(kinds, r.Kind)
		}
		c := counts[r.Kind]
		c[r.Verdict]++
		counts[r.Kind] = c
	}
	return kinds, counts
}
