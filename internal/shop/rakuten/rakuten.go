// Package rakuten reads Rakuten Ichiba by its item search
// (https://webservice.rakuten.co.jp/documentation/ichiba-item-search, version
// 2026-07-01), with the operator's key. Prices and availability may be kept a
// day, and must be shown with the time they were read.
package rakuten

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/jsonapi"
)

// DefaultEndpoint is the interface as of 2026.
const DefaultEndpoint = "https://openapi.rakuten.co.jp/ichibams/api/IchibaItem/Search/20260701"

// Options of the adapter. Without a key it matches nothing, and the page adapter
// reads Rakuten's pages.
type Options struct {
	ApplicationID string // a UUID
	AccessKey     string // sent as a header, so that it stays out of logs
	SiteURL       string // for a key that is registered for a website: Origin and Referer
	Endpoint      string // default DefaultEndpoint
	ItemHost      string // default item.rakuten.co.jp
	Now           func() time.Time
}

// Adapter reads Rakuten Ichiba.
type Adapter struct {
	Options
	get  jsonapi.Getter
	pace *rate.Limiter // one request a second for each key, and a little
}

// New makes the adapter.
func New(get jsonapi.Getter, o Options) *Adapter {
	if o.Endpoint == "" {
		o.Endpoint = DefaultEndpoint
	}
	if o.ItemHost == "" {
		o.ItemHost = "item.rakuten.co.jp"
	}
	return &Adapter{o, get, rate.NewLimiter(rate.Every(1100*time.Millisecond), 1)}
}

// Name is the adapter's word.
func (a *Adapter) Name() string { return "rakuten" }

var itemPath = regexp.MustCompile(`^/([^/]+)/([^/]+)/?$`)

// mobilePath is the form of old mobile pages: the item's number, or its name.
var mobilePath = regexp.MustCompile(`^/([^/]+)/(?:i/([0-9]+)|n/([^/]+))/?$`)

// mobileHost is where those were.
const mobileHost = "m.rakuten.co.jp"

// Match takes item pages. Most addresses do not hold the item's number: the first
// quote finds it.
func (a *Adapter) Match(u *url.URL) (shop.Ref, bool) {
	if a.ApplicationID == "" {
		return shop.Ref{}, false
	}
	path := u.EscapedPath()
	if strings.EqualFold(u.Host, mobileHost) {
		m := mobilePath.FindStringSubmatch(path)
		switch {
		case m == nil:
			return shop.Ref{}, false
		case m[2] != "":
			return shop.Ref{Adapter: a.Name(), ItemCode: m[1] + ":" + m[2], URL: "https://" + mobileHost + "/" + m[1] + "/i/" + m[2] + "/"}, true
		}
		path = "/" + m[1] + "/" + m[3] + "/"
	} else if !strings.EqualFold(u.Host, a.ItemHost) {
		return shop.Ref{}, false
	}
	m := itemPath.FindStringSubmatch(path)
	if m == nil {
		return shop.Ref{}, false
	}
	address := u.Scheme + "://" + a.ItemHost + "/" + m[1] + "/" + m[2] + "/"
	return shop.Ref{Adapter: a.Name(), ItemCode: address, URL: address}, true
}

type answer struct {
	Count            json.Number       `json:"count"`
	Items            []json.RawMessage `json:"Items"`             // encoding/json takes "items" too
	Error            string            `json:"error"`             // a word
	ErrorDescription string            `json:"error_description"` // may echo keys: never shown
	Errors           *json.RawMessage  `json:"errors"`            // the gateway's form
}

