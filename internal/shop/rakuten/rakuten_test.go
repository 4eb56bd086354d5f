package rakuten_test

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
	"github.com/sokone/sokone/internal/shop/rakuten"
)

const item = `{"itemName":"食器用洗剤 詰替 1380ml×6個","itemCode":"exampleshop:10001234","itemPrice":2480,"itemPriceMin3":2480,"itemPriceMax3":%s,
	"itemUrl":"https://item.rakuten.co.jp/exampleshop/det-1380-6/?rafcid=wsc_i_is_11111111","mediumImageUrls":["https://thumbnail.image.rakuten.co.jp/a.jpg?_ex=128x128"],
	"availability":%s,"taxFlag":%s,"postageFlag":%s,"pointRate":5}`

func anItem(high, available, tax, postage string) string {
	return fmt.Sprintf(item, high, available, tax, postage)
}

// withFields is an item with more fields.
func withFields(fields string) string {
	return strings.TrimSuffix(anItem("2480", "1", "0", "1"), "}") + "," + fields + "}"
}

type api struct {
	status int
	body   string
	asked  *http.Request
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/exampleshop/turned/":
		_, _ = fmt.Fprint(w, `<META content='10001234' property='apprakuten:item_id'>`)
		return
	case "/exampleshop/untagged/":
		_, _ = fmt.Fprint(w, `<title>【楽天市場】食器用洗剤 詰替 x 1380ml×6個：見本商店</title>`)
		return
	case "/exampleshop/nothing/":
		return
	}
	if strings.HasPrefix(r.URL.Path, "/exampleshop/") {
		_, _ = fmt.Fprint(w, `<meta name="apprakuten:shop_code" content="exampleshop"><meta name="apprakuten:item_id" content="10001234">`)
		return
	}
	a.asked = r
	w.Header().Set("Content-Type", "application/json")
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	_, _ = fmt.Fprint(w, a.body)
}

func adapter(t *testing.T, a *api, change func(*rakuten.Options)) (*rakuten.Adapter, string) {
	t.Helper()
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now})
	o := rakuten.Options{ApplicationID: "11111111-2222-3333-4444-555555555555", AccessKey: "pk_EXAMPLE", SiteURL: "https://watch.example.jp/x", Endpoint: s.URL + "/api", ItemHost: strings.TrimPrefix(s.URL, "http://"), Now: time.Now}
	if change != nil {
		change(&o)
	}
	return rakuten.New(client, o), s.URL
}

func TestAnItemIsFoundAndRead(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"version 2": `{"count":1,"Items":[` + anItem("2480", "1", "0", "1") + `]}`,
		"version 1": `{"count":1,"Items":[{"Item":` + strings.Replace(anItem("2480", "1", "0", "1"), `["https://thumbnail.image.rakuten.co.jp/a.jpg?_ex=128x128"]`, `[{"imageUrl":"https://thumbnail.image.rakuten.co.jp/a.jpg?_ex=128x128"}]`, 1) + `}]}`,
		"documents": `{"count":1,"items":[` + anItem("2480", "1", "0", "1") + `]}`,
	} {
		server := &api{body: body}
		a, base := adapter(t, server, nil)
		u, err := url.Parse(base + "/exampleshop/det-1380-6/?scid=x")
		if err != nil {
			t.Fatal(err)
		}
		ref, ok := a.Match(u)
		if !ok {
			t.Fatal("not matched")
		}
		q, err := a.Quote(context.Background(), ref)
		if err != nil || q.ItemCode != "exampleshop:10001234" || q.Price.Number() != "2480" || q.Price.Currency() != "JPY" || q.Availability != shop.InStock ||
			q.Points.Number() != "124" || q.Shipping.Known() || q.URL != "https://item.rakuten.co.jp/exampleshop/det-1380-6/" || q.ImageURL != "https://thumbnail.image.rakuten.co.jp/a.jpg" {
			t.Errorf("%s: %+v %v", name, q, err)
		}
		if r := server.asked; r.Header.Get("accessKey") != "pk_EXAMPLE" || r.URL.Query().Get("availability") != "0" || r.URL.Query().Get("itemCode") != "exampleshop:10001234" ||
			r.Header.Get("Origin") != "https://watch.example.jp" || r.Header.Get("Referer") != "https://watch.example.jp/" || strings.Contains(r.URL.String(), "pk_EXAMPLE") {
			t.Errorf("%s: asked %s with %v", name, r.URL, r.Header)
		}
	}
}

