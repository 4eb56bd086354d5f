package money_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sokone/sokone/internal/money"
)

func TestParseKeepsTheTextOfTheNumber(t *testing.T) {
	for _, tc := range []struct{ number, currency, minor string }{
		{"1298", "JPY", "1298"},
		{"19.90", "EUR", "1990"},
		{"4.250", "KWD", "4250"},
		{"19.999999", "USD", "2000"}, // stored rounded half up
		{"0.005", "USD", "1"},
		{"-3", "USD", "-300"},
		{"124999.00", "INR", "12499900"},
	} {
		a, err := money.Parse(tc.number, tc.currency)
		if err != nil {
			t.Fatalf("%s %s: %v", tc.number, tc.currency, err)
		}
		if a.Number() != tc.number || a.Currency() != tc.currency {
			t.Errorf("%s %s was read as %s", tc.number, tc.currency, a)
		}
		minor, err := a.Minor()
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(minor)
		if err != nil || string(want) != tc.minor {
			t.Errorf("%s: %d minor units, want %s", a, minor, tc.minor)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, number := range []string{"", "-", ".", "1.", ".5", "1,000", "1e3", "0x10", "NaN", "Infinity", "+1", " 1", "1 ", "１", "1_000", strings.Repeat("9", 41)} {
		if a, err := money.Parse(number, "USD"); !errors.Is(err, money.ErrAmount) {
			t.Errorf("%q was read as %s, %v", number, a, err)
		}
	}
	for _, code := range []string{"", "usd", "ZZZ", "US", "$"} {
		if _, err := money.Parse("1", code); !errors.Is(err, money.ErrCurrency) {
			t.Errorf("currency %q: %v", code, err)
		}
	}
	if _, err := money.MustParse("99999999999999999999", "JPY").Minor(); !errors.Is(err, money.ErrRange) {
		t.Errorf("an amount beyond 64 bits: %v", err)
	}
}

func TestAmountsOfTwoCurrenciesDoNotCompare(t *testing.T) {
	yen, euro := money.MustParse("300", "JPY"), money.MustParse("300", "EUR")
	if _, err := yen.Cmp(euro); !errors.Is(err, money.ErrMismatch) {
		t.Errorf("Cmp: %v", err)
	}
	if yen.Less(euro) || yen.AtMost(euro) || yen.Equal(euro) || euro.AtMost(yen) {
		t.Error("a comparison over currencies held")
	}
	var none money.Amount
	if none.Known() || none.Less(yen) || yen.AtMost(none) || yen.Equal(none) || !none.Equal(money.Amount{}) {
		t.Error("no amount compared as an amount")
	}
}

func TestScaleIsNoDifference(t *testing.T) {
	if !money.MustParse("2879.2", "USD").Equal(money.MustParse("2879.20", "USD")) {
		t.Error("2879.2 and 2879.20 are one price")
	}
}

func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"amount":"19.90","currency":"EUR"}`: "19.90 EUR",
		`null`:                                "none",
	} {
		var a money.Amount
		if err := json.Unmarshal([]byte(text), &a); err != nil || a.String() != want {
			t.Errorf("%s: %s, %v", text, a, err)
		}
		back, err := json.Marshal(a)
		if err != nil || string(back) != text {
			t.Errorf("%s came back as %s, %v", text, back, err)
		}
	}
	for _, text := range []string{`{"amount":1,"currency":"EUR"}`, `{}`, `[]`, `{"amount":"1","currency":"eur"}`} {
		var a money.Amount
		if err := json.Unmarshal([]byte(text), &a); err == nil {
			t.Errorf("%s was read as %s", text, a)
		}
	}
}

func TestFormatIsTheReaders(t *testing.T) {
	for _, tc := range []struct{ number, currency, locale, want string }{
		{"1298", "JPY", "ja", "￥1,298"},
		{"1298", "JPY", "en", "¥1,298"},
		{"1298.5", "EUR", "de", "1.298,50\u00a0€"},
		{"12.999", "USD", "en", "$13.00"},
	} {
		if got := money.MustParse(tc.number, tc.currency).Format(tc.locale); got != tc.want {
			t.Errorf("%s %s for %s: %q, want %q", tc.number, tc.currency, tc.locale, got, tc.want)
		}
	}
}

func TestMinorUnitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.SampledFrom([]string{"JPY", "USD", "KWD", "CHF", "CLF"}).Draw(t, "currency")
		minor := rapid.Int64Range(-1e15, 1e15).Draw(t, "minor")
		a, err := money.FromMinor(minor, code)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := money.Parse(a.Number(), code)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := parsed.Minor(); err != nil || back != minor {
			t.Fatalf("%d became %s became %d, %v", minor, a, back, err)
		}
	})
}

func TestArithmeticIsExact(t *testing.T) {
	a, b := money.MustParse("0.10", "EUR"), money.MustParse("0.20", "EUR")
	sum, err := a.Add(b)
	if err != nil || !sum.Equal(money.MustParse("0.3", "EUR")) {
		t.Errorf("0.10 + 0.20 = %s, %v", sum, err)
	}
	if d, err := a.Sub(b); err != nil || !d.Negative() || d.Positive() {
		t.Errorf("0.10 - 0.20 = %s, %v", d, err)
	}
	if p, err := money.MustParse("1480", "JPY").Mul("0.9"); err != nil || p.Number() != "1332.0" {
		t.Errorf("1480 × 0.9 = %s, %v", p, err)
	}
	if q, err := money.MustParse("1000", "JPY").Div("8"); err != nil || !q.Round().Equal(money.MustParse("125", "JPY")) {
		t.Errorf("1000 / 8 = %s, %v", q, err)
	}
	var none money.Amount
	for name, err := range map[string]error{
		"Add": second(none.Add(a)), "Sub": second(a.Sub(none)), "Mul": second(none.Mul("2")), "Div": second(none.Div("2")),
		"over currencies": second(a.Add(money.MustParse("1", "JPY"))), "by zero": second(a.Div("0")), "by nonsense": second(a.Mul("x")),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if none.Number() != "" || none.Currency() != "" || none.Format("ja") != "" || none.Round().Known() {
		t.Error("no amount has a number, a currency or a form")
	}
	if money.Digits("JPY") != 0 || money.Digits("KWD") != 3 {
		t.Error("digits of a currency")
	}
	defer func() {
		if recover() == nil {
			t.Error("MustParse of nonsense did not panic")
		}
	}()
	money.MustParse("x", "JPY")
}

func second(_ money.Amount, err error) error { return err }

// Whatever arithmetic leaves behind, it is written as a plain decimal and read back.
func TestResultsOfArithmeticAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, err := money.FromMinor(rapid.Int64Range(-1e12, 1e12).Draw(t, "minor"), rapid.SampledFrom([]string{"JPY", "USD", "KWD"}).Draw(t, "currency"))
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			n := rapid.SampledFrom([]string{"1000", "100", "3", "0.001", "7", "12000", "0.07"}).Draw(t, "number")
			if rapid.Bool().Draw(t, "divide") {
				a, err = a.Div(n)
			} else {
				a, err = a.Mul(n)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if strings.ContainsAny(a.Number(), "eE") {
			t.Fatalf("not plain: %s", a.Number())
		}
		encoded, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var back money.Amount
		if err := json.Unmarshal(encoded, &back); err != nil || !back.Equal(a) {
			t.Fatalf("%s came back as %s: %v", encoded, back, err)
		}
	})
}
