// Package woocommerce reads products by WooCommerce's Store API
// (https://developer.woocommerce.com/docs/apis/store-api/): no key, and any shop.
package woocommerce

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/jsonapi"
)

// Adapter reads WooCommerce.
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
func (a *Adapter) Name() string { return "woocommerce" }

// productPath is WooCommerce's own form of a product's address. The shop may lie
// in a folder.
var productPath = regexp.MustCompile(`^(.*)/product/([^/]+)/?$`)

// Match takes every address of that form. Whether the shop has a Store API shows
// at the first quote.
func (a *Adapter) Match(u *url.URL) (shop.Ref, bool) {
	m := productPath.FindStringSubmatch(u.EscapedPath())
	if m == nil {
		return shop.Ref{}, false
	}
	for name := range u.Query() {
		if strings.HasPrefix(name, "attribute_") || name == "variation_id" {
			return shop.Ref{}, false // the page knows which variation that is
		}
	}
	if strings.Contains(m[2], ".") { // a slug has no dot: detail.html is none
		return shop.Ref{}, false
	}
	ref, ok := a.pages.Match(u) // with all that another kind of shop may need of it
	ref.Adapter = a.Name()
	return ref, ok
}

type product struct {
	ID        json.Number `json:"id"`
	Name      string      `json:"name"`
	Slug      string      `json:"slug"`
	Permalink string      `json:"permalink"`
	Type      string      `json:"type"`
	Variation string      `json:"variation"` // "Size: L"
	Prices    struct {
		Currency  string      `json:"currency_code"`
		MinorUnit json.Number `json:"currency_minor_unit"` // the shop's decimals setting, not ISO's
		Price     string      `json:"price"`               // integer, in that unit
		Range     *struct{}   `json:"price_range"`
	} `json:"prices"`
	Images []struct {
		Src string `json:"src"`
	} `json:"images"`
	Purchasable bool `json:"is_purchasable"`
	InStock     bool `json:"is_in_stock"`
	Backorder   bool `json:"is_on_backorder"`
	Protected   bool `json:"is_password_protected"`
}

// Quote reads the product: by its number where that is known, else by its slug,
// falling back to the page where there is no Store API.
func (a *Adapter) Quote(ctx context.Context, ref shop.Ref) (shop.Quote, error) {
	u, err := url.Parse(ref.URL)
	m := []string(nil)
	if err == nil {
		m = productPath.FindStringSubmatch(u.EscapedPath())
	}
	if m == nil {
		return shop.Quote{}, &shop.Error{Kind: shop.KindRefused, Message: "This is not the address of a product.", Cause: err}
	}
	root := u.Scheme + "://" + u.Host + m[1]
	if id, established := strings.CutPrefix(ref.ItemCode, itemOf(u, m[1], "")); established {
		var p product
		before := a.memory.Before(ctx, ref.ItemCode, a.now())
		page, err := jsonapi.Get(ctx, a.get, fetch.Request{URL: root + api + "/" + url.PathEscape(id), ETag: before.ETag, LastModified: before.LastModified}, &p)
		if err != nil {
			return shop.Quote{}, err
		}
		if page.NotModified && before.Quote.Price.Known() {
			before.Quote.ObservedAt = a.now().UTC()
			return before.Quote, nil
		}
		if page.Status != http.StatusOK {
			return shop.Quote{}, refused(page)
		}
		if p.ID.String() != id {
			return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "The shop answered with another product."}
		}
		q, err := a.quote(ref, p)
		if err == nil {
			a.memory.Keep(ref.ItemCode, page.Seen(q))
		}
		return q, err
	}
	var found []product
	page, err := jsonapi.Get(ctx, a.get, fetch.Request{URL: root + api + "?slug=" + m[2]}, &found)
	if err != nil || page.Status != http.StatusOK || len(found) != 1 || found[0].ID == "" || !sameSlug(found[0].Slug, m[2]) {
		return jsonapi.ByPage(ctx, a.pages, u)
	}
	// The shop's own name is where it sends us.
	ref.URL = page.URL.Scheme + "://" + page.URL.Host + m[1] + "/product/" + m[2] + "/"
	ref.ItemCode = itemOf(page.URL, m[1], found[0].ID.String())
	return a.quote(ref, found[0])
}

