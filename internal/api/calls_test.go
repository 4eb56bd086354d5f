package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
)

func TestDevices(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, body := range []string{"", "{}", `{"timezone":"Asia/Tokyo","locale":"ja"}`} {
		made := r.want(201, "POST", "/devices", body)
		if len(made["device_token"].(string)) < 43 || made["user_id"] == "" {
			t.Errorf("%s: %v", body, made)
		}
	}
	r.fault(422, "body.timezone", "POST", "/devices", `{"timezone":"Mars/Olympus"}`)
	r.fault(422, "body.timezone", "POST", "/devices", `{"timezone":"Local"}`)
	r.fault(422, "body.locale", "POST", "/devices", `{"locale":"not a language"}`)
	r.fault(422, "body.link_code", "POST", "/devices", `{"link_code":"ABC"}`)
	r.fault(422, "body.name", "POST", "/devices", `{"name":"x"}`)

	r.signUp()
	r.want(200, "PATCH", "/device", `{"timezone":"Asia/Tokyo","quiet_hours":{"from":"22:00","to":"07:00"}}`)
	p := r.want(200, "GET", "/device", "")
	if p["timezone"] != "Asia/Tokyo" || p["locale"] != "en" || p["quiet_hours"].(map[string]any)["from"] != "22:00" || p["subscribed"] != false {
		t.Errorf("profile %v", p)
	}
	r.want(200, "PATCH", "/device", `{"locale":"ja"}`)
	if p := r.want(200, "GET", "/device", ""); p["quiet_hours"] == nil || p["locale"] != "ja" {
		t.Errorf("what was not spoken of changed: %v", p)
	}
	if p := r.want(200, "PATCH", "/device", `{"quiet_hours":null}`); p["quiet_hours"] != nil {
		t.Errorf("profile %v", p)
	}
	r.fault(422, "body.quiet_hours.from", "PATCH", "/device", `{"quiet_hours":{"from":"24:00","to":"07:00"}}`)
	r.fault(422, "body.quiet_hours.to", "PATCH", "/device", `{"quiet_hours":{"from":"07:00","to":"07:00"}}`)

	first := r.token
	code := r.want(201, "POST", "/device/link", "")["code"].(string)
	r.token = ""
	second := r.want(201, "POST", "/devices", `{"link_code":"`+strings.ToLower(code[:8])+" "+code[8:]+`"}`)["device_token"].(string)
	r.fault(422, "body.link_code", "POST", "/devices", `{"link_code":"`+code+`"}`)
	r.token = first
	late := r.want(201, "POST", "/device/link", "")["code"].(string)
	r.now = r.now.Add(11 * time.Minute)
	r.fault(422, "body.link_code", "POST", "/devices", `{"link_code":"`+late+`"}`)
	id := r.watch("tea")
	r.want(204, "DELETE", "/device", "")
	if a := r.call("GET", "/device", ""); a.status != 401 {
		t.Errorf("a device that was forgotten: %d", a.status)
	}
	r.token = second
	r.want(200, "GET", "/watches/"+id, "")
	r.want(204, "DELETE", "/device", "")
	if a := r.call("GET", "/watches", ""); a.status != 401 {
		t.Errorf("the last device was forgotten: %d", a.status)
	}
}

func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	private := [][2]string{{"GET", "/device"}, {"PATCH", "/device"}, {"DELETE", "/device"}, {"POST", "/device/link"}, {"PUT", "/push/subscription"}, {"DELETE", "/push/subscription"},
		{"POST", "/push/test"}, {"POST", "/quotes"}, {"POST", "/watches"}, {"GET", "/watches"}, {"GET", "/watches/x"}, {"PATCH", "/watches/x"}, {"DELETE", "/watches/x"}, {"POST", "/watches/x/restore"},
		{"POST", "/watches/x/accept"}, {"GET", "/watches/x/history"}, {"GET", "/alerts"}, {"GET", "/alerts/x"}, {"GET", "/export"}, {"POST", "/import"}}
	for _, c := range private {
		for _, token := range []string{"", "wrong", strings.Repeat("x", 10_000)} {
			a := r.do(c[0], base+c[1], token, "application/json", "{}")
			if a.status != 401 || a.header.Get("WWW-Authenticate") != "Bearer" || a.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %s with token %.8q: %d %s", c[0], c[1], token, a.status, a.raw)
			}
		}
	}
	r.signUp()
	id := r.watch("tea")
	r.signUp() // somebody else
	for _, c := range [][3]string{{"GET", "/watches/" + id, ""}, {"PATCH", "/watches/" + id, `{"paused":true}`}, {"DELETE", "/watches/" + id, ""}, {"GET", "/watches/" + id + "/history", ""},
		{"POST", "/watches/" + id + "/restore", ""}, {"POST", "/watches/" + id + "/accept", ""}, {"GET", "/alerts/nothing", ""}} {
		if a := r.call(c[0], c[1], c[2]); a.status != 404 {
			t.Errorf("%s %s of somebody else: %d %s", c[0], c[1], a.status, a.raw)
		}
	}
}

