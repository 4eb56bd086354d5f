package demo

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/page"
)

// open serves the shop and gives the adapter that reads it, as the demo does.
func open(t *testing.T, s *Shop, phone func() []Received) (base string, a *Adapter) {
	t.Helper()
	server := httptest.NewServer(s.Handler(phone))
	t.Cleanup(server.Close)
	guard := fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	client := fetch.New(fetch.Options{Guard: guard, UserAgent: "Sokone/test", Now: time.Now})
	return server.URL, NewAdapter(server.URL, page.New(client, time.Now))
}

func read(t *testing.T, a *Adapter, address string) (shop.Quote, error) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	ref, ok := a.Match(u)
	if !ok {
		t.Fatalf("%s is not the shop's", address)
	}
	return a.Quote(context.Background(), ref)
}

func get(t *testing.T, address string) (*http.Response, string) {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

// Whatever the markup, and wherever prices have moved to, the quote is what the
// shop asks.
func TestEveryProductIsReadAsTheShopMeansIt(t *testing.T) {
	t.Parallel()
	s := New(7)
	base, a := open(t, s, nil)
	soldOut, sales := false, false
	for range 40 {
		for _, p := range s.all() {
			q, err := read(t, a, base+"/products/"+p.Code)
			if err != nil {
				t.Fatalf("%s: %v", p.Code, err)
			}
			stock := shop.InStock
			if !p.InStock {
				stock, soldOut = shop.OutOfStock, true
			}
			sales = sales || p.Sale()
			if q.Price.Number() != decimal(p.Price, p.Currency) || q.Price.Currency() != p.Currency {
				t.Errorf("%s: %s, want %s %s", p.Code, q.Price, decimal(p.Price, p.Currency), p.Currency)
			}
			if q.Availability != stock || q.Name != p.Name || q.Adapter != "demo" || q.ItemCode != p.Code || q.URL != base+"/products/"+p.Code || q.ImageURL != base+"/img/"+p.Code+".svg" {
				t.Errorf("%s: %+v", p.Code, q)
			}
		}
		s.Step()
	}
	if !soldOut || !sales {
		t.Errorf("in forty steps sold out %t, on sale %t", soldOut, sales)
	}
}

func TestTheSameSeedMovesPricesTheSameWay(t *testing.T) {
	t.Parallel()
	a, b := New(3), New(3)
	for range 100 {
		a.Step()
		b.Step()
		for i, p := range a.all() {
			if p != b.all()[i] {
				t.Fatalf("%+v and %+v", p, b.all()[i])
			}
			if p.Price <= p.Regular/2 || p.Price > p.Regular*11/10 {
				t.Errorf("%s costs %d, usually %d: no shop does that", p.Code, p.Price, p.Regular)
			}
		}
	}
}

func TestAPriceSetByHandStays(t *testing.T) {
	t.Parallel()
	s := New(1)
	base, a := open(t, s, nil)
	for _, tc := range []struct{ code, price, stock, want string }{
		{"dish-soap", "1298", "1", "1298"}, {"dish-soap", " 990 ", "", "990"}, {"coffee", "12.5", "1", "12.50"}, {"coffee", "9", "1", "9.00"},
	} {
		res, err := http.PostForm(base+"/products/"+tc.code, url.Values{"price": {tc.price}, "stock": {tc.stock}})
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%+v: %v", tc, err)
		}
		_ = res.Body.Close()
		for range 20 {
			s.Step()
		}
		q, err := read(t, a, base+"/products/"+tc.code)
		if err != nil || q.Price.Number() != tc.want || (q.Availability == shop.InStock) != (tc.stock != "") {
			t.Errorf("%+v: %s %s %v", tc, q.Price, q.Availability, err)
		}
	}
}

func TestNoPriceThatIsNone(t *testing.T) {
	t.Parallel()
	s := New(1)
	base, _ := open(t, s, nil)
	before := s.all()
	for _, price := range []string{"", "0", "-5", "abc", "1e9", "12.5", "1,298", "99999999999999999999", "+-1", "1.-5"} {
		res, err := http.PostForm(base+"/products/dish-soap", url.Values{"price": {price}})
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %d", price, res.StatusCode)
		}
	}
	for i, p := range s.all() {
		if p != before[i] {
			t.Errorf("%+v", p)
		}
	}
}

