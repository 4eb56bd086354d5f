// Package shopify reads products of Shopify shops by the storefront's Ajax
// interface (https://shopify.dev/docs/api/ajax/reference/product): no key, and
// any shop. A shop is known to be Shopify's by its answer, not by its looks.
package shopify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/jsonapi"
)

// Adapter reads Shopify.
type Adapter struct {
	get    jsonapi.Getter
	pages  jsonapi.Pages
	now    func() time.Time
	memory shop.Memory // by item code
}

// New makes the adapter.
func New(get jsonapi.Getter, pages jsonapi.Pages, now func() time.Time) *Adapter {
	return &Adapter{get: get, pages: pages, now: now}
}

// Name is the adapter's word.
func (a *Adapter) Name() string { return "shopify" }

// productPath is /products/<handle>, with a locale or a collection before it.
var productPath = regexp.MustCompile(`^(/[a-z]{2}(?:-[a-zA-Z]{2})?)?(?:/collections/[^/]+)?/products/([^/]+?)(?:\.js|\.json)?/?$`)

// Match takes every address of that form. Whether it is Shopify's shows at the
// first quote, which then names the item: until then the item is the address, with
// all that another kind of shop may need of it. Handles have no dot: detail.php is
// none.
func (a *Adapter) Match(u *url.URL) (shop.Ref, bool) {
	m := productPath.FindStringSubmatch(u.EscapedPath())
	if m == nil || strings.Contains(m[2], ".") {
		return shop.Ref{}, false
	}
	ref, ok := a.pages.Match(u)
	ref.Adapter = a.Name()
	return ref, ok
}

type product struct {
	Title         string    `json:"title"`
	Handle        string    `json:"handle"`
	FeaturedImage string    `json:"featured_image"`
	Variants      []variant `json:"variants"`
}

type variant struct {
	ID                  json.Number `json:"id"`
	Title               string      `json:"title"`
	PublicTitle         *string     `json:"public_title"`
	Price               json.Number `json:"price"` // amount × 100 in .js, whatever the currency
	Available           bool        `json:"available"`
	RequiresSellingPlan bool        `json:"requires_selling_plan"`
}

// described is the product's .json: prices as decimal text, and their currency.
type described struct {
	Product struct {
		Variants []struct {
			ID       json.Number `json:"id"`
			Price    string      `json:"price"`
			Currency string      `json:"price_currency"`
		} `json:"variants"`
	} `json:"product"`
}

// item is what an item code names: "<host>/<variant id>/<currency>". It holds no
// handle, because shops rename those.
type item struct{ host, variant, currency string }

func (i item) String() string { return i.host + "/" + i.variant + "/" + i.currency }

func parseItem(code string) (item, bool) {
	parts := strings.Split(code, "/")
	if len(parts) != 3 || !money.ValidCurrency(parts[2]) {
		return item{}, false
	}
	return item{parts[0], parts[1], parts[2]}, true
}

// Quote reads the product. A first quote, whose item is still an address, falls
// back to the page where the shop is not Shopify's.
func (a *Adapter) Quote(ctx context.Context, ref shop.Ref) (shop.Quote, error) {
	u, err := url.Parse(ref.URL)
	if err != nil {
		return shop.Quote{}, &shop.Error{Kind: shop.KindRefused, Message: "This is not the address of a product.", Cause: err}
	}
	known, established := parseItem(ref.ItemCode)
	before := a.memory.Before(ctx, ref.ItemCode, a.now())
	p, page, err := a.product(ctx, u, before)
	if err == nil && page.NotModified {
		before.Quote.ObservedAt = a.now().UTC()
		return before.Quote, nil
	}
	if err != nil || len(p.Variants) == 0 {
		if established {
			if err == nil {
				err = &shop.Error{Kind: shop.KindParse, Message: "The shop's answer names no variants."}
			}
			return shop.Quote{}, err
		}
		return jsonapi.ByPage(ctx, a.pages, u)
	}
	want := known.variant
	if !established {
		want = u.Query().Get("variant")
	}
	v, failed := choose(p, want)
	if failed != nil {
		return shop.Quote{}, failed
	}
	final := productOf(page.URL)
	if !established {
		switch known, err = a.establish(ctx, final, v); {
		case errors.Is(err, errNoCurrency):
			return jsonapi.ByPage(ctx, a.pages, u)
		case err != nil:
			return shop.Quote{}, err
		}
	}
	q, err := a.quote(known, p, v, final)
	if err == nil {
		a.memory.Keep(known.String(), page.Seen(q))
	}
	return q, err
}