func TestWatches(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.signUp()
	if got := r.want(200, "GET", "/watches", "")["watches"].([]any); len(got) != 0 {
		t.Errorf("at first: %v", got)
	}
	made := r.want(201, "POST", "/watches", `{"url":"https://shop.example/tea","triggers":[{"type":"target_price","target":{"amount":"900","currency":"JPY"}},{"type":"lowest_in_days"},{"type":"back_in_stock"}],"note":"weekly"}`)
	listing, triggers := made["listing"].(map[string]any), made["triggers"].([]any)
	if made["basis"] != "price" || made["note"] != "weekly" || made["paused"] != false || made["last_notified"] != nil || made["reference"].(map[string]any)["amount"] != "1000" ||
		listing["adapter"] != "page" || listing["name"] != "Tea tin tea" || listing["price"].(map[string]any)["currency"] != "JPY" || listing["availability"] != "in_stock" || listing["problem"] != nil || listing["unit_price"] != nil ||
		len(triggers) != 3 || triggers[1].(map[string]any)["days"] != 90.0 || triggers[0].(map[string]any)["target"].(map[string]any)["amount"] != "900" {
		t.Errorf("made %v", made)
	}
	id := made["id"].(string)
	if a := r.call("POST", "/watches", `{"url":"https://shop.example/tea","triggers":[{"type":"price_drop"}]}`); a.status != 409 || a.body["watch_id"] != id {
		t.Errorf("twice: %d %s", a.status, a.raw)
	}
	changed := r.want(200, "PATCH", "/watches/"+id, `{"paused":true,"note":"","triggers":[{"type":"price_drop","percent":12.5}]}`)
	if changed["paused"] != true || changed["note"] != "" || len(changed["triggers"].([]any)) != 1 || changed["triggers"].([]any)[0].(map[string]any)["percent"] != 12.5 {
		t.Errorf("changed %v", changed)
	}
	r.fault(422, "body.triggers[0].target", "PATCH", "/watches/"+id, `{"note":"half-written","triggers":[{"type":"target_price"}]}`)
	if w := r.want(200, "GET", "/watches/"+id, ""); w["note"] != "" || w["paused"] != true {
		t.Errorf("half-written: %v", w)
	}
	r.fault(422, "body.basis", "PATCH", "/watches/"+id, `{"basis":"total"}`)
	h := r.want(200, "GET", "/watches/"+id+"/history?days=30", "")
	if len(h["points"].([]any)) != 1 || len(h["alerts"].([]any)) != 0 {
		t.Errorf("history %v", h)
	}
	r.fault(422, "query.days", "GET", "/watches/"+id+"/history?days=1000", "")
	r.want(204, "DELETE", "/watches/"+id, "")
	if a := r.call("DELETE", "/watches/"+id, ""); a.status != 404 {
		t.Errorf("removed twice: %d", a.status)
	}
	if w := r.want(200, "POST", "/watches/"+id+"/restore", ""); w["id"] != id {
		t.Errorf("restored %v", w)
	}
	r.watch("rice")
	r.watch("water")
	if a := r.call("POST", "/watches", `{"url":"https://shop.example/more","triggers":[{"type":"price_drop"}]}`); a.status != 422 || !strings.Contains(a.raw, "3 watches") {
		t.Errorf("one too many: %d %s", a.status, a.raw)
	}
}

