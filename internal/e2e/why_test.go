package e2e

import (
	"strings"
	"testing"
	"time"
)

// listing is the listing of a watch as its owner sees it.
func (d *device) listing(id string) map[string]any {
	d.w.t.Helper()
	return d.must("GET", "/watches/"+id, nil, 200)["listing"].(map[string]any)
}

func TestEveryStoredPriceSaysWhereItWasRead(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	id := d.watch("tea", dropPercent(0))
	w.shop.price("tea", 950)
	w.detect()
	evidence := d.listing(id)["evidence"].(map[string]any)
	if evidence["found_by"] != "json-ld" || !strings.Contains(evidence["text"].(string), "950") {
		t.Errorf("evidence %v", evidence)
	}
	points := d.must("GET", "/watches/"+id+"/history", nil, 200)["points"].([]any)
	for i, price := range []string{"1000", "950"} {
		p := points[i].(map[string]any)
		if p["found_by"] != "json-ld" || !strings.Contains(p["evidence"].(string), price) {
			t.Errorf("point %d: %v", i, p)
		}
	}
}

func TestAShopThatIsLeftAloneIsSeenOnTheWatch(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	id := d.watch("tea", dropPercent(0))
	if l := d.listing(id); l["resting_until"] != nil || l["problem"] != nil || l["next_check_at"] == nil {
		t.Errorf("at first %v", l)
	}
	w.shop.set("tea", page{Status: 503, Header: map[string]string{"Retry-After": "3600"}, Raw: "maintenance"})
	w.detect()
	l := d.listing(id)
	until, err := time.Parse(time.RFC3339, l["resting_until"].(string))
	if err != nil || time.Until(until) < 50*time.Minute || l["problem"].(map[string]any)["kind"] != "server" {
		t.Errorf("resting until %v (%v), problem %v", l["resting_until"], err, l["problem"])
	}
	if next, err := time.Parse(time.RFC3339, l["next_check_at"].(string)); err != nil || next.Before(until) {
		t.Errorf("it is looked at again at %v, before it asked to be", l["next_check_at"])
	}
	if l["price"].(map[string]any)["amount"] != "1000" {
		t.Errorf("the last good price is gone: %v", l["price"])
	}
}

func TestAPageThatNamesAnotherProductIsFlaggedAndNotCompared(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	id := d.watch("tea", targetYen(900), dropPercent(0))
	w.shop.set("tea", page{Name: "Electric kettle 1.2 l", Price: "850"})
	for range 3 {
		w.detect()
		w.dispatch()
	}
	problem := d.listing(id)["problem"].(map[string]any)
	if problem["kind"] != "another_product" || !strings.Contains(problem["message"].(string), "Electric kettle") || len(d.shown()) != 0 {
		t.Errorf("problem %v, shown %v", problem, d.shown())
	}
	if got := d.must("POST", "/watches/"+id+"/accept", nil, 200); got["reference"].(map[string]any)["amount"] != "850" {
		t.Errorf("accepted %v", got)
	}
	w.shop.set("tea", page{Name: "Electric kettle 1.2 l", Price: "800"})
	w.detect()
	w.dispatch()
	equal(t, "told of what was accepted", d.prices(), "800 JPY")
	w.check()
}

// A shop that takes the price away with the stock says "sold out", and not that
// it cannot be read: whoever waits for the stock is told when it is back.
func TestAProductThatIsSoldOutAndShowsNoPrice(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	id := d.watch("tea", map[string]any{"type": "back_in_stock"})
	w.shop.set("tea", page{Raw: `<!doctype html><html lang="en"><title>Tea tin tea</title><script type="application/ld+json">
		{"@context":"https://schema.org","@type":"Product","name":"Tea tin tea","offers":{"@type":"Offer","availability":"https://schema.org/OutOfStock"}}</script>
		<h1>Tea tin tea</h1><p>Sold out</p>`})
	w.detect()
	l := d.listing(id)
	if l["availability"] != "out_of_stock" || l["problem"] != nil || l["price"].(map[string]any)["amount"] != "1000" {
		t.Errorf("%v", l)
	}
	w.shop.price("tea", 1000)
	w.detect()
	w.dispatch()
	equal(t, "back in stock", d.prices(), "1000 JPY")
}

