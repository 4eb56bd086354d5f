package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/push/pushtest"
)

// binary is the sokone that all tests run.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "sokone-e2e")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "sokone")
		build := exec.Command("go", "build", "-o", binary, "github.com/sokone/sokone/cmd/sokone")
		if out, err := build.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("build: %v\n%s", err, out))
		}
		return m.Run()
	}())
}

// patience is how long anything may take before a test gives up.
const patience = 30 * time.Second

// world is one Sokone with a shop and a push service around it.
type world struct {
	t    *testing.T
	dir  string
	env  []string
	shop *testShop
	push *pushtest.Service

	server *server
}

// newWorld starts a server whose jobs run only when a test says so.
func newWorld(t *testing.T, env ...string) *world {
	t.Helper()
	t.Parallel()
	push, err := pushtest.Listen(pushtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(push.Close)
	w := &world{t: t, dir: t.TempDir(), shop: newShop(t), push: push}
	w.env = append([]string{
		"SOKONE_LISTEN=127.0.0.1:0", "SOKONE_DATA=" + w.dir, "SOKONE_ALLOW_NETWORKS=127.0.0.0/8", "SOKONE_CONTACT=mailto:op@shop-watch.example.com",
		"SOKONE_DETECT_CRON=off", "SOKONE_DISPATCH_CRON=off", "SOKONE_POLL_INTERVAL=0s", "SOKONE_HOST_INTERVAL=0s", "SOKONE_RATE_LIMIT=off",
		"SOKONE_LOG_LEVEL=debug", "SOKONE_ADMIN_TOKEN=operator", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
	}, env...)
	w.start()
	t.Cleanup(func() {
		if refusals := push.Refusals(); len(refusals) > 0 {
			t.Errorf("the push service refused requests that broke its rules: %+v", refusals)
		}
		w.check()
	})
	return w
}

// server is a running `sokone serve`.
type server struct {
	cmd  *exec.Cmd
	url  string
	done chan error
	mu   sync.Mutex
	log  bytes.Buffer
}

var serving = regexp.MustCompile(`app: serving" address=(\S+)`)

// start starts the server and waits until it says that it serves.
func (w *world) start() {
	w.t.Helper()
	s := &server{cmd: exec.Command(binary, "serve"), done: make(chan error, 1)}
	s.cmd.Env = w.env
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	address := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			s.mu.Lock()
			s.log.Write(append(lines.Bytes(), '\n'))
			s.mu.Unlock()
			if m := serving.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
		s.done <- s.cmd.Wait()
	}()
	w.t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	select {
	case a := <-address:
		s.url = "http://" + a
	case err := <-s.done:
		w.t.Fatalf("sokone serve ended: %v\n%s", err, s.logs())
	case <-time.After(patience):
		w.t.Fatalf("sokone serve does not serve\n%s", s.logs())
	}
	w.server = s
}

func (s *server) logs() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// stop ends the server as an operator does, and expects it to end well.
func (w *world) stop() {
	w.t.Helper()
	if err := w.server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	select {
	case err := <-w.server.done:
		if err != nil {
			w.t.Fatalf("sokone serve ended with %v\n%s", err, w.server.logs())
		}
	case <-time.After(patience):
		w.t.Fatalf("sokone serve does not stop\n%s", w.server.logs())
	}
}

// command runs sokone and returns what it prints.
func (w *world) command(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = w.env
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("sokone %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), log.String())
	}
	return out.String(), nil
}

func (w *world) run(args ...string) map[string]any {
	w.t.Helper()
	out, err := w.command(args...)
	if err != nil {
		w.t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		w.t.Fatalf("sokone %v printed %q: %v", args, out, err)
	}
	return v
}

func (w *world) detect() map[string]any   { w.t.Helper(); return w.run("run", "detect") }
func (w *world) dispatch() map[string]any { w.t.Helper(); return w.run("run", "dispatch") }

func (w *world) check() {
	w.t.Helper()
	if out, err := w.command("check"); err != nil {
		w.t.Errorf("sokone check: %v %s", err, out)
	}
}

// device is a shopper's browser.
type device struct {
	w     *world
	token string
	sub   pushtest.Subscription
}

func (w *world) device() *device { return w.deviceWith(map[string]any{"locale": "en"}) }

func (w *world) deviceWith(body map[string]any) *device {
	w.t.Helper()
	d := &device{w: w}
	made := d.must("POST", "/devices", body, 201)
	d.token = made["device_token"].(string)
	return d
}

