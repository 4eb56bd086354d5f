package page

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html/atom"
	"golang.org/x/text/currency"
	"golang.org/x/text/language"

	"github.com/sokone/sokone/internal/money"
)

// signsOf are the marks that name one currency wherever they stand, the longest
// first: "US$" before "$".
var signsOf = []struct{ sign, currency string }{
	{"HK$", "HKD"}, {"NT$", "TWD"}, {"US$", "USD"}, {"US $", "USD"}, {"U$S", "USD"}, {"AU$", "AUD"}, {"AU $", "AUD"}, {"A$", "AUD"}, {"CA$", "CAD"}, {"C$", "CAD"}, {"C $", "CAD"}, {"NZ$", "NZD"}, {"CN¥", "CNY"}, {"JP¥", "JPY"}, {"$ CA", "CAD"}, {"$ US", "USD"}, {"$CA", "CAD"}, {"KSh", "KES"}, {"euro", "EUR"}, {"Euro", "EUR"}, {"EURO", "EUR"}, {"euros", "EUR"}, {"MX$", "MXN"}, {"R$", "BRL"}, {"S$", "SGD"},
	{"€", "EUR"}, {"£", "GBP"}, {"₹", "INR"}, {"₩", "KRW"}, {"₽", "RUB"}, {"₺", "TRY"}, {"฿", "THB"}, {"₫", "VND"}, {"₪", "ILS"}, {"₴", "UAH"}, {"₱", "PHP"}, {"₦", "NGN"}, {"₸", "KZT"}, {"₼", "AZN"}, {"₾", "GEL"}, {"₡", "CRC"}, {"₲", "PYG"}, {"៛", "KHR"}, {"৳", "BDT"},
	{"zł", "PLN"}, {"Kč", "CZK"}, {"грн", "UAH"}, {"руб", "RUB"}, {"円", "JPY"}, {"税込", "JPY"}, {"税抜", "JPY"}, {"원", "KRW"}, {"元", "CNY"}, {"лв", "BGN"}, {"Ft", "HUF"}, {"Rs.", "INR"}, {"RMB", "CNY"}, {"RM", "MYR"}, {"Rp", "IDR"}, {"TL", "TRY"}, {"ر.س", "SAR"}, {"د.إ", "AED"}, {"د.ك", "KWD"}, {"ج.م", "EGP"}, {"د.م", "MAD"}, {"ر.ق", "QAR"}, {"ر.ع", "OMR"}, {"د.ب", "BHD"}, {"د.أ", "JOD"}, {"ریال", "IRR"}, {"ש\"ח", "ILS"}, {"ש״ח", "ILS"}, {"บาท", "THB"}, {"KD", "KWD"}, {"BD", "BHD"}, {"SFr.", "CHF"}, {"Fr.", "CHF"},
}

// sharedSigns are marks that several countries use, each with their currencies.
var sharedSigns = map[string][]string{
	"$":   {"USD", "AUD", "CAD", "NZD", "SGD", "HKD", "TWD", "MXN", "ARS", "CLP", "COP", "UYU"},
	"¥":   {"JPY", "CNY"},
	"kr":  {"SEK", "NOK", "DKK", "ISK"},
	"lei": {"RON", "MDL"},
}

// currencyOf finds the currency of an amount. In this order: a code that is
// declared for it, a sign in its text that one currency has, a code, and for a sign that several share what else the page says (see sharing). "" where it
// cannot be told: there is no default.
func (d *document) currencyOf(declared, text string) string {
	if c := strings.ToUpper(strings.TrimSpace(declared)); money.ValidCurrency(c) {
		return c
	}
	text = digitsOf(declared + " " + text)
	if c := signCurrency(text); c != "" {
		return c
	}
	switch {
	case strings.Contains(text, "¥"):
		return d.sharing("¥")
	case strings.Contains(text, "$"):
		return d.sharing("$")
	case leiIn.MatchString(text):
		return d.sharing("lei")
	case strings.Contains(strings.ToLower(text), "kr"), strings.Contains(text, ":-"):
		return d.sharing("kr")
	}
	return ""
}

var leiIn = regexp.MustCompile(`(?i)\blei\b`)

// sharing tells which currency a shared sign stands for on this page. In this
// order:
//
//  1. the currency of the page's price tags (product:price:currency)
//  2. the one code that the page's scripts and forms name as their currency
//  3. the country of the shop: of its host, where it is one of a few big shops or
//     under a country's ending, and of the page's language tag ("en-AU"); where
//     the two contradict each other nothing is told
//  4. the region of og:locale, which many shops leave at its default
//  5. the language alone, where it is written in one country
//
// "en" and a bare $ settle nothing.
func (d *document) sharing(sign string) string {
	code, known := d.signs[sign]
	if !known {
		if code = d.share(sign); d.signs == nil {
			d.signs = map[string]string{}
		}
		d.signs[sign] = code
	}
	return code
}

func (d *document) share(sign string) string {
	fits := func(code string) bool { return slices.Contains(sharedSigns[sign], code) }
	for _, code := range []string{d.taggedCurrency(), d.scriptCurrency()} {
		if fits(code) {
			return code
		}
	}
	host, region := d.hostCurrency(), regionCurrency(d.lang)
	switch {
	case fits(host) && fits(region) && host != region:
		return ""
	case fits(host):
		return host
	case fits(region):
		return region
	case region != "":
		return "" // ¥ on a page for Taiwan is foreign: which?
	}
	if code := regionCurrency(strings.ReplaceAll(d.meta["og:locale"], "_", "-")); fits(code) {
		return code
	}
	if code := languageCurrency[baseLanguage(d.lang)]; fits(code) {
		return code
	}
	return ""
}

