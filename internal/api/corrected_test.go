package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

func TestTheContentIsCorrected(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.shops.set("rice", shop.Quote{Name: "Rice", Price: money.MustParse("2000", "JPY"), Availability: shop.InStock, FoundBy: "json-ld", Evidence: "price 2000",
		Quantity: shop.Quantity{Amount: "5000", Unit: "g"}})
	r.signUp()
	made := r.want(201, "POST", "/watches", `{"url":"https://shop.example/rice","triggers":[{"type":"unit_price","target":{"amount":"30","currency":"JPY"},"unit":"100 g"}]}`)
	id := made["id"].(string)
	content := func(w map[string]any) string {
		q, _ := w["quantity"].(map[string]any)
		u, _ := w["listing"].(map[string]any)["unit_price"].(map[string]any)
		return fmt.Sprint(q["amount"], q["unit"], " by ", q["by"], ": ", u["amount"])
	}
	if got := content(made); got != "5000g by shop: 40" {
		t.Error(got)
	}
	if e := made["listing"].(map[string]any)["evidence"].(map[string]any); e["found_by"] != "json-ld" || e["text"] != "price 2000" {
		t.Errorf("evidence %v", e)
	}
	if got := content(r.want(200, "PATCH", "/watches/"+id, `{"quantity":{"amount":"10000","unit":"g"}}`)); got != "10000g by you: 20" {
		t.Error(got)
	}
	for body, location := range map[string]string{
		`{"quantity":{"amount":"0","unit":"g"}}`:      "body.quantity.amount",
		`{"quantity":{"amount":"0.00","unit":"g"}}`:   "body.quantity.amount",
		`{"quantity":{"amount":"-1","unit":"g"}}`:     "body.quantity.amount",
		`{"quantity":{"amount":"1e9","unit":"g"}}`:    "body.quantity.amount",
		`{"quantity":{"amount":"5","unit":"gallon"}}`: "body.quantity.unit",
		`{"quantity":{"amount":"5"}}`:                 "body.quantity.unit",
		`{"quantity":{"amount":"5","unit":"roll"}}`:   "body.quantity", // the trigger is per 100 g
	} {
		r.fault(422, location, "PATCH", "/watches/"+id, body)
	}
	if got := content(r.want(200, "GET", "/watches/"+id, "")); got != "10000g by you: 20" {
		t.Errorf("half-written: %s", got)
	}
	if got := content(r.want(200, "PATCH", "/watches/"+id, `{"quantity":{"amount":"4","unit":"roll"},"triggers":[{"type":"unit_price","target":{"amount":"400","currency":"JPY"},"unit":"roll"}]}`)); got != "4roll by you: 500" {
		t.Error(got)
	}
	export := r.call("GET", "/export", "").raw
	if got := content(r.want(200, "PATCH", "/watches/"+id, `{"quantity":null,"triggers":[{"type":"price_drop"}]}`)); got != "5000g by shop: 40" {
		t.Error(got)
	}
	r.signUp()
	if in := r.want(200, "POST", "/import", export); in["imported"] != 1.0 {
		t.Errorf("import %v", in)
	}
	back := r.want(200, "GET", "/watches", "")["watches"].([]any)[0].(map[string]any)
	if got := content(back); got != "4roll by you: 500" {
		t.Errorf("the correction was lost on the way: %s", got)
	}
	p := r.want(200, "POST", "/quotes", `{"url":"https://shop.example/rice"}`)
	points := p["history"].([]any)
	if len(points) != 1 || points[0].(map[string]any)["evidence"] != "price 2000" || p["evidence"] != "price 2000" {
		t.Errorf("preview %v", p)
	}
	if p := r.want(200, "POST", "/quotes", `{"url":"https://shop.example/new"}`); p["history"] != nil {
		t.Errorf("nobody watches it: %v", p["history"])
	}
}

func TestAcceptWhatThePageShowsNow(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.signUp()
	id := r.watch("tea")
	if w := r.want(200, "POST", "/watches/"+id+"/accept", ""); w["listing"].(map[string]any)["problem"] != nil {
		t.Errorf("nothing to accept: %v", w)
	}
	w, err := r.store.Watch(t.Context(), userOf(t, r), id)
	if err != nil {
		t.Fatal(err)
	}
	kettle := watch.Observation{At: r.now, Price: money.MustParse("4000", "JPY"), Name: "Electric kettle", Availability: shop.InStock}
	l := w.Listing
	l.Since = r.now
	point := watch.PointOf(kettle)
	if _, err := r.store.SaveDetection(t.Context(), outbox.Detection{Listing: l.Read(kettle, watch.Schedule{}, 0), Observed: &point, Was: l.Name}); err != nil {
		t.Fatal(err)
	}
	seen := r.want(200, "GET", "/watches/"+id, "")
	flagged := seen["listing"].(map[string]any)
	if seen["replaced"] != true || seen["product"] != "Tea tin tea" {
		t.Errorf("%v", seen)
	}
	if p := flagged["problem"].(map[string]any); p["kind"] != "another_product" || !strings.Contains(p["message"].(string), "Electric kettle") {
		t.Errorf("%v", p)
	}
	accepted := r.want(200, "POST", "/watches/"+id+"/accept", "")
	if accepted["replaced"] != false || accepted["product"] != "" || accepted["listing"].(map[string]any)["problem"] != nil || accepted["reference"].(map[string]any)["amount"] != "4000" {
		t.Errorf("%v", accepted)
	}
}

func userOf(t *testing.T, r *rig) string {
	return r.want(200, "GET", "/device", "")["user_id"].(string)
}
