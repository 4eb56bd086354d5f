package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/push"
	"github.com/sokone/sokone/internal/push/pushtest"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/store"
)

// rig is the API over a real database, with a shop that answers as a test says
// and a push service that decrypts.
type rig struct {
	t     *testing.T
	http  *httptest.Server
	store *store.Store
	push  *pushtest.Service
	shops *shelf
	log   *bytes.Buffer
	key   string
	now   time.Time
	token string
}

// shelf is a shop of any product at https://shop.example/<name>.
type shelf struct {
	mu     sync.Mutex
	quotes map[string]shop.Quote
	failed map[string]error
}

func (s *shelf) Resolve(raw string) (shop.Ref, error) {
	name, ok := strings.CutPrefix(raw, "https://shop.example/")
	if !ok {
		return shop.Ref{}, &shop.Error{Kind: shop.KindRefused, Message: "No adapter reads this shop."}
	}
	return shop.Ref{Adapter: "page", ItemCode: name, URL: raw}, nil
}

func (s *shelf) Quote(_ context.Context, ref shop.Ref) (shop.Quote, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failed[ref.ItemCode]; err != nil {
		return shop.Quote{}, err
	}
	q, ok := s.quotes[ref.ItemCode]
	if !ok {
		q = shop.Quote{Name: "Tea tin " + ref.ItemCode, Price: money.MustParse("1000", "JPY"), Availability: shop.InStock, FoundBy: "json-ld"}
	}
	q.Ref, q.ObservedAt = ref, time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	return q, nil
}

func (s *shelf) set(name string, q shop.Quote) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quotes[name] = q
}

type healthy struct{ err error }

func (h healthy) Ready(context.Context) map[string]error { return map[string]error{"database": h.err} }

// quiet is a log that may be written by many.
type quiet struct {
	mu sync.Mutex
	b  *bytes.Buffer
}

func (q *quiet) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.b.Write(p)
}

func newRig(tb testing.TB, change func(*Options)) *rig {
	tb.Helper()
	r := &rig{shops: &shelf{quotes: map[string]shop.Quote{}, failed: map[string]error{}}, log: &bytes.Buffer{}, now: time.Now()}
	if t, ok := tb.(*testing.T); ok {
		r.t = t
	}
	clock := func() time.Time { return r.now }
	logger := slog.New(slog.NewTextHandler(&quiet{b: r.log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := store.Open(context.Background(), tb.TempDir(), store.Options{Logger: slog.New(slog.DiscardHandler), Now: clock})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	service, err := pushtest.Listen(pushtest.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(service.Close)
	keys, err := push.NewKeys()
	if err != nil {
		tb.Fatal(err)
	}
	sender := push.NewSender(push.Options{Keys: keys, Contact: "mailto:op@shop-watch.example.com", AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Now: time.Now, Logger: logger})
	tb.Cleanup(sender.Close)
	r.store, r.push, r.key = s, service, sender.PublicKey()
	o := Options{Store: s, Shops: r.shops, Push: sender, Health: healthy{}, MaxWatches: 3, Version: "test", Now: clock, Logger: logger,
		App: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the app") })}
	if change != nil {
		change(&o)
	}
	r.http = httptest.NewServer(New(o))
	tb.Cleanup(r.http.Close)
	return r
}

// answer is what a call got.
type answer struct {
	status int
	header http.Header
	raw    string
	body   map[string]any
}

func (r *rig) do(method, path, token, contentType, body string) answer {
	r.t.Helper()
	a, err := r.try(method, path, token, contentType, body)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *rig) try(method, path, token, contentType, body string) (answer, error) {
	req, err := http.NewRequest(method, r.http.URL+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	a := answer{status: res.StatusCode, header: res.Header, raw: string(raw)}
	_ = json.Unmarshal(raw, &a.body) // what is no JSON has no body
	return a, err
}

// call is an ordinary call of the rig's device.
func (r *rig) call(method, path, body string) answer {
	r.t.Helper()
	contentType := ""
	if body != "" {
		contentType = "application/json"
	}
	return r.do(method, base+path, r.token, contentType, body)
}

func (r *rig) want(status int, method, path, body string) map[string]any {
	r.t.Helper()
	a := r.call(method, path, body)
	if a.status != status {
		r.t.Fatalf("%s %s %s: %d %s, want %d", method, path, body, a.status, a.raw, status)
	}
	return a.body
}

// fault expects a problem that names a field.
func (r *rig) fault(status int, location, method, path, body string) {
	r.t.Helper()
	a := r.call(method, path, body)
	if a.status != status || !strings.Contains(a.raw, fmt.Sprintf("%q", location)) || a.header.Get("Content-Type") != "application/problem+json" {
		r.t.Errorf("%s %s %s: %d %s, want %d naming %s", method, path, body, a.status, a.raw, status, location)
	}
}

// signUp makes a device and uses it from now on.
func (r *rig) signUp() string {
	r.t.Helper()
	r.token = ""
	made := r.want(201, "POST", "/devices", `{"locale":"en"}`)
	r.token = made["device_token"].(string)
	return r.token
}

func (r *rig) watch(name string) string {
	r.t.Helper()
	return r.want(201, "POST", "/watches", `{"url":"https://shop.example/`+name+`","triggers":[{"type":"price_drop","percent":10}]}`)["id"].(string)
}