// The page of another site cannot set prices.
func TestAnotherSiteSetsNoPrice(t *testing.T) {
	t.Parallel()
	s := New(1)
	base, _ := open(t, s, nil)
	for header, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"} {
		r, err := http.NewRequest(http.MethodPost, base+"/products/rice", strings.NewReader("price=1"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(header, value)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", header, res.StatusCode)
		}
	}
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	base, a := open(t, New(1), nil)
	for _, path := range []string{"/products/none", "/img/none.svg", "/nowhere", "/products/"} {
		if res, _ := get(t, base+path); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	if _, err := read(t, a, base+"/products/none"); err == nil || shop.AsError(err).Kind != shop.KindEmpty {
		t.Errorf("%v", err)
	}
}

func TestTheAdapterTakesItsOwnProductsOnly(t *testing.T) {
	t.Parallel()
	a := NewAdapter("http://127.0.0.1:4000", nil)
	for address, code := range map[string]string{
		"http://127.0.0.1:4000/products/rice":         "rice",
		"http://127.0.0.1:4000/products/rice/":        "rice",
		"http://127.0.0.1:4000/products/rice?ref=x#y": "rice",
		"http://127.0.0.1:4000/":                      "",
		"http://127.0.0.1:4000/products/":             "",
		"http://127.0.0.1:4000/products/a/b":          "",
		"http://127.0.0.1:40001/products/rice":        "",
		"https://127.0.0.1:4000/products/rice":        "",
		"http://evil.example/products/rice":           "",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		ref, ok := a.Match(u)
		if ok != (code != "") || ref.ItemCode != code || ok && ref.URL != "http://127.0.0.1:4000/products/"+code {
			t.Errorf("%s: %+v", address, ref)
		}
	}
}

// Nothing comes from elsewhere, and nothing is inline: the policy would stop it.
func TestPagesHoldTogetherUnderTheirPolicy(t *testing.T) {
	t.Parallel()
	base, _ := open(t, New(1), func() []Received {
		return []Received{{At: time.Date(2026, 10, 1, 9, 30, 0, 0, time.UTC), Title: "<b>洗剤</b>", Body: `"&`}}
	})
	link := regexp.MustCompile(`(?:src|href)="([^"]*)"`)
	inline := regexp.MustCompile(`(?i)<style|<script>|\sstyle=|\son[a-z]+=`)
	for _, path := range []string{"/", "/products/dish-soap", "/products/toilet-paper", "/products/water", "/phone"} {
		res, body := get(t, base+path)
		if !strings.Contains(res.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: no policy", path)
		}
		if found := inline.FindString(body); found != "" {
			t.Errorf("%s: %q is inline", path, found)
		}
		for _, m := range link.FindAllStringSubmatch(body, -1) {
			switch target := m[1]; {
			case strings.HasPrefix(target, "https://schema.org/"):
			case !strings.HasPrefix(target, "/"):
				t.Errorf("%s leads to %s", path, target)
			default:
				if res, _ := get(t, base+target); res.StatusCode != http.StatusOK {
					t.Errorf("%s leads to %s: %s", path, target, res.Status)
				}
			}
		}
	}
	if _, body := get(t, base+"/phone"); !strings.Contains(body, "&lt;b&gt;洗剤") || strings.Contains(body, "<b>洗剤</b>") {
		t.Error("a title is taken for markup")
	}
}

func TestTheShopServesWhileItMoves(t *testing.T) {
	t.Parallel()
	s := New(1)
	base, _ := open(t, s, nil)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { s.Run(ctx, time.Microsecond) })
	for range 20 {
		if res, _ := get(t, base+"/"); res.StatusCode != http.StatusOK {
			t.Error(res.Status)
		}
	}
	cancel()
	all.Wait()
}
