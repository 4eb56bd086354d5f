package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/push/pushtest"
)

func TestHappy(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	id := d.watch("tea", targetYen(900))
	w.detect()
	w.dispatch()
	equal(t, "before the drop", d.prices())
	w.shop.price("tea", 880)
	w.detect()
	if a := d.alerts(); len(a) != 1 || a[0]["state"] != "pending" || a[0]["sent_at"] != nil {
		t.Fatalf("detected and not dispatched: %v", a)
	}
	w.dispatch()
	equal(t, "pushes", d.prices(), "880 JPY")
	equal(t, "states", d.states(), "sent")
	watch := d.must("GET", "/watches/"+id, nil, 200)
	notified := watch["last_notified"].(map[string]any)
	if price := notified["price"].(map[string]any); price["amount"] != "880" || price["currency"] != "JPY" {
		t.Errorf("last_notified %v", notified)
	}
	a := d.alerts()[0]
	if d.shown()[0].EventID != a["event_id"] || a["watch_id"] != id || a["trigger"] != "target_price" || a["sent_at"] == nil {
		t.Errorf("alert %v", a)
	}
	if topic := d.shown()[0].Header.Get("Topic"); len(topic) != 32 {
		t.Errorf("topic %q", topic)
	}
	now := d.must("GET", "/alerts/"+a["event_id"].(string), nil, 200)
	if now["true_now"] != true || now["price_now"].(map[string]any)["amount"] != "880" {
		t.Errorf("true now: %v", now)
	}
	w.detect()
	w.dispatch()
	equal(t, "a price that stays", d.prices(), "880 JPY")
}

func TestTheMessageCarriesTheLaterPrice(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", dropPercent(0))
	w.shop.price("tea", 900)
	w.detect()
	w.shop.price("tea", 870)
	w.dispatch()
	equal(t, "pushes", d.prices(), "870 JPY")
	if a := d.alerts()[0]; a["detected"].(map[string]any)["price"].(map[string]any)["amount"] != "900" ||
		a["checked"].(map[string]any)["price"].(map[string]any)["amount"] != "870" {
		t.Errorf("alert %v", a)
	}
}

func TestAConditionThatBrokeIsWithheldAndATrueDropLaterAlerts(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	id := d.watch("tea", dropPercent(0))
	w.shop.price("tea", 900)
	w.detect()
	w.shop.price("tea", 1000)
	w.dispatch()
	equal(t, "nothing is sent", d.prices())
	equal(t, "states", d.states(), "dropped condition_lost")
	if n := d.must("GET", "/watches/"+id, nil, 200)["last_notified"]; n != nil {
		t.Errorf("last_notified moved: %v", n)
	}
	w.detect()
	w.shop.price("tea", 850)
	w.detect()
	w.dispatch()
	equal(t, "a true drop the same day", d.prices(), "850 JPY")
	equal(t, "states", d.states(), "sent", "dropped condition_lost")
}

