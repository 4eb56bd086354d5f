package page

import (
	"regexp"
	"strings"

	"github.com/sokone/sokone/internal/money"
)

// Signs that name one currency wherever they stand, the longest first: "US$"
// before "$".
var signs = []struct{ sign, currency string }{
	{"HK$", "HKD"}, {"NT$", "TWD"}, {"US$", "USD"}, {"AU$", "AUD"}, {"CA$", "CAD"}, {"NZ$", "NZD"}, {"R$", "BRL"}, {"S$", "SGD"},
	{"€", "EUR"}, {"£", "GBP"}, {"₹", "INR"}, {"₩", "KRW"}, {"₽", "RUB"}, {"₺", "TRY"}, {"฿", "THB"}, {"₫", "VND"}, {"zł", "PLN"}, {"Kč", "CZK"},
	{"円", "JPY"}, {"税込", "JPY"}, {"元", "CNY"}, {"原", "CNY"}, {"CHF", "CHF"}, {"Rs.", "INR"}, {"ر.س", "SAR"},
}

var isoCode = regexp.MustCompile(`\b[A-Z]{3}\b`)

// dollars are the countries whose dollar a bare $ is.
var dollars = map[string]string{"us": "USD", "au": "AUD", "ca": "CAD", "nz": "NZD", "sg": "SGD", "hk": "HKD", "tw": "TWD", "mx": "MXN"}

// krones are the languages whose krone a bare kr is.
var krones = map[string]string{"sv": "SEK", "da": "DKK", "nb": "NOK", "no": "NOK", "nn": "NOK"}

// currencyOf finds the currency: as declared, or by a sign in the text, helped
// by the page's language and country. "" where it cannot be told.
func (d *document) currencyOf(declared, text string) string {
	if c := strings.ToUpper(strings.TrimSpace(declared)); money.ValidCurrency(c) {
		return c
	}
	text = digitsOf(declared + " " + text)
	for _, c := range isoCode.FindAllString(text, 3) {
		if money.ValidCurrency(c) {
			return c
		}
	}
	for _, s := range signs {
		if strings.Contains(text, s.sign) {
			return s.currency
		}
	}
	lang, country := language(d.lang), d.country()
	switch {
	case strings.ContainsAny(text, "¥￥"):
		switch {
		case lang == "ja" || country == "jp":
			return "JPY"
		case lang == "zh" || country == "cn":
			return "CNY"
		}
	case strings.Contains(text, "$"):
		return dollars[country]
	case strings.Contains(strings.ToLower(text), "kr"):
		return krones[lang]
	}
	return ""
}

// country is the page's: of its language tag, else of its host's ending.
func (d *document) country() string {
	if _, region, ok := strings.Cut(d.lang, "-"); ok && len(region) == 2 {
		return region
	}
	if d.url == nil {
		return ""
	}
	host := d.url.Hostname()
	if i := strings.LastIndexByte(host, '.'); i >= 0 && len(host)-i == 3 {
		return host[i+1:]
	}
	return ""
}
