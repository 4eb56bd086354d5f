package yahoo_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/yahoo"
)

const hits = `{"totalResultsAvailable":300,"totalResultsReturned":2,"hits":[
	{"code":"mihon_det-1380-6-x","name":"別の商品","inStock":true,"price":100,"shipping":{"code":2,"name":"送料無料"}},
	{"code":"mihon_det-1380-6","name":"食器用洗剤 詰替 1380ml×6個","url":"https://store.shopping.yahoo.co.jp/mihon/det-1380-6.html","inStock":%s,"price":%s,"premiumPrice":2000,
	 "image":{"medium":"https://x.example/m.jpg"},"point":{"amount":23,"times":1,"bonusAmount":115,"premiumBonusAmount":500},"shipping":{"code":3,"name":"%s"}}]}`

func quote(t *testing.T, status int, body string) (shop.Quote, *http.Request, error) {
	t.Helper()
	var asked *http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now})
	a := yahoo.New(client, yahoo.Options{AppID: "id", Endpoint: s.URL, Now: time.Now})
	u, err := url.Parse("https://store.shopping.yahoo.co.jp/mihon/det-1380-6.html?sc_e=x")
	if err != nil {
		t.Fatal(err)
	}
	ref, ok := a.Match(u)
	if !ok || ref.ItemCode != "mihon_det-1380-6" {
		t.Fatalf("matched %t %+v", ok, ref)
	}
	q, err := a.Quote(context.Background(), ref)
	return q, asked, err
}

func TestTheExactItemIsRead(t *testing.T) {
	q, asked, err := quote(t, 200, fmt.Sprintf(hits, "true", "2380", "条件付き送料無料"))
	if err != nil || q.Price.Number() != "2380" || q.Points.Number() != "138" || q.Shipping.Known() || q.Evidence != "price 2380" || q.Availability != shop.InStock || q.Name != "食器用洗剤 詰替 1380ml×6個" {
		t.Errorf("%+v %v", q, err)
	}
	if v := asked.URL.Query(); v.Get("appid") != "id" || v.Get("seller_id") != "mihon" || v.Get("query") != "det-1380-6" || v.Has("in_stock") {
		t.Errorf("asked %s", asked.URL)
	}
	if q, _, err := quote(t, 200, fmt.Sprintf(hits, "false", "2380", "送料無料")); err != nil || q.Availability != shop.OutOfStock || q.Shipping.Number() != "0" {
		t.Errorf("%+v %v", q, err)
	}
	if q, _, err := quote(t, 200, fmt.Sprintf(hits, "null", "2380", "")); err != nil || q.Availability != shop.Unknown {
		t.Errorf("%+v %v", q, err)
	}
}

func TestWhatTheAnswersMean(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		want   shop.Kind
	}{
		"not listed": {200, `{"hits":[]}`, shop.KindEmpty},
		"an error":   {200, `{"Error":{"Message":"Internal"}}`, shop.KindServer},
		"too many":   {200, strings.Replace(fmt.Sprintf(hits, "true", "2380", ""), `"mihon_det-1380-6"`, `"mihon_other"`, 1), shop.KindParse},
		"no price":   {200, fmt.Sprintf(hits, "true", "0", ""), shop.KindParse},
		"bad key":    {403, `<Error><Message>Your Request was Forbidden</Message></Error>`, shop.KindAuth},
		"no key":     {401, `{"Error":{"Message":"Authentication parameters in your request incompleted"}}`, shop.KindAuth},
		"pace":       {429, `{"message":"slow down"}`, shop.KindRateLimited},
		"closed":     {503, `<Error><Message>API_MAINTENANCE</Message><Code>503</Code></Error>`, shop.KindServer},
		"XML":        {200, `<Error/>`, shop.KindParse},
	} {
		if q, _, err := quote(t, tc.status, tc.body); err == nil || shop.AsError(err).Kind != tc.want {
			t.Errorf("%s: %+v %v, want %s", name, q, err, tc.want)
		}
	}
}

func TestWithoutAKey(t *testing.T) {
	a := yahoo.New(nil, yahoo.Options{Now: time.Now})
	if _, err := a.Quote(context.Background(), shop.Ref{ItemCode: "mihon_x"}); err == nil || shop.AsError(err).Kind != shop.KindAuth || !strings.Contains(err.Error(), "SOKONE_YAHOO_APP_ID") {
		t.Errorf("%v", err)
	}
}