func TestOneDropDetectedTwentyTimesIsOnePush(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", dropPercent(0))
	w.shop.price("tea", 900)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for range 10 {
				if _, err := w.command("run", "detect"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	for range 2 {
		both.Go(func() {
			for range 3 {
				if _, err := w.command("run", "dispatch"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	equal(t, "states", d.states(), "sent")
	if n := w.push.Requests(); n != 1 {
		t.Errorf("%d requests to the push service, want 1", n)
	}
	// The next day the same drop again is a new alert.
	w.shop.price("tea", 1000)
	w.detect()
	w.sql("UPDATE outbox SET detected_at = strftime('%Y-%m-%dT%H:%M:%fZ', detected_at, '-1 day')")
	w.shop.price("tea", 900)
	w.detect()
	w.dispatch()
	equal(t, "pushes over two days", d.prices(), "900 JPY", "900 JPY")
}

func TestPushServiceDown(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	id := d.watch("tea", dropPercent(0))
	w.push.Script(d.sub.Endpoint, pushtest.Answer{Status: http.StatusServiceUnavailable})
	w.shop.price("tea", 900)
	w.detect()
	w.dispatch()
	equal(t, "states", d.states(), "retry push_server")
	if n := d.must("GET", "/watches/"+id, nil, 200)["last_notified"]; n != nil {
		t.Errorf("last_notified moved without a delivery: %v", n)
	}
	w.dispatch()
	if n := w.push.Requests(); n != 1 {
		t.Errorf("a retry that is not due was sent: %d requests", n)
	}
	first := d.alerts()[0]["event_id"]
	w.hurry()
	w.dispatch()
	equal(t, "states", d.states(), "sent")
	equal(t, "pushes", d.prices(), "900 JPY")
	if d.shown()[0].EventID != first {
		t.Error("the event id changed between attempts")
	}
}

func TestRetryAfter(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", dropPercent(0))
	w.push.Script(d.sub.Endpoint, pushtest.Answer{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1200"}}})
	w.shop.price("tea", 900)
	w.detect()
	began := time.Now()
	w.dispatch()
	equal(t, "states", d.states(), "retry push_rate_limited")
	at, err := time.Parse(time.RFC3339, d.alerts()[0]["next_attempt_at"].(string))
	if err != nil {
		t.Fatal(err)
	}
	if wait := at.Sub(began); wait < 1190*time.Second || wait > 1300*time.Second {
		t.Errorf("the next attempt is in %s, the service asked for 20 minutes", wait)
	}
	w.hurry()
	w.dispatch()
	equal(t, "pushes", d.prices(), "900 JPY")
}

func TestOneOfTwoDevicesIsGone(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	phone := w.subscribed()
	code := phone.must("POST", "/device/link", nil, 201)["code"].(string)
	desk := w.deviceWith(map[string]any{"link_code": code})
	desk.subscribe()
	phone.watch("tea", dropPercent(0))
	w.push.Unsubscribe(phone.sub.Endpoint)
	w.shop.price("tea", 900)
	w.detect()
	w.dispatch()
	equal(t, "the desk", desk.prices(), "900 JPY")
	equal(t, "the phone", phone.prices())
	equal(t, "states", desk.states(), "sent")
	if phone.must("GET", "/device", nil, 200)["subscribed"] != false {
		t.Error("the subscription that is gone was kept")
	}
	if status, _, _ := w.device().call("POST", "/devices", map[string]any{"link_code": code}); status != 422 {
		t.Errorf("a link code was used twice: %d", status)
	}
}

func TestARetryGoesOnlyToThoseStillOwed(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	phone := w.subscribed()
	desk := w.deviceWith(map[string]any{"link_code": phone.must("POST", "/device/link", nil, 201)["code"]})
	desk.subscribe()
	phone.watch("tea", dropPercent(0))
	w.push.Script(phone.sub.Endpoint, pushtest.Answer{Status: 500})
	w.shop.price("tea", 900)
	w.detect()
	w.dispatch()
	equal(t, "states", phone.states(), "retry push_server")
	w.hurry()
	w.dispatch()
	equal(t, "states", phone.states(), "sent")
	equal(t, "the phone", phone.prices(), "900 JPY")
	if n := w.push.Requests(); n != 3 {
		t.Errorf("%d requests, want 3: two, and one again for the phone", n)
	}
}

func TestAllSubscriptionsGone(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", dropPercent(0))
	w.push.Unsubscribe(d.sub.Endpoint)
	w.shop.price("tea", 900)
	w.detect()
	w.dispatch()
	equal(t, "states", d.states(), "dropped subscription_gone")
	d.subscribe() // the app subscribes again by itself
	w.detect()
	w.dispatch()
	equal(t, "the alert is not lost", d.prices(), "900 JPY")
}

func TestNobodySubscribed(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.device()
	d.watch("tea", dropPercent(0))
	w.shop.price("tea", 900)
	for range 3 {
		w.detect()
		w.dispatch()
	}
	equal(t, "one withheld entry a day says it", d.states(), "dropped no_subscription")
	d.subscribe()
	w.detect()
	w.dispatch()
	equal(t, "told once somebody listens", d.prices(), "900 JPY")
}

func TestSoldOutBetweenDetectionAndDispatch(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", dropPercent(0))
	w.shop.price("tea", 900)
	w.detect()
	w.shop.set("tea", page{Price: "900", Stock: "OutOfStock"})
	w.dispatch()
	equal(t, "states", d.states(), "dropped out_of_stock")
	equal(t, "pushes", d.prices())
}

func TestRemovedOrPausedWhileQueued(t *testing.T) {
	for name, tc := range map[string]struct {
		act    func(d *device, id string)
		reason string
	}{
		"removed": {func(d *device, id string) { d.must("DELETE", "/watches/"+id, nil, 204) }, "dropped watch_removed"},
		"paused":  {func(d *device, id string) { d.must("PATCH", "/watches/"+id, map[string]any{"paused": true}, 200) }, "dropped watch_paused"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.shop.price("tea", 1000)
			d := w.subscribed()
			id := d.watch("tea", dropPercent(0))
			w.shop.price("tea", 900)
			w.detect()
			tc.act(d, id)
			w.dispatch()
			equal(t, "states", d.states(), tc.reason)
			equal(t, "pushes", d.prices())
			// Undone, the alert comes after all.
			if name == "removed" {
				d.must("POST", "/watches/"+id+"/restore", nil, 200)
			} else {
				d.must("PATCH", "/watches/"+id, map[string]any{"paused": false}, 200)
			}
			w.detect()
			w.dispatch()
			equal(t, "pushes after it was undone", d.prices(), "900 JPY")
		})
	}
}

func TestAListingThatFailsForADay(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	id := d.watch("tea", dropPercent(0))
	w.shop.set("tea", page{Status: 500, Raw: "<h1>oops</h1>"})
	w.detect()
	w.dispatch()
	equal(t, "too early", d.states())
	listing := d.must("GET", "/watches/"+id, nil, 200)["listing"].(map[string]any)
	if p := listing["problem"].(map[string]any); p["kind"] != "server" || p["message"] == "" {
		t.Errorf("problem %v", p)
	}
	if listing["price"].(map[string]any)["amount"] != "1000" {
		t.Errorf("the last price is lost: %v", listing)
	}
	w.sql("UPDATE listings SET problem_since = strftime('%Y-%m-%dT%H:%M:%fZ', problem_since, '-25 hours')")
	w.detect()
	w.dispatch()
	w.detect()
	w.dispatch()
	equal(t, "told once", d.states(), "sent")
	if m := d.shown(); len(m) != 1 || !strings.Contains(m[0].Body, "could not be read") {
		t.Fatalf("shown %+v", m)
	}
	w.shop.price("tea", 1000)
	w.detect()
	w.dispatch()
	w.detect()
	w.dispatch()
	if m := d.shown(); len(m) != 2 || !strings.Contains(m[1].Body, "can be read again") {
		t.Fatalf("shown %+v", m)
	}
	if n := d.must("GET", "/watches/"+id, nil, 200)["last_notified"]; n != nil {
		t.Errorf("an alert about no price moved last_notified: %v", n)
	}
}

func TestAShopThatIsDownAtDispatch(t *testing.T) {
	for kind, p := range map[string]page{
		"server":       {Status: 503, Raw: "<h1>busy</h1>"},
		"rate_limited": {Status: 429, Raw: "<h1>slow down</h1>"},
		"blocked":      {Status: 403, Raw: "<h1>no</h1>"},
		"parse":        {Raw: "<!doctype html><html><body><p>" + strings.Repeat("nothing here ", 300) + "</p></body></html>"},
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			w.shop.price("tea", 1000)
			d := w.subscribed()
			d.watch("tea", dropPercent(0))
			w.shop.price("tea", 900)
			w.detect()
			w.shop.set("tea", p)
			w.dispatch()
			equal(t, "states", d.states(), "retry refetch_"+kind)
			w.shop.price("tea", 890)
			w.hurry()
			w.dispatch()
			equal(t, "pushes", d.prices(), "890 JPY")
		})
	}
}

func TestQuietHoursHoldAnAlertAndCheckItAgain(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", dropPercent(0))
	now := time.Now().UTC()
	clock := func(d time.Duration) string { return now.Add(d).Format("15:04") }
	d.must("PATCH", "/device", map[string]any{"timezone": "UTC", "quiet_hours": map[string]string{"from": clock(-time.Hour), "to": clock(2 * time.Hour)}}, 200)
	w.shop.price("tea", 900)
	w.detect()
	w.dispatch()
	equal(t, "states", d.states(), "retry quiet_hours")
	a := d.alerts()[0]
	if at, err := time.Parse(time.RFC3339, a["next_attempt_at"].(string)); err != nil || at.Sub(now) < time.Hour || at.Sub(now) > 2*time.Hour+time.Minute || a["retry_count"].(float64) != 0 {
		t.Errorf("alert %v %v", a, err)
	}
	d.must("PATCH", "/device", map[string]any{"quiet_hours": nil}, 200)
	w.shop.price("tea", 870) // it is read again when they end
	w.hurry()
	w.dispatch()
	equal(t, "pushes", d.prices(), "870 JPY")
}
