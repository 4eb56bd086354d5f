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

// Match takes item pages. The address does not hold the item's number: the first
// quote finds it.
func (a *Adapter) Match(u *url.URL) (shop.Ref, bool) {
	m := itemPath.FindStringSubmatch(u.EscapedPath())
	if a.ApplicationID == "" || m == nil || strings.ToLower(u.Host) != a.ItemHost {
		return shop.Ref{}, false
	}
	address := u.Scheme + "://" + a.ItemHost + "/" + m[1] + "/" + m[2] + "/"
	return shop.Ref{Adapter: a.Name(), ItemCode: address, URL: address}, true
}

type answer struct {
	Count            json.Number       `json:"count"`
	Items            []json.RawMessage `json:"Items"` // encoding/json takes "items" too
	Error            string            `json:"error"`
	ErrorDescription string            `json:"error_description"` // may echo keys: never shown
}

type item struct {
	Code         string          `json:"itemCode"`
	Name         string          `json:"itemName"`
	Price        json.Number     `json:"itemPrice"`
	PriceMin     json.Number     `json:"itemPriceMin3"`
	PriceMax     json.Number     `json:"itemPriceMax3"`
	URL          string          `json:"itemUrl"`
	Tax          json.Number     `json:"taxFlag"`      // 0 included, 1 excluded
	Postage      json.Number     `json:"postageFlag"`  // 0 included, 1 extra
	Availability json.Number     `json:"availability"` // 0 not, 1 buyable
	PointRate    json.Number     `json:"pointRate"`    // percent
	Images       json.RawMessage `json:"mediumImageUrls"`
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
	it, err := a.search(ctx, code)
	if err != nil {
		return shop.Quote{}, err
	}
	if it.Code != code {
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "Rakuten answered with another item."}
	}
	return a.quote(ref, it)
}

// meta finds the item's number in its page.
var meta = regexp.MustCompile(`(?is)<meta[^>]+(?:name|property)=["']apprakuten:(item_id|shop_code)["'][^>]+content=["']([^"']+)["']`)

// find resolves an address to an item code, once.
func (a *Adapter) find(ctx context.Context, address string) (string, error) {
	p, err := a.get.Get(ctx, fetch.Request{URL: address})
	if err != nil {
		return "", err
	}
	if p.Status != http.StatusOK {
		return "", jsonapi.Refused(p.Status)
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", &shop.Error{Kind: shop.KindRefused, Message: "This is not the address of an item."}
	}
	shopCode, number := itemPath.FindStringSubmatch(u.EscapedPath())[1], ""
	for _, m := range meta.FindAllStringSubmatch(p.Text(), -1) {
		if strings.EqualFold(m[1], "item_id") {
			number = m[2]
		} else {
			shopCode = m[2]
		}
	}
	if code := shopCode + ":" + number; itemCode.MatchString(code) {
		return code, nil
	}
	return "", &shop.Error{Kind: shop.KindParse, Message: "The item's number was not found on its page."}
}

func (a *Adapter) search(ctx context.Context, code string) (item, error) {
	if err := a.pace.Wait(ctx); err != nil {
		return item{}, &shop.Error{Kind: shop.KindNetwork, Message: "There was no turn to ask Rakuten in time.", Cause: err}
	}
	q := url.Values{"applicationId": {a.ApplicationID}, "itemCode": {code}, "availability": {"0"}, // 0: sold-out items too
		"hits": {"1"}, "format": {"json"}, "formatVersion": {"2"}}
	header := http.Header{"Accesskey": {a.AccessKey}}
	if site, err := url.Parse(a.SiteURL); err == nil && site.Host != "" {
		origin := site.Scheme + "://" + site.Host
		header["Origin"], header["Referer"] = []string{origin}, []string{origin + "/"}
	}
	var ans answer
	page, err := jsonapi.Get(ctx, a.get, fetch.Request{URL: a.Endpoint + "?" + q.Encode(), Header: header, Contract: true}, &ans)
	if err != nil {
		return item{}, err
	}
	if page.Status != http.StatusOK {
		return item{}, refused(page)
	}
	if ans.Error != "" {
		return item{}, byWord(ans.Error)
	}
	if len(ans.Items) == 0 {
		return item{}, &shop.Error{Kind: shop.KindEmpty, Message: "Rakuten no longer lists this item."}
	}
	return unwrap(ans.Items[0])
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
	if it.PriceMin != "" && it.PriceMax != "" && it.PriceMin != it.PriceMax {
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
	q := shop.Quote{
		Ref: shop.Ref{Adapter: a.Name(), ItemCode: it.Code, URL: address}, Name: html.UnescapeString(it.Name), ImageURL: image(it.Images),
		Price: price, Availability: shop.Unknown, FoundBy: "rakuten", ObservedAt: a.Now().UTC(),
		Candidates: []shop.Candidate{{FoundBy: "rakuten", Price: price, Text: "itemPrice " + it.Price.String(), Won: true, Why: "the item's price, tax included"}},
	}
	switch it.Availability {
	case "1":
		q.Availability = shop.InStock
	case "0":
		q.Availability = shop.OutOfStock
	}
	if it.Postage == "0" {
		q.Shipping = money.MustParse("0", "JPY")
	}
	q.Points = points(price, it.PointRate)
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