// subscribed makes a device with a push subscription.
func (w *world) subscribed() *device {
	w.t.Helper()
	d := w.device()
	d.subscribe()
	return d
}

func (d *device) subscribe() {
	d.w.t.Helper()
	key := d.must("GET", "/push/key", nil, 200)["public_key"].(string)
	sub, err := d.w.push.Subscribe(key)
	if err != nil {
		d.w.t.Fatal(err)
	}
	d.sub = sub
	d.must("PUT", "/push/subscription", sub, 204)
}

// call makes one request.
func (d *device) call(method, path string, body any) (int, map[string]any, http.Header) {
	d.w.t.Helper()
	var in io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			d.w.t.Fatal(err)
		}
		in = bytes.NewReader(encoded)
	}
	req, err := http.NewRequest(method, d.w.server.url+"/api/v1"+path, in)
	if err != nil {
		d.w.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if d.token != "" {
		req.Header.Set("Authorization", "Bearer "+d.token)
	}
	client := http.Client{Timeout: patience}
	res, err := client.Do(req)
	if err != nil {
		d.w.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		d.w.t.Fatal(err)
	}
	var v map[string]any
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &v); err != nil {
			d.w.t.Fatalf("%s %s: %d %q", method, path, res.StatusCode, raw)
		}
	}
	return res.StatusCode, v, res.Header
}

func (d *device) must(method, path string, body any, want int) map[string]any {
	d.w.t.Helper()
	status, v, _ := d.call(method, path, body)
	if status != want {
		d.w.t.Fatalf("%s %s: %d %v, want %d\n%s", method, path, status, v, want, d.w.server.logs())
	}
	return v
}

// watch watches a product of the test's shop, and returns the watch's id.
func (d *device) watch(product string, triggers ...map[string]any) string {
	d.w.t.Helper()
	return d.must("POST", "/watches", map[string]any{"url": d.w.shop.url(product), "triggers": triggers}, 201)["id"].(string)
}

func targetYen(n int) map[string]any {
	return map[string]any{"type": "target_price", "target": map[string]string{"amount": fmt.Sprint(n), "currency": "JPY"}}
}

func dropPercent(n int) map[string]any { return map[string]any{"type": "price_drop", "percent": n} }

var backInStock = map[string]any{"type": "back_in_stock"}

// alerts are the device's, the newest first.
func (d *device) alerts() []map[string]any {
	d.w.t.Helper()
	var out []map[string]any
	for _, a := range d.must("GET", "/alerts", nil, 200)["alerts"].([]any) {
		out = append(out, a.(map[string]any))
	}
	return out
}

// states are those of the device's alerts, as "sent" or "dropped condition_lost".
func (d *device) states() []string {
	d.w.t.Helper()
	var out []string
	for _, a := range d.alerts() {
		s := a["state"].(string)
		if r, ok := a["reason"].(string); ok {
			s += " " + r
		}
		out = append(out, s)
	}
	return out
}

// shown are the notifications that the device has shown, duplicates removed.
func (d *device) shown() []pushtest.Message {
	var out []pushtest.Message
	for _, m := range d.w.push.Shown() {
		if m.Endpoint == d.sub.Endpoint {
			out = append(out, m)
		}
	}
	return out
}

// prices are what the shown notifications say.
func (d *device) prices() []string {
	d.w.t.Helper()
	out := []string{}
	for _, m := range d.shown() {
		out = append(out, priceOf(d.w.t, m))
	}
	return out
}

func priceOf(t *testing.T, m pushtest.Message) string {
	t.Helper()
	var p struct {
		WebPush      int `json:"web_push"`
		Notification struct {
			Title, Body, Navigate, Lang, Tag string
			Data                             struct {
				EventID string `json:"event_id"`
				WatchID string `json:"watch_id"`
				Price   *struct{ Amount, Currency string }
			}
		}
	}
	if err := json.Unmarshal(m.Plaintext, &p); err != nil {
		t.Fatalf("plaintext %q: %v", m.Plaintext, err)
	}
	n := p.Notification
	if p.WebPush != 8030 || n.Title == "" || n.Body == "" || n.Navigate == "" || n.Tag == "" || n.Tag != n.Data.EventID {
		t.Errorf("not the declared shape: %s", m.Plaintext)
	}
	if n.Data.Price == nil {
		return "none"
	}
	return n.Data.Price.Amount + " " + n.Data.Price.Currency
}

func equal[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
