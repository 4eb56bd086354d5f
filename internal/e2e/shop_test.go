package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// testShop is a real HTTP shop whose pages a test sets.
type testShop struct {
	server *httptest.Server
	mu     sync.Mutex
	pages  map[string]page
	asked  map[string]int
}

// page is what the shop answers for one product.
type page struct {
	Name, Price, Currency, Stock string // Stock is schema.org's word
	Raw                          string // instead of a product page
	Status                       int
	Header                       map[string]string
	Delay                        time.Duration
}

func newShop(t *testing.T) *testShop {
	s := &testShop{pages: map[string]page{}, asked: map[string]int{}}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

func (s *testShop) url(product string) string { return s.server.URL + "/p/" + product }

// set changes a product's page; fields not given are those of an ordinary page.
func (s *testShop) set(product string, p page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range []struct {
		field *string
		value string
	}{{&p.Name, "Tea tin " + product}, {&p.Currency, "JPY"}, {&p.Stock, "InStock"}} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	s.pages[product] = p
}

func (s *testShop) price(product string, price int) { s.set(product, page{Price: fmt.Sprint(price)}) }

func (s *testShop) requests(product string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[product]
}

func (s *testShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	product := strings.TrimPrefix(r.URL.Path, "/p/")
	s.mu.Lock()
	p, ok := s.pages[product]
	s.asked[product]++
	s.mu.Unlock()
	if p.Delay > 0 {
		select {
		case <-time.After(p.Delay):
		case <-r.Context().Done():
			return
		}
	}
	for name, value := range p.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	switch {
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<!doctype html><title>Not found</title><h1>Not found</h1>")
		return
	case p.Status != 0:
		w.WriteHeader(p.Status)
	}
	if p.Raw != "" {
		fmt.Fprint(w, p.Raw)
		return
	}
	fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>%[1]s</title>
<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":%[1]q,
"offers":{"@type":"Offer","price":%[2]q,"priceCurrency":%[3]q,"availability":"https://schema.org/%[4]s"}}</script></head>
<body><h1>%[1]s</h1></body></html>`, p.Name, p.Price, p.Currency, p.Stock)
}
