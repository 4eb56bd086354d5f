package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/singleflight"

	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// Quote is what an adapter reads at an address.
type Quote struct {
	Adapter      string              `json:"adapter"`
	ItemCode     string              `json:"item_code"`
	URL          string              `json:"url"`
	Name         string              `json:"name"`
	ImageURL     string              `json:"image_url"`
	Price        Nullable[Money]     `json:"price"`
	Total        Nullable[Money]     `json:"total" doc:"With shipping; null where the shop does not state it."`
	Effective    Nullable[Money]     `json:"effective" doc:"Total less points."`
	UnitPrice    Nullable[UnitPrice] `json:"unit_price"`
	Availability string              `json:"availability" enum:"in_stock,out_of_stock,preorder,unknown"`
	FoundBy      string              `json:"found_by"`
	Evidence     string              `json:"evidence" doc:"The piece of the page that the price stood in."`
	ObservedAt   time.Time           `json:"observed_at"`
}

// Preview is a quote with what is known of the listing already.
type Preview struct {
	Quote
	Picture string            `json:"picture" doc:"Where this server shows the image; empty for nowhere."`
	History Nullable[[]Point] `json:"history" doc:"The last 90 days, where somebody watches this already."`
}

// QuoteOf is the wire form of a quote.
func QuoteOf(q shop.Quote) Quote {
	o := watch.Observe(q)
	return Quote{
		Adapter: q.Adapter, ItemCode: q.ItemCode, URL: q.URL, Name: q.Name, ImageURL: q.ImageURL,
		Price: moneyOf(q.Price), Total: moneyOf(o.Amount(watch.BasisTotal)), Effective: moneyOf(o.Amount(watch.BasisEffective)),
		UnitPrice: unitPriceOf(o.Price, q.Quantity), Availability: availability(q.Availability), FoundBy: q.FoundBy, Evidence: q.Evidence, ObservedAt: q.ObservedAt.UTC(),
	}
}

type addressRequest struct {
	Body struct {
		URL string `json:"url" minLength:"1" maxLength:"4096" doc:"The address of a product page."`
	}
}

type quoteAnswer struct{ Body Preview }

func (a *API) quoteRoutes(h huma.API) {
	op := a.private(h, http.MethodPost, "/quotes", "quote", "What a watch on this address would start from", http.StatusOK)
	op.Errors = append(op.Errors, http.StatusBadGateway)
	huma.Register(h, op, a.quote)
}

func (a *API) quote(ctx context.Context, in *addressRequest) (*quoteAnswer, error) {
	q, err := a.fresh.at(ctx, in.Body.URL)
	if err != nil {
		return nil, shopFault(err)
	}
	out := Preview{Quote: QuoteOf(q), Picture: a.picture(q.ImageURL)}
	h, err := a.Store.HistoryAt(ctx, q.Ref)
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	if points := pointsSince(h, a.Now().AddDate(0, 0, -90)); len(points) > 0 {
		out.History = some(points)
	}
	return &quoteAnswer{out}, nil
}

// quotes lets those who ask for one listing at the same time share one request
// to the shop, and remembers an answer for a few seconds: a hundred phones that
// ask about one alert are one request. What a watch starts from is never old.
type quotes struct {
	shops Shops
	now   func() time.Time
	group singleflight.Group
	mu    sync.Mutex
	read  map[shop.Ref]shop.Quote
}

const (
	keepFor   = 3 * time.Second
	maxQuotes = 4096
	readFor   = 45 * time.Second // waiting for a turn at the shop included
)

func newQuotes(shops Shops, now func() time.Time) *quotes {
	return &quotes{shops: shops, now: now, read: map[shop.Ref]shop.Quote{}}
}

func (c *quotes) at(ctx context.Context, address string) (shop.Quote, error) {
	ref, err := c.shops.Resolve(address)
	if err != nil {
		return shop.Quote{}, err
	}
	q, err := c.anew(ctx, ref)
	if e := shop.AsError(err); e != nil && e.SoldOut && q.Name != "" {
		return q, nil // it can be waited for, though it has no price meanwhile
	}
	return q, err
}

// lately returns a quote that was read after the given time and is at most a few
// seconds old.
func (c *quotes) lately(ctx context.Context, ref shop.Ref, after time.Time) (shop.Quote, error) {
	c.mu.Lock()
	q, ok := c.read[ref]
	c.mu.Unlock()
	if age := c.now().Sub(q.ObservedAt); ok && q.ObservedAt.After(after) && age >= 0 && age < keepFor {
		return q, nil
	}
	return c.anew(ctx, ref)
}

// anew reads the listing.
func (c *quotes) anew(ctx context.Context, ref shop.Ref) (shop.Quote, error) {
	// One reader serves all who ask; a caller who leaves does not stop it.
	result := c.group.DoChan(ref.Adapter+"\x00"+ref.ItemCode, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readFor)
		defer cancel()
		q, err := c.shops.Quote(shop.Anew(ctx), ref)
		if err == nil {
			c.keep(ref, q)
		}
		return q, err
	})
	select {
	case r := <-result:
		return r.Val.(shop.Quote), r.Err
	case <-ctx.Done():
		return shop.Quote{}, ctx.Err()
	}
}

func (c *quotes) keep(ref shop.Ref, q shop.Quote) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.read) >= maxQuotes {
		for r, old := range c.read {
			if len(c.read) >= maxQuotes || c.now().Sub(old.ObservedAt) >= keepFor {
				delete(c.read, r)
			}
		}
	}
	c.read[ref] = q
}
