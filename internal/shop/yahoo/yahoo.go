// Package yahoo reads Yahoo! Shopping (Japan) by its item search, version 3
// (https://developer.yahoo.co.jp/webapi/shopping/v3/itemsearch.html), with the
// operator's application id.
package yahoo

import (
	"context"
	"encoding/json"
	"errors"
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
const DefaultEndpoint = "https://shopping.yahooapis.jp/ShoppingWebService/V3/itemSearch"

// Options of the adapter. Without an id it matches nothing, and the page adapter
// reads Yahoo's pages.
type Options struct {
	AppID     string
	Endpoint  string // default DefaultEndpoint
	StoreHost string // default store.shopping.yahoo.co.jp
	Now       func() time.Time
}

// Adapter reads Yahoo! Shopping.
type Adapter struct {
	Options
	get  jsonapi.Getter
	pace *rate.Limiter // one request a second
}

// New makes the adapter.
func New(get jsonapi.Getter, o Options) *Adapter {
	if o.Endpoint == "" {
		o.Endpoint = DefaultEndpoint
	}
	if o.StoreHost == "" {
		o.StoreHost = "store.shopping.yahoo.co.jp"
	}
	return &Adapter{o, get, rate.NewLimiter(rate.Every(1100*time.Millisecond), 1)}
}

// Name is the adapter's word.
func (a *Adapter) Name() string { return "yahoo" }

var itemPath = regexp.MustCompile(`^/([A-Za-z0-9-]+)/([A-Za-z0-9_-]+)\.html$`)

// Match takes item pages: /<store>/<item>.html is the item <store>_<item>.
func (a *Adapter) Match(u *url.URL) (shop.Ref, bool) {
	m := itemPath.FindStringSubmatch(u.EscapedPath())
	if a.AppID == "" || m == nil || strings.ToLower(u.Host) != a.StoreHost {
		return shop.Ref{}, false
	}
	store, item := strings.ToLower(m[1]), strings.ToLower(m[2])
	return shop.Ref{Adapter: a.Name(), ItemCode: store + "_" + item, URL: u.Scheme + "://" + a.StoreHost + "/" + store + "/" + item + ".html"}, true
}

type hit struct {
	Code    string      `json:"code"`
	Name    string      `json:"name"`
	URL     string      `json:"url"`
	InStock *bool       `json:"inStock"`
	Price   json.Number `json:"price"` // tax included; a sale price where there is one
	Image   struct {
		Medium string `json:"medium"`
	} `json:"image"`
	Point struct {
		Amount json.Number `json:"amount"`
		Bonus  json.Number `json:"bonusAmount"`
	} `json:"point"`
	Shipping struct {
		Code json.Number `json:"code"`
		Name string      `json:"name"`
	} `json:"shipping"`
}

// Quote reads the item. There is no look-up by code: the store's own items are
// searched, and only an exact code counts.
func (a *Adapter) Quote(ctx context.Context, ref shop.Ref) (shop.Quote, error) {
	if a.AppID == "" {
		return shop.Quote{}, &shop.Error{Kind: shop.KindAuth, Message: "This server has no key for Yahoo! Shopping. Its operator can set SOKONE_YAHOO_APP_ID."}
	}
	store, item, ok := strings.Cut(ref.ItemCode, "_")
	if !ok {
		return shop.Quote{}, &shop.Error{Kind: shop.KindRefused, Message: "This is not an item of Yahoo! Shopping."}
	}
	if err := a.pace.Wait(ctx); err != nil {
		return shop.Quote{}, &shop.Error{Kind: shop.KindNetwork, Message: "There was no turn to ask Yahoo in time.", Cause: err}
	}
	q := url.Values{"appid": {a.AppID}, "seller_id": {store}, "query": {item}, "results": {"50"}}
	var ans struct {
		Available json.Number `json:"totalResultsAvailable"`
		Hits      []hit       `json:"hits"` // nil in an answer that is an error
	}
	page, err := jsonapi.Get(ctx, a.get, fetch.Request{URL: a.Endpoint + "?" + q.Encode(), Contract: true}, &ans)
	if err != nil {
		return shop.Quote{}, err
	}
	switch page.Status {
	case http.StatusOK:
	case http.StatusForbidden, http.StatusUnauthorized:
		return shop.Quote{}, &shop.Error{Kind: shop.KindAuth, Message: "Yahoo does not accept this server's key, or its calls of the day are used up.", Cause: errors.New("check SOKONE_YAHOO_APP_ID")}
	default:
		return shop.Quote{}, jsonapi.Refused(page.Status)
	}
	for _, h := range ans.Hits {
		if strings.EqualFold(h.Code, ref.ItemCode) {
			return a.quote(ref, h)
		}
	}
	switch all, err := ans.Available.Int64(); {
	case ans.Hits == nil:
		return shop.Quote{}, &shop.Error{Kind: shop.KindServer, Message: "Yahoo! Shopping gave an answer that is no list of items."}
	case err == nil && all > int64(len(ans.Hits)):
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "Yahoo! Shopping finds too many items to tell this one from the others."}
	}
	return shop.Quote{}, &shop.Error{Kind: shop.KindEmpty, Message: "Yahoo! Shopping no longer lists this item."}
}

func (a *Adapter) quote(ref shop.Ref, h hit) (shop.Quote, error) {
	price, err := money.Parse(h.Price.String(), "JPY")
	if err != nil || !price.Positive() {
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "Yahoo! Shopping states no price.", Cause: err}
	}
	q := jsonapi.Only(a.Name(), price, "price "+h.Price.String(), "the item's price for everyone, tax included")
	q.Ref, q.Name, q.ImageURL, q.Points, q.ObservedAt = ref, h.Name, h.Image.Medium, points(h.Point.Amount, h.Point.Bonus), a.Now().UTC()
	if h.InStock != nil {
		q.Availability = map[bool]shop.Availability{true: shop.InStock, false: shop.OutOfStock}[*h.InStock]
	}
	if h.Shipping.Name == "送料無料" {
		q.Shipping = money.MustParse("0", "JPY")
	}
	return q, nil
}

func points(amounts ...json.Number) money.Amount {
	var total int64
	for _, n := range amounts {
		if n == "" {
			continue
		}
		v, err := n.Int64()
		if err != nil || v < 0 {
			return money.Amount{}
		}
		total += v
	}
	a, err := money.FromMinor(total, "JPY")
	if err != nil {
		return money.Amount{}
	}
	return a
}