func TestWhatTheAnswersMean(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		body   string
		want   shop.Kind // "" for a quote
		check  func(shop.Quote) bool
	}{
		"sold out":                        {0, `{"Items":[` + anItem("2480", "0", "0", "1") + `]}`, "", func(q shop.Quote) bool { return q.Availability == shop.OutOfStock }},
		"shipping included":               {0, `{"Items":[` + anItem("2480", "1", "0", "0") + `]}`, "", func(q shop.Quote) bool { return q.Shipping.Number() == "0" }},
		"variants":                        {0, `{"Items":[` + anItem("2980", "1", "0", "1") + `]}`, shop.KindParse, nil},
		"without tax":                     {0, `{"Items":[` + anItem("2480", "1", "1", "1") + `]}`, shop.KindParse, nil},
		"delisted":                        {0, `{"count":0,"Items":[]}`, shop.KindEmpty, nil},
		"empty, no list":                  {0, `{"count":0}`, shop.KindEmpty, nil},
		"another item":                    {0, `{"Items":[` + strings.Replace(anItem("2480", "1", "0", "1"), "10001234", "99", 1) + `]}`, shop.KindParse, nil},
		"an error in a 200":               {0, `{"error":"too_many_requests","error_description":"…applicationId=1…"}`, shop.KindRateLimited, nil},
		"bad parameter":                   {400, `{"error":"wrong_parameter"}`, shop.KindAuth, nil},
		"the gateway":                     {403, `{"errors":{"errorCode":403,"errorMessage":"REQUEST_CONTEXT_BODY_HTTP_REFERRER_MISSING"}}`, shop.KindAuth, nil},
		"not found":                       {404, `{"error":"not_found"}`, shop.KindEmpty, nil},
		"slow down":                       {429, `{"error":"too_many_requests"}`, shop.KindRateLimited, nil},
		"maintenance":                     {503, `{"error":"service_unavailable"}`, shop.KindServer, nil},
		"the gateway in a 200":            {0, `{"errors":{"errorCode":503,"errorMessage":"X"}}`, shop.KindServer, nil},
		"a page":                          {0, `<html>`, shop.KindParse, nil},
		"one price":                       {0, `{"Items":[` + withFields(`"itemPriceMin1":2480,"itemPriceMax1":2480,"itemPriceMin2":2480,"itemPriceMax2":2480,"itemPriceBaseField":"itemPriceMin3"`) + `]}`, "", func(q shop.Quote) bool { return q.Price.Number() == "2480" && q.Evidence == "itemPrice 2480" }},
		"only the dear one can be bought": {0, `{"Items":[` + withFields(`"itemPriceMin1":1000,"itemPriceMax1":2480,"itemPriceBaseField":"itemPriceMin3"`) + `]}`, shop.KindParse, nil},
		"only the cheap one, no base":     {0, `{"Items":[` + withFields(`"itemPriceMin1":2480,"itemPriceMax1":9000`) + `]}`, shop.KindParse, nil},
		"a search finds several prices":   {0, `{"Items":[` + withFields(`"itemPriceMin2":2480,"itemPriceMax2":9000`) + `]}`, shop.KindParse, nil},
		"more points now":                 {0, `{"Items":[` + withFields(`"pointRateStartTime":"2020-10-04 20:00","pointRateEndTime":"2120-10-11 01:59"`) + `]}`, "", func(q shop.Quote) bool { return q.Points.Number() == "124" }},
		"more points before":              {0, `{"Items":[` + withFields(`"pointRateStartTime":"2020-10-04 20:00","pointRateEndTime":"2020-10-11 01:59"`) + `]}`, "", func(q shop.Quote) bool { return q.Points.Number() == "24" }},
		"more points later":               {0, `{"Items":[` + withFields(`"pointRateStartTime":"2120-10-04 20:00","pointRateEndTime":""`) + `]}`, "", func(q shop.Quote) bool { return q.Points.Number() == "24" }},
		"points until whenever":           {0, `{"Items":[` + withFields(`"pointRateEndTime":"soon"`) + `]}`, "", func(q shop.Quote) bool { return q.Points.Number() == "24" }},
		"nonsense":                        {0, `{"Items":[7]}`, shop.KindParse, nil},
		"a price of nothing":              {0, strings.Replace(`{"Items":[`+anItem("2480", "1", "0", "1")+`]}`, `"itemPrice":2480`, `"itemPrice":0`, 1), shop.KindParse, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, base := adapter(t, &api{status: tc.status, body: tc.body}, nil)
			q, err := a.Quote(context.Background(), shop.Ref{Adapter: "rakuten", ItemCode: "exampleshop:10001234", URL: base + "/exampleshop/det-1380-6/"})
			if tc.want == "" {
				if err != nil || !tc.check(q) {
					t.Errorf("%+v %v", q, err)
				}
			} else if err == nil || shop.AsError(err).Kind != tc.want {
				t.Errorf("%+v %v, want %s", q, err, tc.want)
			} else if strings.Contains(shop.AsError(err).Message, "applicationId") {
				t.Errorf("the message echoes the key: %s", shop.AsError(err).Message)
			}
		})
	}
}