// product asks for the .js; the page's address is that after redirects, which
// rename handles.
func (a *Adapter) product(ctx context.Context, u *url.URL, before shop.Seen) (product, *fetch.Page, error) {
	m := productPath.FindStringSubmatch(u.EscapedPath())
	if m == nil {
		return product{}, nil, &shop.Error{Kind: shop.KindRefused, Message: "This is not the address of a product."}
	}
	ask := url.URL{Scheme: u.Scheme, Host: u.Host, Path: m[1] + "/products/" + m[2] + ".js"}
	if plain, err := url.PathUnescape(ask.Path); err == nil {
		ask.Path = plain
	}
	var p product
	page, err := jsonapi.Get(ctx, a.get, fetch.Request{URL: ask.String(), ETag: before.ETag, LastModified: before.LastModified}, &p)
	if err != nil || page.NotModified && before.Quote.Price.Known() {
		return p, page, err
	}
	if strings.HasSuffix(page.URL.Path, "/password") {
		return p, nil, &shop.Error{Kind: shop.KindBlocked, Message: "This shop is closed to visitors."}
	}
	if page.Status != http.StatusOK {
		return p, nil, jsonapi.Refused(page.Status)
	}
	return p, page, nil
}

// productOf is the product's own address, from that of its .js.
func productOf(u *url.URL) *url.URL {
	p := *u
	p.Path, p.RawQuery = strings.TrimSuffix(p.Path, ".js"), ""
	return &p
}

// choose never takes another variant than the one meant.
func choose(p product, want string) (variant, *shop.Error) {
	if want == "" && len(p.Variants) > 1 { // also where they cost the same: their stock differs
		return variant{}, &shop.Error{Kind: shop.KindParse, Message: "This product comes in several variants. Choose one on the shop's page and copy the address again."}
	}
	for _, v := range p.Variants {
		if want == "" || v.ID.String() == want {
			if v.RequiresSellingPlan {
				return v, &shop.Error{Kind: shop.KindParse, Message: "This product is sold by subscription only."}
			}
			return v, nil
		}
	}
	return variant{}, &shop.Error{Kind: shop.KindEmpty, Message: "The shop no longer sells this variant."}
}

// errNoCurrency is where a shop does not give the .json that states it.
var errNoCurrency = errors.New("no currency")

// establish learns the currency, once, and checks that the two forms of the
// price agree: the .js has changed its unit before.
func (a *Adapter) establish(ctx context.Context, at *url.URL, v variant) (item, error) {
	ask := *at
	ask.Path += ".json"
	var d described
	page, err := jsonapi.Get(ctx, a.get, fetch.Request{URL: ask.String()}, &d)
	if err != nil {
		return item{}, err
	}
	if page.Status != http.StatusOK {
		return item{}, errNoCurrency
	}
	for _, o := range d.Product.Variants {
		if o.ID != v.ID || o.Currency == "" {
			continue
		}
		inCents, err1 := hundredth(v.Price, o.Currency)
		plain, err2 := money.Parse(o.Price, o.Currency)
		if err1 != nil || err2 != nil || !inCents.Equal(plain) {
			return item{}, &shop.Error{Kind: shop.KindParse, Message: "The shop states this price in two ways that do not agree.", Cause: fmt.Errorf(".js %s, .json %.20q %.5q", v.Price, o.Price, o.Currency)}
		}
		return item{strings.ToLower(at.Host), v.ID.String(), o.Currency}, nil
	}
	return item{}, errNoCurrency
}

// hundredth is the price of the .js: hundredths, also of the yen.
func hundredth(n json.Number, currency string) (money.Amount, error) {
	a, err := money.Parse(n.String(), currency)
	if err != nil {
		return a, err
	}
	return a.Div("100")
}

func (a *Adapter) quote(i item, p product, v variant, at *url.URL) (shop.Quote, error) {
	price, err := hundredth(v.Price, i.currency)
	if err != nil || !price.Positive() {
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "The shop states no price.", Cause: err}
	}
	address := *at
	address.RawQuery = url.Values{"variant": {v.ID.String()}}.Encode()
	index := slices.IndexFunc(p.Variants, func(o variant) bool { return o.ID == v.ID })
	q := jsonapi.Only(a.Name(), price, fmt.Sprintf("variants[%d].price %s (hundredths)", index, v.Price), "the variant of the address")
	q.Ref = shop.Ref{Adapter: a.Name(), ItemCode: i.String(), URL: address.String()}
	q.Name, q.Availability, q.ObservedAt = p.Title, shop.OutOfStock, a.now().UTC()
	if v.PublicTitle != nil && *v.PublicTitle != "" {
		q.Name += " " + *v.PublicTitle
	}
	if v.Available {
		q.Availability = shop.InStock
	}
	if image, err := at.Parse(p.FeaturedImage); err == nil && p.FeaturedImage != "" {
		q.ImageURL = image.String()
	}
	return q, nil
}