type item struct {
	Code         string          `json:"itemCode"`
	Name         string          `json:"itemName"`
	Price        json.Number     `json:"itemPrice"`
	Min1         json.Number     `json:"itemPriceMin1"` // of all variants
	Max1         json.Number     `json:"itemPriceMax1"`
	Min2         json.Number     `json:"itemPriceMin2"` // of those that a search finds
	Max2         json.Number     `json:"itemPriceMax2"`
	Min3         json.Number     `json:"itemPriceMin3"` // of those that can be bought
	Max3         json.Number     `json:"itemPriceMax3"`
	URL          string          `json:"itemUrl"`
	Tax          json.Number     `json:"taxFlag"`      // 0 included, 1 excluded
	Postage      json.Number     `json:"postageFlag"`  // 0 included, 1 extra
	Availability json.Number     `json:"availability"` // 0 not, 1 buyable
	PointRate    json.Number     `json:"pointRate"`    // percent
	PointFrom    string          `json:"pointRateStartTime"`
	PointTo      string          `json:"pointRateEndTime"`
	Images       json.RawMessage `json:"mediumImageUrls"`
}

// varied reports whether the item's variants differ in price: also where those
// that can be bought today do not, for tomorrow others can.
func (it item) varied() bool {
	for _, span := range [][2]json.Number{{it.Min1, it.Max1}, {it.Min2, it.Max2}, {it.Min3, it.Max3}} {
		if span[0] != "" && span[1] != "" && span[0] != span[1] {
			return true
		}
	}
	return false
}

// japan is the zone of all times in answers: it has no summer time.
var japan = time.FixedZone("JST", 9*60*60)

// percent is the rate of points now. A raised rate has its days; outside of them,
// and where its days cannot be read, it is the usual 1.
func (it item) percent(now time.Time) json.Number {
	for _, limit := range []struct {
		at   string
		over func(time.Time) bool
	}{{it.PointFrom, now.Before}, {it.PointTo, func(end time.Time) bool { return now.After(end.Add(time.Minute)) }}} {
		if limit.at == "" {
			continue
		}
		at, err := time.ParseInLocation("2006-01-02 15:04", limit.at, japan)
		if err != nil || limit.over(at) {
			return "1"
		}
	}
	return it.PointRate
}

// itemCode is "shop:number".
var itemCode = regexp.MustCompile(`^[A-Za-z0-9_.-]+:[0-9]+$`)

// Quote reads the item.
func (a *Adapter) Quote(ctx context.Context, ref shop.Ref) (shop.Quote, error) {
	if a.ApplicationID == "" || a.AccessKey == "" {
		return shop.Quote{}, &shop.Error{Kind: shop.KindAuth, Message: "This server has no key for Rakuten. Its operator can set SOKONE_RAKUTEN_APPLICATION_ID and SOKONE_RAKUTEN_ACCESS_KEY."}
	}
	code := ref.ItemCode
	if !itemCode.MatchString(code) {
		found, err := a.find(ctx, ref.URL)
		if err != nil {
			return shop.Quote{}, err
		}
		code = found
	}
	it, err := a.item(ctx, code)
	if err != nil {
		return shop.Quote{}, err
	}
	if it.Code != code {
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "Rakuten answered with another item."}
	}
	return a.quote(ref, it)
}

// The item's number stands in its page's meta tags.
var (
	metaTag  = regexp.MustCompile(`(?i)<meta\s[^>]*apprakuten:(?:item_id|shop_code)[^>]*>`)
	metaAttr = regexp.MustCompile(`(?i)(name|property|content)\s*=\s*["']([^"']*)["']`)
	title    = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
)

// find resolves an address to an item code, once: by its page, or by a search for
// the page's title among the shop's items.
func (a *Adapter) find(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	m := []string(nil)
	if err == nil {
		m = itemPath.FindStringSubmatch(u.EscapedPath())
	}
	if m == nil {
		return "", &shop.Error{Kind: shop.KindRefused, Message: "This is not the address of an item."}
	}
	p, err := a.get.Get(ctx, fetch.Request{URL: address})
	if err != nil {
		return "", err
	}
	if p.Status != http.StatusOK {
		return "", jsonapi.Refused(p.Status)
	}
	text := p.Text()
	stated := map[string]string{"shop_code": m[1]}
	for _, tag := range metaTag.FindAllString(text, -1) {
		var name, content string
		for _, attr := range metaAttr.FindAllStringSubmatch(tag, -1) {
			if strings.EqualFold(attr[1], "content") {
				content = attr[2]
			} else {
				name = strings.ToLower(attr[2])
			}
		}
		stated[strings.TrimPrefix(name, "apprakuten:")] = content
	}
	if code := stated["shop_code"] + ":" + stated["item_id"]; itemCode.MatchString(code) {
		return code, nil
	}
	if t := title.FindStringSubmatch(text); t != nil {
		return a.findByTitle(ctx, m[1], u.EscapedPath(), html.UnescapeString(t[1]))
	}
	return "", errNoNumber
}