func TestWhatATriggerTakes(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.shops.set("rice", shop.Quote{Name: "Rice", Price: money.MustParse("2000", "JPY"), Availability: shop.InStock, Quantity: shop.Quantity{Amount: "5000", Unit: "g"}})
	r.signUp()
	yen := func(n string) string { return `{"amount":"` + n + `","currency":"JPY"}` }
	for triggers, location := range map[string]string{
		``:                                     "body.triggers",
		`{"type":"nonsense"}`:                  "body.triggers[0].type",
		`{"type":"unreadable"}`:                "body.triggers[0].type",
		`{}`:                                   "body.triggers[0].type",
		`{"type":"target_price"}`:              "body.triggers[0].target",
		`{"type":"target_price","target":900}`: "body.triggers[0].target",
		`{"type":"target_price","target":` + yen("0") + `}`:                "body.triggers[0].target.amount",
		`{"type":"target_price","target":` + yen("-5") + `}`:               "body.triggers[0].target.amount",
		`{"type":"target_price","target":` + yen("1e3") + `}`:              "body.triggers[0].target.amount",
		`{"type":"target_price","target":{"amount":"9","currency":"USD"}}`: "body.triggers[0].target.currency",
		`{"type":"target_price","target":{"amount":"9","currency":"yen"}}`: "body.triggers[0].target.currency",
		`{"type":"target_price","target":` + yen("900") + `,"percent":10}`: "body.triggers[0].percent",
		`{"type":"price_drop","percent":100}`:                              "body.triggers[0].percent",
		`{"type":"price_drop","percent":-1}`:                               "body.triggers[0].percent",
		`{"type":"price_drop","percent":"10"}`:                             "body.triggers[0].percent",
		`{"type":"price_drop"},{"type":"price_drop","percent":5}`:          "body.triggers[1].type",
		`{"type":"lowest_in_days","days":0}`:                               "body.triggers[0].days",
		`{"type":"lowest_in_days","days":366}`:                             "body.triggers[0].days",
		`{"type":"unit_price","target":` + yen("30") + `}`:                 "body.triggers[0].unit",
		`{"type":"unit_price","target":` + yen("30") + `,"unit":"gallon"}`: "body.triggers[0].unit",
		`{"type":"unit_price","target":` + yen("30") + `,"unit":"roll"}`:   "body.triggers[0].unit",
		`{"type":"back_in_stock","days":3}`:                                "body.triggers[0].days",
		`{"type":"back_in_stock","colour":"red"}`:                          "body.triggers[0].colour",
	} {
		r.fault(422, location, "POST", "/watches", `{"url":"https://shop.example/rice","triggers":[`+triggers+`]}`)
	}
	made := r.want(201, "POST", "/watches", `{"url":"https://shop.example/rice","triggers":[{"type":"unit_price","target":`+yen("39.5")+`,"unit":"100g"}]}`)
	trigger := made["triggers"].([]any)[0].(map[string]any)
	if trigger["unit"] != "100 g" || trigger["target"].(map[string]any)["amount"] != "39.5" {
		t.Errorf("%v", trigger)
	}
	if u := made["listing"].(map[string]any)["unit_price"].(map[string]any); u["amount"] != "40" || u["per"] != "100 g" || u["currency"] != "JPY" {
		t.Errorf("unit price %v", u)
	}
}

