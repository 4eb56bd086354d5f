package e2e

import (
	"strings"
	"testing"

	"github.com/sokone/sokone/internal/push/pushtest"
)

// The classes of stale and false alerts that users of price watchers report.

func TestAPriceReadWrongOnceIsNotTold(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tv", 24900)
	d := w.subscribed()
	id := d.watch("tv", dropPercent(0), targetYen(20000))
	w.shop.price("tv", 1500) // read wrong, far below
	w.detect()
	w.dispatch()
	equal(t, "states", d.states())
	listing := d.must("GET", "/watches/"+id, nil, 200)["listing"].(map[string]any)
	if listing["price"].(map[string]any)["amount"] != "24900" || listing["problem"].(map[string]any)["kind"] != "too_good_to_be_true" {
		t.Errorf("listing %v", listing)
	}
	w.shop.price("tv", 24900)
	w.detect()
	w.dispatch()
	equal(t, "after it was read right again", d.states())
	// A true one is told after a second look.
	w.shop.price("tv", 1500)
	w.detect()
	w.detect()
	w.dispatch()
	equal(t, "pushes", d.prices(), "1500 JPY")
}

func TestAPriceReadWrongAtDispatchIsNotTold(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tv", 24900)
	d := w.subscribed()
	d.watch("tv", dropPercent(0))
	w.shop.price("tv", 22000)
	w.detect()
	w.shop.price("tv", 15)
	w.dispatch()
	equal(t, "states", d.states(), "retry refetch_parse")
	w.shop.price("tv", 22000)
	w.hurry()
	w.dispatch()
	equal(t, "pushes", d.prices(), "22000 JPY")
}

func TestZeroAndNonsenseAreNoObservation(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	id := d.watch("tea", targetYen(900), dropPercent(0))
	for _, price := range []string{"0", "-5", "", "free", "0.00", "1,2,3"} {
		w.shop.set("tea", page{Price: price, Name: "Tea tin tea"})
		w.detect()
		w.dispatch()
	}
	equal(t, "states", d.states())
	watch := d.must("GET", "/watches/"+id, nil, 200)
	listing := watch["listing"].(map[string]any)
	if listing["price"].(map[string]any)["amount"] != "1000" || listing["problem"].(map[string]any)["kind"] != "parse" {
		t.Errorf("listing %v", listing)
	}
	// A failure re-arms nothing and changes no reference.
	w.shop.price("tea", 1000)
	w.detect()
	w.dispatch()
	equal(t, "states", d.states())
	if watch["reference"].(map[string]any)["amount"] != "1000" {
		t.Errorf("reference %v", watch["reference"])
	}
}

func TestFailuresDoNotRearm(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 880)
	d := w.subscribed()
	d.watch("tea", targetYen(900))
	w.detect()
	w.dispatch()
	equal(t, "already under the target: told at the first check", d.prices(), "880 JPY")
	w.nextDay()
	w.shop.set("tea", page{Raw: "<html><body></body></html>"})
	w.detect()
	w.shop.set("tea", page{Status: 404, Raw: "<h1>just a moment</h1><p>checking your browser, captcha</p>"})
	w.detect()
	w.shop.price("tea", 880)
	w.detect()
	w.dispatch()
	equal(t, "pushes", d.prices(), "880 JPY")
}

func TestAnEmptyPageIsNoChange(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", backInStock, dropPercent(0))
	for _, p := range []page{{Raw: " "}, {Raw: "<!doctype html><html><head><title>Shop</title></head><body><div id=app></div></body></html>"}, {Status: 403, Raw: "<h1>not in stock</h1>"}} {
		w.shop.set("tea", p)
		w.detect()
		w.shop.price("tea", 1000)
		w.detect()
		w.dispatch()
	}
	equal(t, "states", d.states())
}

func TestEveryTriggerIsDecidedOnItsOwn(t *testing.T) {
	w := newWorld(t)
	w.shop.set("tea", page{Price: "1000", Stock: "OutOfStock"})
	d := w.subscribed()
	d.watch("tea", backInStock, dropPercent(10), targetYen(500))
	w.detect()
	w.shop.set("tea", page{Price: "999", Stock: "OutOfStock"})
	w.detect()
	w.dispatch()
	equal(t, "a yen less, sold out", d.states())
	w.shop.set("tea", page{Price: "999", Stock: "InStock"})
	w.detect()
	w.dispatch()
	a := d.alerts()
	if len(a) != 1 || a[0]["trigger"] != "back_in_stock" || a[0]["state"] != "sent" {
		t.Fatalf("back in stock at an unchanged price: %v", a)
	}
	w.shop.set("tea", page{Price: "998", Stock: "InStock"})
	w.detect()
	w.dispatch()
	equal(t, "a yen less is no ten percent", d.prices(), "999 JPY")
}

func TestTwoTriggersOfOneWatchAreOneNotification(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", targetYen(900), dropPercent(0))
	w.shop.price("tea", 850)
	w.detect()
	w.dispatch()
	equal(t, "pushes", d.prices(), "850 JPY")
	equal(t, "states", d.states(), "dropped already_told", "sent")
	if body := d.shown()[0].Body; !strings.Contains(body, "¥900") || !strings.Contains(body, "¥1,000") {
		t.Errorf("the one message tells both: %q", body)
	}
}