func TestWithoutAKey(t *testing.T) {
	t.Parallel()
	a, base := adapter(t, &api{}, func(o *rakuten.Options) { o.ApplicationID = "" })
	u, err := url.Parse(base + "/exampleshop/det-1380-6/")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := a.Match(u); ok {
		t.Error("without a key the page adapter should take over")
	}
	if _, err := a.Quote(context.Background(), shop.Ref{ItemCode: "exampleshop:1"}); err == nil || shop.AsError(err).Kind != shop.KindAuth || !strings.Contains(err.Error(), "SOKONE_RAKUTEN") {
		t.Errorf("%v", err)
	}
}

// The number stands in the page, in whatever order; else the shop's items are
// searched for the page's title, and the one with its address is taken.
func TestTheItemsNumberIsFound(t *testing.T) {
	t.Parallel()
	listed := strings.Replace(anItem("2480", "1", "0", "1"), "det-1380-6", "untagged", 1)
	for path, want := range map[string]string{"turned": "exampleshop:10001234", "untagged": "exampleshop:10001234", "nothing": ""} {
		server := &api{body: `{"Items":[` + listed + `]}`}
		a, base := adapter(t, server, nil)
		code, err := a.Find(context.Background(), base+"/exampleshop/"+path+"/")
		if code != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v", path, code, err)
		}
		if path == "untagged" {
			if q := server.asked.URL.Query(); q.Get("shopCode") != "exampleshop" || q.Get("keyword") != "食器用洗剤 詰替 1380ml×6個" || q.Get("availability") != "0" {
				t.Errorf("asked %s", server.asked.URL)
			}
		}
	}
}

func TestMobileAddresses(t *testing.T) {
	t.Parallel()
	a := rakuten.New(nil, rakuten.Options{ApplicationID: "x", AccessKey: "y", Now: time.Now})
	for address, want := range map[string]string{
		"https://item.rakuten.co.jp/exampleshop/det/?scid=af_pc":  "https://item.rakuten.co.jp/exampleshop/det/",
		"https://ITEM.rakuten.co.jp/exampleshop/det":              "https://item.rakuten.co.jp/exampleshop/det/",
		"https://m.rakuten.co.jp/exampleshop/n/det/":              "https://item.rakuten.co.jp/exampleshop/det/",
		"https://m.rakuten.co.jp/exampleshop/i/10001234/":         "exampleshop:10001234",
		"https://m.rakuten.co.jp/exampleshop/":                    "",
		"https://item.rakuten.co.jp/exampleshop/":                 "",
		"https://item.rakuten.co.jp.evil.example/exampleshop/det": "",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if ref, ok := a.Match(u); ref.ItemCode != want || ok != (want != "") {
			t.Errorf("%s: %+v", address, ref)
		}
	}
}