// languageCurrency is that of the one country, or the one currency, in which a
// language is at home.
var languageCurrency = map[string]string{
	"ja": "JPY", "zh": "CNY", "sv": "SEK", "da": "DKK", "nb": "NOK", "no": "NOK", "nn": "NOK", "is": "ISK",
	"ro": "RON",
	"de": "EUR", "fr": "EUR", "it": "EUR", "es": "EUR", "nl": "EUR",
}

// pageCurrency is the one that the page is in, for amounts that show none and for
// choosing among several.
func (d *document) pageCurrency() string {
	return first(d.taggedCurrency(), regionCurrency(d.lang), d.hostCurrency(), languageCurrency[baseLanguage(d.lang)])
}

// taggedCurrency is the currency that the page's price tags name.
func (d *document) taggedCurrency() string {
	for _, tag := range []string{"product:price:currency", "og:price:currency", "product:sale_price:currency", "pricecurrency", "currency"} {
		if c := strings.ToUpper(d.meta[tag]); money.ValidCurrency(c) {
			return c
		}
	}
	return ""
}

// currencyKey is what follows "urrency" where a script names its currency:
// "currency":"USD", currencyCode = 'USD', Shopify.currency = {"active":"USD".
var currencyKey = regexp.MustCompile(`^(?:_?[cC]ode|Unit)?\\?["']?\s*[:=]\s*(?:\{\s*"active"\s*:\s*)?\\?["']([A-Z]{3})\\?["']`)

// scriptCurrency is the one currency that the page's scripts and forms name; ""
// where they name several, as a list of currencies to choose from does.
func (d *document) scriptCurrency() string {
	only := ""
	agrees := func(code string) bool {
		if !money.ValidCurrency(code) {
			return true
		}
		if only == "" {
			only = code
		}
		return only == code
	}
	for _, f := range d.fields {
		if strings.HasPrefix(term(attr(f, "name")), "currency") && !agrees(attr(f, "value")) {
			return ""
		}
	}
	for _, e := range d.scripts {
		for s := e.FirstChild.Data; ; {
			i := strings.Index(s, "urrency")
			if i < 0 {
				break
			}
			s = s[i+len("urrency"):]
			if m := currencyKey.FindStringSubmatch(s[:min(len(s), 60)]); m != nil && !agrees(m[1]) {
				return ""
			}
		}
	}
	return only
}

// bigShops are those whose bare $ is one currency, which the host's ending does
// not tell; and the hosts of their pictures. A page all of whose pictures come
// from there is that shop's.
var (
	bigShops = map[string]string{
		"amazon.com": "USD", "ebay.com": "USD", "walmart.com": "USD", "target.com": "USD", "bestbuy.com": "USD", "costco.com": "USD", "homedepot.com": "USD",
		"lowes.com": "USD", "newegg.com": "USD", "macys.com": "USD", "overstock.com": "USD", "bhphotovideo.com": "USD",
	}
	bigShopPictures = map[string]string{"walmartimages.com": "USD", "ebayimg.com": "USD"}
)

// sold are endings of countries that shops anywhere take for their sound.
var sold = strings.Fields("ai as bz cc cd co dj fm gg gl io la li ly me ms mu nu pw sc sh sr st su tk to tv vc ws")

// hostCurrency is that of the shop's country, by the address that the page has,
// or says it has.
func (d *document) hostCurrency() string {
	for _, u := range []*url.URL{d.url, d.canonical} {
		if u == nil {
			continue
		}
		host := strings.ToLower(u.Hostname())
		if c := ofDomain(bigShops, host); c != "" {
			return c
		}
		ending := host[strings.LastIndexByte(host, '.')+1:]
		if ending == "uk" {
			ending = "gb"
		}
		if len(ending) == 2 && !slices.Contains(sold, ending) {
			if c := regionCurrency("und-" + ending); c != "" {
				return c
			}
		}
	}
	return d.pictureCurrency()
}

func (d *document) pictureCurrency() string {
	found := ""
	for e := d.root; e != nil; e = following(e, false) {
		if e.DataAtom != atom.Img {
			continue
		}
		u, err := url.Parse(attr(e, "src"))
		if err != nil || u.Host == "" {
			continue
		}
		if found = ofDomain(bigShopPictures, u.Hostname()); found == "" {
			return ""
		}
	}
	return found
}

// ofDomain looks a host up by itself and by the domains it is under.
func ofDomain(table map[string]string, host string) string {
	for host != "" {
		if c := table[host]; c != "" {
			return c
		}
		_, host, _ = strings.Cut(host, ".")
	}
	return ""
}

// regionCurrency is the currency of a language tag's region: CHF for "de-CH".
func regionCurrency(tag string) string {
	_, region, ok := strings.Cut(tag, "-")
	if i := strings.LastIndexByte(region, '-'); i >= 0 {
		region = region[i+1:] // zh-Hant-TW
	}
	if !ok || len(region) != 2 {
		return ""
	}
	switch region = strings.ToUpper(region); region {
	case "HR", "BG": // they took the euro after the tables of golang.org/x/text were made
		return "EUR"
	}
	r, err := language.ParseRegion(region)
	if err != nil {
		return ""
	}
	unit, ok := currency.FromRegion(r)
	if !ok || !money.ValidCurrency(unit.String()) {
		return ""
	}
	return unit.String()
}
