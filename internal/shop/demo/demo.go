// Package demo is a shop to try Sokone with: a real HTTP shop whose pages carry
// the markup of real ones, and whose prices and stock move by the minute. Its
// adapter shows how little a shop of one's own needs.
package demo

import (
	"context"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sokone/sokone/internal/shop"
)

// product is what the shop sells. Prices are in minor units of the currency.
type product struct {
	Code, Name, Maker, Colour string
	Regular                   int
	Currency                  string
	Markup                    string // "json-ld", "microdata" or "opengraph"

	Price   int
	InStock bool
	ByHand  bool // set by a visitor: it does not move by itself until the next restart
}

// Shop is the shop's goods. It is safe for concurrent use.
type Shop struct {
	mu    sync.Mutex
	goods []*product
	rand  *rand.Rand
}

// New opens the shop. The same seed moves prices the same way.
func New(seed uint64) *Shop {
	goods := []*product{
		{Code: "dish-soap", Name: "食器用洗剤 詰替 1380ml×6個", Maker: "あわ日和", Colour: "#5b8def", Regular: 2480, Currency: "JPY", Markup: "json-ld"},
		{Code: "toilet-paper", Name: "トイレットペーパー ダブル 12ロール×6パック", Maker: "しろうさ", Colour: "#e0849b", Regular: 3280, Currency: "JPY", Markup: "microdata"},
		{Code: "rice", Name: "無洗米 こしひかり 5kg", Maker: "みのり農園", Colour: "#c9a44c", Regular: 4380, Currency: "JPY", Markup: "json-ld"},
		{Code: "water", Name: "天然水 500ml×24本", Maker: "森の泉", Colour: "#3fa9b5", Regular: 1980, Currency: "JPY", Markup: "opengraph"},
		{Code: "green-tea", Name: "煎茶 ティーバッグ 100袋", Maker: "茶のみや", Colour: "#5f9e5c", Regular: 1280, Currency: "JPY", Markup: "microdata"},
		{Code: "coffee", Name: "Coffee beans, medium roast, 1 kg", Maker: "Kissa Kumo", Colour: "#8d6247", Regular: 1890, Currency: "EUR", Markup: "json-ld"},
	}
	for _, p := range goods {
		p.Price, p.InStock = p.Regular, true
	}
	return &Shop{goods: goods, rand: rand.New(rand.NewPCG(seed, 1))}
}

// Step moves prices and stock once: mostly a little, now and then a sale, seldom
// sold out.
func (s *Shop) Step() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.goods {
		if p.ByHand {
			continue
		}
		switch roll := s.rand.IntN(10); {
		case roll < 3: // a sale: 10 to 30 % off
			p.Price = p.Regular * (90 - s.rand.IntN(21)) / 100
		case roll < 6:
			p.Price = p.Regular
		case roll < 8: // a little up or down
			p.Price = p.Regular * (97 + s.rand.IntN(7)) / 100
		}
		p.InStock = s.rand.IntN(12) > 0 || !p.InStock
	}
}

// Run moves the shop every interval until ctx ends.
func (s *Shop) Run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.Step()
		case <-ctx.Done():
			return
		}
	}
}

// set is what a visitor does by hand.
func (s *Shop) set(code string, price int, inStock bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.goods {
		if p.Code == code {
			p.Price, p.InStock, p.ByHand = price, inStock, true
			return true
		}
	}
	return false
}

func (s *Shop) all() []product {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]product, len(s.goods))
	for i, p := range s.goods {
		out[i] = *p
	}
	return out
}

func (s *Shop) product(code string) (product, bool) {
	for _, p := range s.all() {
		if p.Code == code {
			return p, true
		}
	}
	return product{}, false
}

// Reader reads a page: the page adapter does.
type Reader interface {
	Quote(ctx context.Context, ref shop.Ref) (shop.Quote, error)
}

// Adapter reads the demo shop: it knows the addresses, and leaves the reading of
// pages to the page adapter.
type Adapter struct {
	base  string // as in "http://127.0.0.1:41234"
	pages Reader
}

// NewAdapter is for the shop served at base.
func NewAdapter(base string, pages Reader) *Adapter { return &Adapter{base, pages} }

// Name is the adapter's word.
func (a *Adapter) Name() string { return "demo" }

// Match takes the addresses of products: base/products/<code>.
func (a *Adapter) Match(u *url.URL) (shop.Ref, bool) {
	rest, ours := strings.CutPrefix(u.Scheme+"://"+u.Host+u.Path, a.base+"/products/")
	code := strings.Trim(rest, "/")
	if !ours || code == "" || strings.Contains(code, "/") {
		return shop.Ref{}, false
	}
	return a.ref(code), true
}

func (a *Adapter) ref(code string) shop.Ref {
	return shop.Ref{Adapter: a.Name(), ItemCode: code, URL: a.base + "/products/" + code}
}

// Quote reads the product's page.
func (a *Adapter) Quote(ctx context.Context, ref shop.Ref) (shop.Quote, error) {
	q, err := a.pages.Quote(ctx, shop.Ref{Adapter: "page", ItemCode: ref.URL, URL: ref.URL})
	q.Ref = a.ref(ref.ItemCode)
	return q, err
}
