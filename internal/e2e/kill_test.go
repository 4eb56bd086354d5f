package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/push/pushtest"
)

const (
	killProducts = 12
	killWatchers = 25 // of each product
	killWaves    = 3
	killsAWave   = 100
)

// Processes that detect and dispatch are killed at random moments, hundreds of
// times over several hundred alerts. None may be lost; a receiver that removes
// duplicates by event id shows none twice; no entry is stuck; the database is
// well after each kill.
func TestKilledAtAnyMoment(t *testing.T) {
	w := newWorld(t, "SOKONE_LEASE=1s", "SOKONE_OUTBOX_MAX_RETRY=100", "SOKONE_MAX_WATCHES=1000")
	var devices []*device
	for p := range killProducts {
		product := fmt.Sprintf("p%d", p)
		w.shop.price(product, 1000)
		for range killWatchers {
			d := w.subscribed()
			d.watch(product, targetYen(900))
			devices = append(devices, d)
		}
	}
	seed := uint64(time.Now().UnixNano())
	dice := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	struck := map[string]int{}
	for wave := range killWaves {
		// Slow enough that a kill strikes in the middle of things.
		w.push.Script("", pushtest.Answer{Delay: 120 * time.Millisecond, Times: -1})
		w.everyPrice(page{Price: "850", Delay: 20 * time.Millisecond})
		for range killsAWave {
			job := []string{"detect", "dispatch", "dispatch"}[dice.IntN(3)]
			if w.runAndKill(job, time.Duration(20+dice.IntN(200))*time.Millisecond) {
				struck[job]++
			}
			w.check()
			if t.Failed() {
				t.FailNow()
			}
		}
		w.push.Unscript()
		w.detectUntil(850)
		w.untilDone()
		w.eachShown(devices, wave+1)
		// The next wave is the next day's.
		w.everyPrice(page{Price: "1000"})
		w.detectUntil(1000)
		w.sql("UPDATE outbox SET detected_at = strftime('%Y-%m-%dT%H:%M:%fZ', detected_at, '-1 day')")
	}
	t.Logf("killed in the middle: %v; %d alerts in %d pushes", struck, killWaves*len(devices), len(w.push.Messages()))
	if struck["dispatch"] < killWaves*killsAWave/10 || struck["detect"] < killWaves*killsAWave/10 {
		t.Errorf("only %v kills struck: the test tests too little", struck)
	}
}

func (w *world) everyPrice(p page) {
	for i := range killProducts {
		w.shop.set(fmt.Sprintf("p%d", i), p)
	}
}

// eachShown expects that each device was shown so many alerts, duplicates
// removed by event id, all with the true price.
func (w *world) eachShown(devices []*device, want int) {
	w.t.Helper()
	shown := map[string]int{}
	for _, m := range w.push.Shown() {
		shown[m.Endpoint]++
		if p := priceOf(w.t, m); p != "850 JPY" {
			w.t.Errorf("a push says %s", p)
		}
	}
	for _, d := range devices {
		if shown[d.sub.Endpoint] != want {
			w.t.Errorf("a device was shown %d alerts, want %d", shown[d.sub.Endpoint], want)
		}
	}
}

// runAndKill runs one pass and kills it after a while; it reports whether it
// was still running.
func (w *world) runAndKill(job string, after time.Duration) bool {
	w.t.Helper()
	cmd := exec.Command(binary, "run", job)
	cmd.Env = w.env
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
		return false
	case <-time.After(after):
		_ = cmd.Process.Signal(syscall.SIGKILL)
		<-done
		return true
	}
}

// untilDone dispatches until no entry is open.
func (w *world) untilDone() {
	w.t.Helper()
	w.until(func() { w.dispatch() }, "SELECT count(*) = 0 FROM outbox WHERE status IN ('pending', 'sending', 'retry')")
}

// detectUntil detects until every listing was read at the price: one that a dead
// process polled is another's only when its lease ends.
func (w *world) detectUntil(price int) {
	w.t.Helper()
	w.until(func() { w.detect() }, fmt.Sprintf("SELECT count(*) = 0 FROM listings WHERE price <> %d", price))
}

// until repeats a step until a query says that it is enough.
func (w *world) until(step func(), query string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "sokone.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for enough := false; !enough; {
		step()
		if err := db.QueryRowContext(ctx, query).Scan(&enough); err != nil {
			w.t.Fatal(err)
		}
	}
}

// A server killed between the push service's answer and its own commit sends
// again, with the same event id and topic, and the receiver shows it once.
func TestKilledBetweenAnswerAndCommit(t *testing.T) {
	w := newWorld(t, "SOKONE_LEASE=1s")
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", targetYen(900))
	w.shop.price("tea", 850)
	w.detect()
	// The message arrives, and its answer never does: the process dies waiting.
	release := make(chan struct{})
	w.push.Script(d.sub.Endpoint, pushtest.Answer{Deliver: true, Until: release})
	cmd := exec.Command(binary, "run", "dispatch")
	cmd.Env = w.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.push.WaitForRequests(ctx, 1); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	close(release)
	equal(t, "states", d.states(), "sending")
	w.untilDone()
	if n := len(w.push.Messages()); n != 2 {
		t.Errorf("%d pushes, want 2", n)
	}
	equal(t, "shown", d.prices(), "850 JPY")
	equal(t, "states", d.states(), "sent")
	m := w.push.Messages()
	if m[0].EventID != m[len(m)-1].EventID || m[0].Header.Get("Topic") != m[len(m)-1].Header.Get("Topic") {
		t.Error("the second push is another event")
	}
	if d.alerts()[0]["retry_count"].(float64) != 1 {
		t.Errorf("a send that had begun counts as an attempt: %v", d.alerts()[0])
	}
}

func TestStoppedInTheMiddleOfADispatch(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	var devices []*device
	for range 30 {
		d := w.subscribed()
		d.watch("tea", targetYen(900))
		devices = append(devices, d)
	}
	w.stop()
	for i, e := range w.env {
		if e == "SOKONE_DISPATCH_CRON=off" {
			w.env[i] = "SOKONE_DISPATCH_CRON=@every 1s"
		}
	}
	w.shop.price("tea", 850)
	w.detect()
	w.push.Script("", pushtest.Answer{Delay: 100 * time.Millisecond, Times: -1})
	w.start()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.push.WaitForRequests(ctx, 1); err != nil {
		t.Fatal(err)
	}
	w.stop() // finishes what is in flight
	w.push.Unscript()
	w.start()
	w.untilDone()
	for _, d := range devices {
		equal(t, "shown", d.prices(), "850 JPY")
	}
	if n := len(w.push.Messages()); n != len(devices) {
		t.Errorf("%d pushes for %d alerts: a stop in order repeats none", n, len(devices))
	}
}