func TestQuotes(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.shops.set("box", shop.Quote{Name: "Box", Price: money.MustParse("19.999999", "USD"), Shipping: money.MustParse("5", "USD"), Points: money.MustParse("1", "USD"), Availability: shop.Preorder, FoundBy: "opengraph"})
	r.signUp()
	q := r.want(200, "POST", "/quotes", `{"url":"https://shop.example/box"}`)
	if q["price"].(map[string]any)["amount"] != "19.999999" || q["total"].(map[string]any)["amount"] != "25.00" || q["effective"].(map[string]any)["amount"] != "24.00" || q["availability"] != "preorder" || q["found_by"] != "opengraph" || q["observed_at"] == nil {
		t.Errorf("%v", q)
	}
	if q := r.want(200, "POST", "/quotes", `{"url":"https://shop.example/tea"}`); q["total"] != nil || q["unit_price"] != nil {
		t.Errorf("%v", q)
	}
	for kind, status := range map[shop.Kind]int{shop.KindEmpty: 422, shop.KindParse: 422, shop.KindRefused: 422, shop.KindBlocked: 502, shop.KindRateLimited: 502, shop.KindNetwork: 502, shop.KindServer: 502, shop.KindAuth: 502} {
		r.shops.failed["bad"] = &shop.Error{Kind: kind, Message: "Because.", RetryAfter: 90 * time.Second, Cause: errors.New("secret")}
		a := r.call("POST", "/quotes", `{"url":"https://shop.example/bad"}`)
		if a.status != status || a.body["kind"] != string(kind) || a.body["detail"] != "Because." || strings.Contains(a.raw, "secret") || !strings.Contains(a.raw, "body.url") {
			t.Errorf("%s: %d %s", kind, a.status, a.raw)
		}
		if status == 502 && a.header.Get("Retry-After") != "90" {
			t.Errorf("%s: Retry-After %q", kind, a.header.Get("Retry-After"))
		}
	}
	r.fault(422, "body.url", "POST", "/quotes", `{"url":"https://elsewhere.example/x"}`)
	r.fault(422, "body.url", "POST", "/quotes", `{"url":""}`)
	r.fault(422, "body.url", "POST", "/quotes", `{}`)
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.signUp()
	if k := r.want(200, "GET", "/push/key", "")["public_key"]; k != r.key {
		t.Errorf("key %v", k)
	}
	sub, err := r.push.Subscribe(r.key)
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"endpoint":%q,"expirationTime":null,"keys":{"p256dh":%q,"auth":%q},"of_tomorrow":1}`, sub.Endpoint, sub.Keys.P256dh, sub.Keys.Auth)
	if a := r.call("POST", "/push/test", ""); a.status != 409 {
		t.Errorf("a test without a subscription: %d %s", a.status, a.raw)
	}
	var both sync.WaitGroup
	for range 4 {
		both.Go(func() {
			if a, err := r.try("PUT", base+"/push/subscription", r.token, "application/json", body); err != nil || a.status != 204 {
				t.Errorf("at once: %d %s %v", a.status, a.raw, err)
			}
		})
	}
	both.Wait()
	if p := r.want(200, "GET", "/device", ""); p["subscribed"] != true {
		t.Errorf("profile %v", p)
	}
	tested := r.want(200, "POST", "/push/test", "")
	if tested["outcome"] != "accepted" || tested["status"] != 201.0 || len(r.push.Shown()) != 1 {
		t.Errorf("test %v, shown %v", tested, r.push.Shown())
	}
	owner := r.token
	r.signUp()
	r.fault(409, "body.endpoint", "PUT", "/push/subscription", body)
	r.fault(409, "body.applicationServerKey", "PUT", "/push/subscription", strings.Replace(body, `"of_tomorrow":1`, `"applicationServerKey":"another"`, 1))
	for change, location := range map[string]string{
		`{"endpoint":"http://10.0.0.1/x","keys":{"p256dh":"a","auth":"b"}}`:                                                               "body.endpoint",
		fmt.Sprintf(`{"endpoint":%q,"keys":{"p256dh":"AAAA","auth":%q}}`, sub.Endpoint, sub.Keys.Auth):                                    "body.keys.p256dh",
		fmt.Sprintf(`{"endpoint":%q,"keys":{"p256dh":%q,"auth":"AAAA"}}`, sub.Endpoint, sub.Keys.P256dh):                                  "body.keys.auth",
		fmt.Sprintf(`{"endpoint":%q,"expirationTime":1000,"keys":{"p256dh":%q,"auth":%q}}`, sub.Endpoint, sub.Keys.P256dh, sub.Keys.Auth): "body.expirationTime",
		fmt.Sprintf(`{"endpoint":%q}`, sub.Endpoint):                                                                                      "body.keys",
		`{}`: "body.endpoint",
	} {
		r.fault(422, location, "PUT", "/push/subscription", change)
	}
	if a := r.call("PUT", "/push/subscription", `{"endpoint":"`+strings.Repeat("x", 9<<10)+`"}`); a.status != 413 {
		t.Errorf("nine kilobytes: %d", a.status)
	}
	r.want(204, "DELETE", "/push/subscription", "")
	r.token = owner
	r.push.Unsubscribe(sub.Endpoint)
	if tested := r.want(200, "POST", "/push/test", ""); tested["outcome"] != "gone" {
		t.Errorf("test %v", tested)
	}
	if p := r.want(200, "GET", "/device", ""); p["subscribed"] != false {
		t.Errorf("profile %v", p)
	}
}

func TestExportAndImport(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.shops.set("evil", shop.Quote{Name: `=HYPERLINK("http://evil")`, Price: money.MustParse("12.50", "EUR"), Availability: shop.InStock})
	r.signUp()
	r.watch("tea")
	r.watch("evil")
	csv := r.call("GET", "/export?format=csv", "")
	if csv.status != 200 || !strings.HasPrefix(csv.header.Get("Content-Type"), "text/csv") || !strings.Contains(csv.raw, `"'=HYPERLINK`) {
		t.Errorf("%d %s", csv.status, csv.raw)
	}
	export := r.call("GET", "/export", "")
	if export.status != 200 || len(export.body["watches"].([]any)) != 2 || !strings.Contains(export.raw, "history") {
		t.Fatalf("%d %s", export.status, export.raw)
	}
	r.signUp()
	if got := r.want(200, "POST", "/import", export.raw); got["imported"] != 2.0 || got["skipped"] != 0.0 {
		t.Errorf("imported %v", got)
	}
	if got := r.want(200, "POST", "/import", export.raw); got["imported"] != 0.0 || got["skipped"] != 2.0 {
		t.Errorf("imported again %v", got)
	}
	again := r.want(200, "GET", "/watches", "")["watches"].([]any)
	if len(again) != 2 || again[0].(map[string]any)["triggers"].([]any)[0].(map[string]any)["percent"] != 10.0 {
		t.Errorf("%v", again)
	}
	r.signUp()
	r.fault(422, "body.watches[1].url", "POST", "/import", `{"format":1,"watches":[{"url":"https://shop.example/a","triggers":[{"type":"price_drop"}],"reference":{"amount":"1","currency":"JPY"}},{"url":"x","triggers":[{"type":"price_drop"}],"reference":{"amount":"1","currency":"JPY"}}]}`)
	r.fault(422, "body.watches[0].triggers[0].target", "POST", "/import", `{"format":1,"watches":[{"url":"https://shop.example/a","triggers":[{"type":"target_price"}],"reference":{"amount":"1","currency":"JPY"}}]}`)
	r.fault(422, "body.watches[0].reference", "POST", "/import", `{"format":1,"watches":[{"url":"https://shop.example/a","triggers":[{"type":"price_drop"}],"reference":{"amount":"0","currency":"JPY"}}]}`)
	r.fault(422, "body.watches[0].triggers[0].target.amount", "POST", "/import", `{"format":1,"watches":[{"url":"https://shop.example/a","triggers":[{"type":"target_price","target":{"amount":"0","currency":"JPY"}}],"reference":null}]}`)
	r.fault(422, "body.format", "POST", "/import", `{"format":2,"watches":[]}`)
	if got := r.want(200, "GET", "/watches", "")["watches"].([]any); len(got) != 0 {
		t.Errorf("an import that failed left %v", got)
	}
	for _, unseen := range []string{`{"type":"back_in_stock"}`, `{"type":"target_price","target":{"amount":"5","currency":"JPY"}}`} {
		if got := r.want(200, "POST", "/import", fmt.Sprintf(`{"format":1,"watches":[{"url":"https://shop.example/%d","triggers":[%s],"reference":null}]}`, len(unseen), unseen)); got["imported"] != 1.0 {
			t.Errorf("%s: %v", unseen, got)
		}
	}
}