var errNoNumber = &shop.Error{Kind: shop.KindParse, Message: "The item's number was not found on its page."}

func (a *Adapter) findByTitle(ctx context.Context, shopCode, path, title string) (string, error) {
	found, err := a.search(ctx, url.Values{"shopCode": {shopCode}, "keyword": {keyword(title)}, "hits": {"30"}})
	if err != nil {
		return "", err
	}
	for _, raw := range found {
		it, err := unwrap(raw)
		if err != nil {
			continue
		}
		if u, err := url.Parse(it.URL); err == nil && itemCode.MatchString(it.Code) && strings.Trim(u.EscapedPath(), "/") == strings.Trim(path, "/") {
			return it.Code, nil
		}
	}
	return "", errNoNumber
}

// maxKeyword is in bytes, of UTF-8.
const maxKeyword = 128

// keyword is a page's title without Rakuten's name before it and the shop's after
// it, as long as a search may be.
func keyword(title string) string {
	title = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(title), "【楽天市場】"))
	if i := strings.LastIndex(title, "："); i > 0 {
		title = title[:i]
	}
	var words []string
	length := 0
	for _, w := range strings.Fields(title) {
		if length += len(w) + 1; length > maxKeyword+1 {
			break
		}
		if len(w) > 1 { // a single letter is refused
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// item reads the item of a code.
func (a *Adapter) item(ctx context.Context, code string) (item, error) {
	found, err := a.search(ctx, url.Values{"itemCode": {code}, "hits": {"1"}})
	if err != nil {
		return item{}, err
	}
	if len(found) == 0 {
		return item{}, &shop.Error{Kind: shop.KindEmpty, Message: "Rakuten no longer lists this item."}
	}
	return unwrap(found[0])
}

func (a *Adapter) search(ctx context.Context, q url.Values) ([]json.RawMessage, error) {
	if err := a.pace.Wait(ctx); err != nil {
		return nil, &shop.Error{Kind: shop.KindNetwork, Message: "There was no turn to ask Rakuten in time.", Cause: err}
	}
	q.Set("applicationId", a.ApplicationID)
	q.Set("availability", "0") // sold-out items too
	q.Set("format", "json")
	q.Set("formatVersion", "2")
	header := http.Header{"Accesskey": {a.AccessKey}}
	if site, err := url.Parse(a.SiteURL); err == nil && site.Host != "" {
		origin := site.Scheme + "://" + site.Host
		header["Origin"], header["Referer"] = []string{origin}, []string{origin + "/"}
	}
	var ans answer
	page, err := jsonapi.Get(ctx, a.get, fetch.Request{URL: a.Endpoint + "?" + q.Encode(), Header: header, Contract: true}, &ans)
	if err != nil {
		return nil, err
	}
	if page.Status != http.StatusOK {
		return nil, refused(page)
	}
	if ans.Error != "" || ans.Errors != nil {
		return nil, byWord(ans.Error)
	}
	return ans.Items, nil
}

// unwrap takes an item flat (version 2) or wrapped in "Item" (version 1).
func unwrap(raw json.RawMessage) (item, error) {
	var wrapped struct {
		Item *item `json:"Item"`
	}
	var it item
	if json.Unmarshal(raw, &wrapped) == nil && wrapped.Item != nil {
		return *wrapped.Item, nil
	}
	if err := json.Unmarshal(raw, &it); err != nil {
		return it, &shop.Error{Kind: shop.KindParse, Message: "Rakuten's answer cannot be read.", Cause: err}
	}
	return it, nil
}

// refused tells a key that is refused, which only the operator can mend, from
// an item that is not there.
func refused(p *fetch.Page) error {
	var old struct {
		Error string `json:"error"`
	}
	if p.Status == http.StatusForbidden || p.Status == http.StatusUnauthorized {
		return &shop.Error{Kind: shop.KindAuth, Message: "Rakuten does not accept this server's key.",
			Cause: errors.New("check SOKONE_RAKUTEN_ACCESS_KEY, the registered website (SOKONE_RAKUTEN_SITE_URL) or the allowed addresses of the key")}
	}
	if json.Unmarshal(p.Body, &old) == nil && old.Error != "" {
		return byWord(old.Error)
	}
	return jsonapi.Refused(p.Status)
}

func byWord(word string) error {
	switch word {
	case "not_found":
		return &shop.Error{Kind: shop.KindEmpty, Message: "Rakuten no longer lists this item."}
	case "too_many_requests":
		return &shop.Error{Kind: shop.KindRateLimited, Message: "Rakuten asks us to come back later."}
	case "wrong_parameter":
		return &shop.Error{Kind: shop.KindAuth, Message: "Rakuten refuses this request.", Cause: errors.New("wrong_parameter: the key, or a shop that is unknown")}
	}
	return &shop.Error{Kind: shop.KindServer, Message: "Rakuten has a fault of its own."}
}

func (a *Adapter) quote(ref shop.Ref, it item) (shop.Quote, error) {
	if it.varied() {
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "This item comes in several variants with different prices."}
	}
	if it.Tax == "1" {
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "The shop states this price without tax, so what is paid is not known."}
	}
	price, err := money.Parse(it.Price.String(), "JPY")
	if err != nil || !price.Positive() {
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "Rakuten states no price.", Cause: err}
	}
	address := it.URL
	if i := strings.IndexByte(address, '?'); i >= 0 {
		address = address[:i] // the query holds the application's id
	}
	if address == "" {
		address = ref.URL
	}
	q := jsonapi.Only(a.Name(), price, "itemPrice "+it.Price.String(), "the item's price, tax included")
	q.Ref, q.Name, q.ImageURL = shop.Ref{Adapter: a.Name(), ItemCode: it.Code, URL: address}, html.UnescapeString(it.Name), image(it.Images)
	q.ObservedAt = a.Now().UTC()
	switch it.Availability {
	case "1":
		q.Availability = shop.InStock
	case "0":
		q.Availability = shop.OutOfStock
	}
	if it.Postage == "0" {
		q.Shipping = money.MustParse("0", "JPY")
	}
	q.Points = points(price, it.percent(q.ObservedAt))
	return q, nil
}

// points are a percentage of the price, fractions dropped.
func points(price money.Amount, rate json.Number) money.Amount {
	percent, err := rate.Int64()
	if err != nil || percent < 0 || percent > 100 {
		return money.Amount{}
	}
	yen, err := price.Minor()
	if err != nil {
		return money.Amount{}
	}
	p, err := money.FromMinor(yen*percent/100, "JPY")
	if err != nil {
		return money.Amount{}
	}
	return p
}

// image is the first picture: a list of texts, or in version 1 of objects.
func image(raw json.RawMessage) string {
	var plain []string
	var objects []struct {
		URL string `json:"imageUrl"`
	}
	if json.Unmarshal(raw, &plain) == nil && len(plain) > 0 {
		return fullSize(plain[0])
	}
	if json.Unmarshal(raw, &objects) == nil && len(objects) > 0 {
		return fullSize(objects[0].URL)
	}
	return ""
}

func fullSize(address string) string {
	address, _, _ = strings.Cut(address, "?_ex=")
	return address
}