// sameSlug reports whether a product's slug is the address's: WordPress writes both
// with escapes where they are not ASCII. One that is not stated is believed.
func sameSlug(slug, asked string) bool {
	a, err := url.PathUnescape(slug)
	b, err2 := url.PathUnescape(asked)
	return slug == "" || err == nil && err2 == nil && strings.EqualFold(a, b)
}

// api is the Store API below the folder that the shop lies in.
const api = "/wp-json/wc/store/v1/products"

// itemOf is the item code of a product of the shop that lies in a folder of u.
func itemOf(u *url.URL, folder, id string) string {
	return strings.ToLower(u.Host) + folder + "#" + id
}

// refused tells a shop that has no Store API any more from a product that is gone.
func refused(p *fetch.Page) *shop.Error {
	var e struct {
		Code string `json:"code"`
	}
	if p.Status == http.StatusNotFound && json.Unmarshal(p.Body, &e) == nil && e.Code == "rest_no_route" {
		return &shop.Error{Kind: shop.KindParse, Message: "The shop has closed the interface that its price was read by. Watch its page anew."}
	}
	return jsonapi.Refused(p.Status)
}

func (a *Adapter) quote(ref shop.Ref, p product) (shop.Quote, error) {
	switch {
	case p.Protected:
		return shop.Quote{}, &shop.Error{Kind: shop.KindBlocked, Message: "The shop shows this product only with a password."}
	case strings.Contains(p.Type, "subscription"): // variable ones too
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "This product is sold by subscription only."}
	case p.Prices.Range != nil || p.Type == "variable" || p.Type == "grouped":
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "This product comes in several variants. Choose one on the shop's page and copy the address again."}
	case p.Type == "external":
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "This product is sold at another shop. Watch it there."}
	}
	price, err := scaled(p.Prices.Price, p.Prices.MinorUnit, p.Prices.Currency)
	if err != nil || !price.Positive() {
		return shop.Quote{}, &shop.Error{Kind: shop.KindParse, Message: "The shop states no price that can be read.", Cause: err}
	}
	where := "prices.price " + p.Prices.Price + " (currency_minor_unit " + p.Prices.MinorUnit.String() + ")"
	q := jsonapi.Only(a.Name(), price, where, "the price of the product")
	q.Ref, q.Availability, q.ObservedAt = ref, shop.OutOfStock, a.now().UTC()
	// WordPress writes names as HTML.
	q.Name = strings.TrimSpace(html.UnescapeString(p.Name + " " + p.Variation))
	switch {
	case p.InStock && p.Backorder:
		q.Availability = shop.Preorder
	case p.InStock && p.Purchasable:
		q.Availability = shop.InStock
	}
	if len(p.Images) > 0 {
		q.ImageURL = p.Images[0].Src
	}
	return q, nil
}

// scaled is an integer in the shop's own unit: ¥500 is "50000" in a shop that
// shows yen with two decimals. What does not fit the currency is refused.
func scaled(n string, unit json.Number, currency string) (money.Amount, error) {
	digits, err := unit.Int64()
	if err != nil || digits < 0 || digits > 8 {
		return money.Amount{}, money.ErrAmount
	}
	whole, err := money.Parse(n, currency)
	if err != nil {
		return whole, err
	}
	if strings.Contains(n, ".") { // a plugin has put the price as people read it: in which unit it is nobody knows
		return money.Amount{}, money.ErrAmount
	}
	a, err := whole.Div("1" + strings.Repeat("0", int(digits)))
	if err != nil {
		return a, err
	}
	if !a.Round().Equal(a) {
		return money.Amount{}, money.ErrAmount
	}
	return a.Round(), nil
}