// What is sold out without a price can be watched all the same: it is told when it
// is back, and its first price is what drops are measured from.
func TestAWatchOnWhatIsSoldOutAndShowsNoPrice(t *testing.T) {
	w := newWorld(t)
	w.shop.set("tea", page{Raw: `<!doctype html><html lang="en"><title>Tea tin tea</title><script type="application/ld+json">
		{"@context":"https://schema.org","@type":"Product","name":"Tea tin tea","offers":{"@type":"Offer","availability":"https://schema.org/OutOfStock"}}</script>
		<h1>Tea tin tea</h1><p>Sold out</p>`})
	d := w.subscribed()
	quote := d.must("POST", "/quotes", map[string]any{"url": w.shop.url("tea")}, 200)
	if quote["price"] != nil || quote["availability"] != "out_of_stock" || quote["name"] != "Tea tin tea" {
		t.Errorf("%v", quote)
	}
	d.must("POST", "/watches", map[string]any{"url": w.shop.url("tea"), "triggers": []any{targetYen(900)}}, 422)
	id := d.watch("tea", map[string]any{"type": "back_in_stock"}, dropPercent(10))
	w.detect()
	if made := d.must("GET", "/watches/"+id, nil, 200); made["reference"] != nil || made["listing"].(map[string]any)["price"] != nil || made["listing"].(map[string]any)["problem"] != nil {
		t.Errorf("%v", made)
	}
	d.must("POST", "/import", d.must("GET", "/export", nil, 200), 200)
	w.shop.price("tea", 1000)
	w.detect()
	w.dispatch()
	equal(t, "back in stock", d.prices(), "1000 JPY")
	if seen := d.must("GET", "/watches/"+id, nil, 200); seen["reference"].(map[string]any)["amount"] != "1000" {
		t.Errorf("%v", seen)
	}
	d.must("PATCH", "/watches/"+id, map[string]any{"triggers": []any{dropPercent(10), targetYen(700)}}, 200)
	w.shop.price("tea", 880)
	w.detect()
	w.dispatch()
	equal(t, "a drop from the first price", d.prices(), "1000 JPY", "880 JPY")
	w.check()
}

// A product that takes another's place at the same price has a history of its own.
func TestTheHistoryOfAReplacedProductBeginsAnew(t *testing.T) {
	w := newWorld(t)
	w.shop.set("tea", page{Name: "Tea tin", Price: "1200"})
	d := w.subscribed()
	id := d.watch("tea", map[string]any{"type": "lowest_in_days", "days": 90})
	w.detect()
	w.shop.set("tea", page{Name: "Electric kettle 1.2 l", Price: "1200"})
	w.detect()
	w.detect()
	d.must("POST", "/watches/"+id+"/accept", nil, 200)
	if h := d.must("GET", "/watches/"+id+"/history", nil, 200); len(h["points"].([]any)) != 1 {
		t.Errorf("%v", h)
	}
	w.shop.set("tea", page{Name: "Electric kettle 1.2 l", Price: "900"})
	w.detect()
	w.dispatch()
	equal(t, "its lowest", d.prices(), "900 JPY")
	w.check()
}

// However people came by an address, they share one listing and one poll.
func TestManyFormsOfOneAddressShareOnePoll(t *testing.T) {
	w := newWorld(t)
	tea := `<!doctype html><html lang="en"><title>Tea tin</title><link rel="canonical" href="/p/tea">
		<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Tea tin","offers":{"@type":"Offer","price":"1000","priceCurrency":"JPY"}}</script><h1>Tea tin</h1>`
	w.shop.set("tea", page{Raw: tea})
	w.shop.set("tea-tin-100g", page{Raw: tea}) // another address of it
	w.shop.set("short", page{Status: 302, Header: map[string]string{"Location": "/p/tea?utm_source=short"}, Raw: "moved"})
	listings := map[string]bool{}
	for _, form := range []string{
		w.shop.url("tea"), w.shop.url("tea") + "?utm_source=mail&gclid=7#top", "Tea tin 100 g\n" + w.shop.url("tea"),
		w.shop.url("tea-tin-100g"), w.shop.url("short"), w.shop.server.URL + "/p/%74ea?fbclid=1",
	} {
		made := w.subscribed().must("POST", "/watches", map[string]any{"url": form, "triggers": []any{dropPercent(0)}}, 201)
		listings[made["listing"].(map[string]any)["id"].(string)] = true
	}
	if len(listings) != 1 {
		t.Errorf("%d listings", len(listings))
	}
	before := w.shop.requests("tea")
	if counts := w.detect(); counts["due"] != 1.0 {
		t.Errorf("%v", counts)
	}
	if asked := w.shop.requests("tea") - before; asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