func TestAChangedCurrencyNeverFires(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", targetYen(900), dropPercent(0))
	w.shop.set("tea", page{Price: "7.90", Currency: "USD"})
	for range 4 {
		w.detect()
		w.dispatch()
	}
	equal(t, "states", d.states())
	w.shop.price("tea", 880)
	w.detect()
	w.detect()
	w.dispatch()
	equal(t, "back in yen", d.prices(), "880 JPY")
}

func TestAnotherProductAtTheAddressIsNotTold(t *testing.T) {
	w := newWorld(t)
	w.shop.set("tv", page{Price: "90000", Name: "Aurora television 55 inch"})
	d := w.subscribed()
	id := d.watch("tv", dropPercent(0))
	w.shop.set("tv", page{Price: "60000", Name: "Garden hose with nozzle"})
	w.detect()
	w.dispatch()
	equal(t, "states", d.states())
	if p := d.must("GET", "/watches/"+id, nil, 200)["listing"].(map[string]any)["problem"].(map[string]any); p["kind"] != "another_product" {
		t.Errorf("problem %v", p)
	}
}

func TestEachNewLowTellsAgainOnceADay(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", targetYen(900))
	for _, price := range []int{890, 880, 870} {
		w.shop.price("tea", price)
		w.detect()
		w.dispatch()
	}
	equal(t, "one a day", d.prices(), "890 JPY")
	w.nextDay()
	w.detect()
	w.dispatch()
	equal(t, "the next day the new low", d.prices(), "890 JPY", "870 JPY")
}

func TestAWeeklySaleAlertsEachTime(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", dropPercent(10))
	for range 3 {
		w.shop.price("tea", 850)
		w.detect()
		w.dispatch()
		w.detect()
		w.dispatch()
		w.shop.price("tea", 1000)
		w.detect()
		w.nextDay()
	}
	equal(t, "pushes", d.prices(), "850 JPY", "850 JPY", "850 JPY")
}

func TestAFailedSendLosesNothing(t *testing.T) {
	w := newWorld(t, "SOKONE_OUTBOX_MAX_RETRY=2")
	w.shop.price("tea", 1000)
	d := w.subscribed()
	id := d.watch("tea", targetYen(900))
	w.push.Script(d.sub.Endpoint, pushtest.Answer{Status: 500, Times: 2})
	w.shop.price("tea", 850)
	w.detect()
	w.dispatch()
	w.hurry()
	w.dispatch()
	equal(t, "states", d.states(), "failed max_retry")
	if n := d.must("GET", "/watches/"+id, nil, 200)["last_notified"]; n != nil {
		t.Errorf("last_notified moved: %v", n)
	}
	w.nextDay()
	w.detect()
	w.dispatch()
	equal(t, "told the next day", d.prices(), "850 JPY")
}

func TestThreeAnswersGonePauseTheListingAndTellOnce(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	id := d.watch("tea", dropPercent(0))
	w.shop.set("tea", page{Status: 410, Raw: "<h1>Gone</h1>"})
	for range 2 {
		w.detect()
	}
	if p := d.must("GET", "/watches/"+id, nil, 200)["listing"].(map[string]any)["problem"].(map[string]any); p["kind"] != "empty" {
		t.Errorf("after two answers: %v", p)
	}
	w.detect()
	asked := w.shop.requests("tea")
	w.detect()
	if n := w.shop.requests("tea"); n != asked {
		t.Error("a listing that is gone is still polled")
	}
	w.dispatch()
	equal(t, "states", d.states(), "sent")
	if p := d.must("GET", "/watches/"+id, nil, 200)["listing"].(map[string]any)["problem"].(map[string]any); p["kind"] != "gone" {
		t.Errorf("after three answers: %v", p)
	}
	// The shopper asks again, and it is there again.
	w.shop.price("tea", 900)
	d.must("PATCH", "/watches/"+id, map[string]any{"paused": false}, 200)
	w.detect()
	w.dispatch()
	shown := d.shown()
	if len(shown) < 2 || priceOf(t, shown[1]) != "900 JPY" {
		t.Errorf("shown %+v", shown)
	}
}

func TestAHundredWatchersShareOnePoll(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	var devices []*device
	for range 100 {
		d := w.subscribed()
		d.watch("tea", targetYen(900))
		devices = append(devices, d)
	}
	w.shop.price("tea", 850)
	before := w.shop.requests("tea")
	w.detect()
	w.dispatch()
	if n := w.shop.requests("tea") - before; n != 2 {
		t.Errorf("%d requests to the shop, want 2: one to detect, one to check again", n)
	}
	for _, d := range devices {
		equal(t, "pushes", d.prices(), "850 JPY")
	}
}

// nextDay moves what was detected and told back by a day.
func (w *world) nextDay() {
	w.t.Helper()
	w.sql("UPDATE outbox SET detected_at = strftime('%Y-%m-%dT%H:%M:%fZ', detected_at, '-1 day')")
}
