package page

import (
	"os"
	"slices"
	"testing"
)

// TestCases tries all cases of testdata. A wrong price becomes a false alert, so
// there may be none; what is refused is counted, and may not grow.
func TestCases(t *testing.T) {
	results, err := RunCases(os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	kinds, counts := Scores(results)
	for _, kind := range []string{"pages", "traps", "prices", "titles", "jsonld", "microdata", "rdfa", "shown", "stock", "noproduct", "cross", "which", "tongues", "software"} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("no case of %s was tried", kind)
		}
	}
	for _, kind := range kinds {
		atMost := map[string]int{"traps": 2}[kind] // two show a bare "$" and nothing that says whose
		if counts[kind][Refused] > atMost {
			t.Errorf("%s: %d are refused, %d at most may be", kind, counts[kind][Refused], atMost)
		}
	}
	for _, r := range results {
		switch r.Verdict {
		case Wrong:
			t.Errorf("WRONG: %s %s: got %s, want %s", r.Kind, r.Name, r.Got, r.Want)
		case Refused:
			t.Logf("refused: %s %s: got %s, want %s", r.Kind, r.Name, r.Got, r.Want)
		}
	}
}

func TestPriceTexts(t *testing.T) {
	for _, tc := range []struct{ text, hint, lang, want string }{
		{"€ 24,90 *", "", "", "24.90 EUR"},
		{"Statt 199,00 EUR jetzt 149,00 EUR", "", "", "149.00 EUR"},
		{"Was £80.00 Now £64.00", "", "", "64.00 GBP"},
		{"1.299,00", "€", "", "1299.00 EUR"},
		{"2 499 Kč", "", "", "2499 CZK"},
		{"12 990,00 руб.", "", "", "12990.00 RUB"},
		{"1\u202f499,50\u00a0€", "", "fr", "1499.50 EUR"},
		{"CHF 1’890.–", "", "de-CH", "1890 CHF"},
		{"349:-", "", "sv", "349 "},
		{"Rs. 12,499/-", "", "", "12499 INR"},
		{"₹1,24,999.00", "", "", "124999.00 INR"},
		{"Rp 45.500", "", "", "45500 IDR"},
		{"25.000 ₫", "", "", "25000 VND"},
		{"3.490 Ft", "", "", "3490 HUF"},
		{"￥１２，８００", "", "ja", "12800 "},
		{"1万2,800円", "", "ja", "12800 JPY"},
		{"2.5万円", "", "ja", "25000 JPY"},
		{"79€ 95", "", "", "79.95 EUR"},
		{"85p", "", "", "0.85 GBP"},
		{"SGD5.20", "", "", "5.20 SGD"},
		{"US$ 19.99", "", "", "19.99 USD"},
		{"NT$ 1,280", "", "", "1280 TWD"},
		{"R$ 129,90", "", "", "129.90 BRL"},
		{"From 12 to 20 €", "", "", "12 EUR"},
		{"18, 50 zł", "", "", "18.50 PLN"},
		{"Free!", "", "", "0 "},
		{"١٬٤٩٩٫٥٠ ر.س", "", "ar", "1499.50 SAR"},
		{"1.499", "", "en", "1.499 "},
		{"149.900", "", "", "149900 "},
		{"30% OFF", "", "", "none"},
		{"Free shipping on orders over $49", "", "", "none"},
		{"-12,00 €", "", "", "none"},
		{"sold out", "", "", "none"},
		{"12-05", "", "", "none"},
		{"..95", "", "", "none"},
		{"", "", "", "none"},
	} {
		amount, currency, ok := ReadPrice(tc.text, tc.hint, tc.lang)
		got := "none"
		if ok {
			got = amount + " " + currency
		}
		if got != tc.want {
			t.Errorf("%q (%q, %q): %q, want %q", tc.text, tc.hint, tc.lang, got, tc.want)
		}
	}
}