func TestTheEdge(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.AdminToken, o.Metrics = "operator", http.NotFoundHandler() })
	r.signUp()
	problem := func(name string, status int, a answer) {
		t.Helper()
		if a.status != status || a.header.Get("Content-Type") != "application/problem+json" || a.body["status"] != float64(status) || a.body["title"] == "" || a.body["type"] != "about:blank" {
			t.Errorf("%s: %d %s %s", name, a.status, a.header.Get("Content-Type"), a.raw)
		}
	}
	json := "application/json"
	problem("nothing there", 404, r.call("GET", "/nothing", ""))
	problem("not this method", 405, r.call("PUT", "/watches", "{}"))
	problem("no JSON", 415, r.do("POST", base+"/watches", r.token, "text/plain", "x"))
	problem("half a body", 400, r.do("POST", base+"/watches", r.token, json, `{"url":`))
	problem("too much", 413, r.do("POST", base+"/watches", r.token, json, `{"url":"`+strings.Repeat("x", 70<<10)+`"}`))
	problem("too deep", 400, r.do("POST", base+"/watches", r.token, json, strings.Repeat("[", 20_000)))
	problem("a list", 422, r.do("POST", base+"/watches", r.token, json, `[]`))
	problem("no body", 400, r.do("POST", base+"/watches", r.token, json, ``))
	problem("wrong cursor", 422, r.call("GET", "/alerts?cursor=abc", ""))
	problem("metrics without the token", 401, r.do("GET", "/metrics", "", "", ""))
	problem("metrics with the device's token", 401, r.do("GET", "/metrics", r.token, "", ""))
	if a := r.do("GET", "/watches/some-id", "", "", ""); a.status != 200 || a.raw != "the app" {
		t.Errorf("a page of the app: %d %s", a.status, a.raw)
	}
	a := r.do("GET", "/", "", "", "")
	for _, h := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Permissions-Policy"} {
		if a.header.Get(h) == "" {
			t.Errorf("no %s", h)
		}
	}
	if csp := a.header.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("policy %s", csp)
	}
	if a := r.call("GET", "/watches", ""); a.header.Get("Cache-Control") != "no-store" {
		t.Error("an answer of the API may be cached")
	}
	if strings.Contains(r.log.String(), r.token) {
		t.Error("a token is in the log")
	}
	sick := newRig(t, func(o *Options) { o.Health = healthy{errors.New("disk full")} })
	if a := sick.do("GET", "/readyz", "", "", ""); a.status != 503 || strings.Contains(a.raw, "disk full") || !strings.Contains(a.raw, "database") {
		t.Errorf("not ready: %d %s", a.status, a.raw)
	}
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.RateLimit = Rate{5, time.Minute} })
	var last answer
	for range 6 {
		last = r.do("GET", base+"/push/key", "", "", "")
	}
	if last.status != 429 || last.header.Get("Retry-After") == "" || last.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %v %s", last.status, last.header, last.raw)
	}
	if a := r.do("GET", "/healthz", "", "", ""); a.status != 200 {
		t.Errorf("health is limited: %d", a.status)
	}
}

func TestTheDocumentNamesEveryCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	a := r.do("GET", "/api/openapi.json", "", "", "")
	if a.status != 200 || !strings.HasPrefix(a.body["openapi"].(string), "3.1") {
		t.Fatalf("%d %.200s", a.status, a.raw)
	}
	paths := a.body["paths"].(map[string]any)
	for path, methods := range map[string]string{
		"/devices": "post", "/device": "get patch delete", "/device/link": "post", "/push/key": "get", "/push/subscription": "put delete", "/push/test": "post", "/quotes": "post",
		"/watches": "post get", "/watches/{id}": "get patch delete", "/watches/{id}/restore": "post", "/watches/{id}/history": "get", "/alerts": "get", "/alerts/{event_id}": "get", "/export": "get", "/import": "post",
	} {
		item, ok := paths[base+path].(map[string]any)
		for _, m := range strings.Fields(methods) {
			if !ok || item[m] == nil {
				t.Errorf("%s %s is not in the document", m, path)
			}
		}
	}
}

// No body, whatever it is, makes the server fail.
func FuzzBodies(f *testing.F) {
	r := newRig(f, nil)
	made, err := r.try("POST", base+"/devices", "", "application/json", "{}")
	if err != nil {
		f.Fatal(err)
	}
	token := made.body["device_token"].(string)
	calls := [][2]string{{"POST", "/devices"}, {"PATCH", "/device"}, {"PUT", "/push/subscription"}, {"POST", "/quotes"}, {"POST", "/watches"}, {"PATCH", "/watches/x"}, {"POST", "/import"}}
	for i := range calls {
		for _, seed := range []string{``, `{}`, `[]`, `null`, `{"url":"https://shop.example/tea","triggers":[{"type":"price_drop","percent":10}]}`, `{"url":"https://shop.example/\u0000"}`, `{"a":1e999}`,
			`{"quiet_hours":{"from":"22:00","to":"07:00"}}`, `{"quiet_hours":[]}`, `{"triggers":[{"type":"unit_price","target":{"amount":"1","currency":"JPY"},"unit":"kg"}]}`,
			`{"format":1,"watches":[{"url":"https://shop.example/a","triggers":[{"type":"lowest_in_days"}],"reference":{"amount":"1","currency":"JPY"}}]}`,
			`{"endpoint":"https://fcm.googleapis.com/x","keys":{"p256dh":"BP","auth":"AA"}}`, `{"timezone":"../../etc/passwd"}`, `{"locale":"x-x-x"}`} {
			f.Add(i, seed)
		}
	}
	f.Fuzz(func(t *testing.T, i int, body string) {
		c := calls[((i%len(calls))+len(calls))%len(calls)]
		a, err := r.try(c[0], base+c[1], token, "application/json", body)
		if err != nil {
			return // not a request that HTTP can carry
		}
		if a.status >= 500 && a.status != 502 {
			t.Errorf("%s %s %q: %d %s", c[0], c[1], body, a.status, a.raw)
		}
	})
}
