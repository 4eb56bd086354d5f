package pushtest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"github.com/sokone/sokone/internal/push/pushtest"
)

// client changes a request of webpush-go before it leaves.
type client func(*http.Request)

func (c client) Do(r *http.Request) (*http.Response, error) {
	c(r)
	return http.DefaultClient.Do(r)
}

func start(t *testing.T) *pushtest.Service {
	t.Helper()
	s, err := pushtest.Listen(pushtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// send sends by webpush-go alone, another's signer and cipher.
func send(t *testing.T, s pushtest.Subscription, plaintext string, change func(*webpush.Options), then client) (int, string) {
	t.Helper()
	private, public, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		t.Fatal(err)
	}
	o := &webpush.Options{
		HTTPClient: then, Subscriber: "ops@example.org", TTL: 60, Urgency: webpush.UrgencyHigh, Topic: strings.Repeat("t", 32),
		VAPIDPrivateKey: private, VAPIDPublicKey: public,
	}
	change(o)
	message := []byte(plaintext)
	resp, err := webpush.SendNotificationWithContext(t.Context(), message[:len(message):len(message)],
		&webpush.Subscription{Endpoint: s.Endpoint, Keys: webpush.Keys{Auth: s.Keys.Auth, P256dh: s.Keys.P256dh}}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func as(*webpush.Options)  {}
func is(_ *http.Request)   {}
func tomorrow() *time.Time { t := time.Now().Add(25 * time.Hour); return &t }

func TestWhatAnotherLibrarySendsIsTaken(t *testing.T) {
	s := start(t)
	sub, err := s.Subscribe("")
	if err != nil {
		t.Fatal(err)
	}
	if status, body := send(t, sub, "hello", as, is); status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := send(t, sub, strings.Repeat("x", 3993), as, is); status != http.StatusCreated {
		t.Fatalf("3993 bytes: %d %s", status, body)
	}
	got := s.Messages()
	if len(got) != 2 || string(got[0].Plaintext) != "hello" || got[1].Size != 4096 || len(s.Refusals()) != 0 {
		t.Errorf("%+v, %+v", got, s.Refusals())
	}
}

func TestRulesBroken(t *testing.T) {
	header := func(name, value string) client { return func(r *http.Request) { r.Header.Set(name, value) } }
	for name, tc := range map[string]struct {
		change func(*webpush.Options)
		then   client
		status int
	}{
		"no authorization":    {as, func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"old scheme":          {as, header("Authorization", "WebPush x"), 401},
		"no token":            {as, header("Authorization", "vapid t=, k="), 403},
		"another's signature": {as, func(r *http.Request) { r.Header.Set("Authorization", other(r)) }, 403},
		"doubled mailto":      {func(o *webpush.Options) { o.Subscriber = "mailto:ops@example.org" }, is, 403},
		"sub of localhost":    {func(o *webpush.Options) { o.Subscriber = "https://localhost" }, is, 403},
		"sub .local":          {func(o *webpush.Options) { o.Subscriber = "ops@nas.local" }, is, 403},
		"no sub":              {func(o *webpush.Options) { o.Subscriber = "" }, is, 403},
		"TTL 0":               {func(o *webpush.Options) { o.TTL = 0 }, is, 400},
		"TTL of five weeks":   {func(o *webpush.Options) { o.TTL = 35 * 86400 }, is, 400},
		"no TTL":              {as, func(r *http.Request) { r.Header.Del("TTL") }, 400},
		"topic of 33":         {func(o *webpush.Options) { o.Topic = strings.Repeat("t", 33) }, is, 400},
		"topic of 29":         {func(o *webpush.Options) { o.Topic = strings.Repeat("t", 29) }, is, 400},
		"topic with +":        {func(o *webpush.Options) { o.Topic = "ab+c" }, is, 400},
		"no urgency":          {func(o *webpush.Options) { o.Urgency = "" }, is, 400},
		"urgency unheard of":  {as, header("Urgency", "now"), 400},
		"old encoding":        {as, header("Content-Encoding", "aesgcm"), 415},
		"empty":               {as, func(r *http.Request) { r.Body, r.ContentLength = http.NoBody, 0 }, 400},
		"4097 bytes":          {func(o *webpush.Options) { o.RecordSize = 4097 }, is, 413},
		"not encrypted":       {as, func(r *http.Request) { replace(r, strings.Repeat("x", 200)) }, 400},
		"PUT":                 {as, func(r *http.Request) { r.Method = http.MethodPut }, 405},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			sub, err := s.Subscribe("")
			if err != nil {
				t.Fatal(err)
			}
			status, body := send(t, sub, "hello", tc.change, tc.then)
			if status != tc.status || len(s.Refusals()) != 1 || len(s.Messages()) != 0 {
				t.Errorf("%d %s, want %d; %d refusals, %d messages", status, body, tc.status, len(s.Refusals()), len(s.Messages()))
			}
		})
	}
}

// other makes an Authorization whose token and key are of two pairs.
func other(r *http.Request) string {
	token, _, _ := strings.Cut(r.Header.Get("Authorization"), ", k=")
	_, public, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		panic(err)
	}
	return token + ", k=" + public
}

func replace(r *http.Request, body string) {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
}

func TestTimeAndPlaceOfATokenAreChecked(t *testing.T) {
	for name, tc := range map[string]struct {
		now  *time.Time
		base string
	}{
		"a day late":     {now: tomorrow()},
		"another origin": {base: "https://fcm.googleapis.com"},
	} {
		t.Run(name, func(t *testing.T) {
			o := pushtest.Options{BaseURL: tc.base}
			if tc.now != nil {
				o.Now = func() time.Time { return *tc.now }
			}
			s := pushtest.NewService(o)
			server := httptest.NewServer(s)
			defer server.Close()
			sub, err := s.Subscribe("")
			if err != nil {
				t.Fatal(err)
			}
			sub.Endpoint = server.URL + sub.Endpoint[len(tc.base):]
			if status, body := send(t, sub, "hello", as, is); status != 403 {
				t.Errorf("%d %s", status, body)
			}
		})
	}
}

func TestASubscriptionBelongsToOneKey(t *testing.T) {
	s := start(t)
	_, public, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		t.Fatal(err)
	}
	sub, err := s.Subscribe(public)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := send(t, sub, "hello", as, is); status != 403 || !strings.Contains(body, "do not correspond") {
		t.Errorf("%d %s", status, body)
	}
}

func TestScriptsAndWaiting(t *testing.T) {
	s := start(t)
	a, err := s.Subscribe("")
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Subscribe("")
	if err != nil {
		t.Fatal(err)
	}
	s.Script("", pushtest.Answer{Status: 503, Times: 2})
	s.Script(a.Endpoint, pushtest.Answer{Status: 429, Header: http.Header{"Retry-After": {"9"}}, Body: "slow down"})
	got := []int{}
	for _, sub := range []pushtest.Subscription{a, a, b, b} {
		status, _ := send(t, sub, `{"notification":{"title":"T","data":{"event_id":"e"}}}`, as, is)
		got = append(got, status)
	}
	for i, want := range []int{429, 503, 503, 201} {
		if got[i] != want {
			t.Fatalf("answers %v", got)
		}
	}
	c, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var waiters sync.WaitGroup
	waiters.Go(func() {
		if err := s.WaitFor(c, 3); err != nil {
			t.Error(err)
		}
	})
	send(t, b, `{"notification":{"data":{"event_id":"e"}}}`, as, is) // a copy
	send(t, a, `{"notification":{"data":{"event_id":"e"}}}`, as, is) // another phone's
	waiters.Wait()
	if shown := s.Shown(); len(shown) != 2 || shown[0].Title != "T" || shown[0].EventID != "e" || len(s.Messages()) != 3 || s.Requests() != 6 {
		t.Errorf("%d shown, %d messages, %d requests", len(shown), len(s.Messages()), s.Requests())
	}
	s.Unsubscribe(a.Endpoint)
	if status, _ := send(t, a, "x", as, is); status != 410 {
		t.Errorf("unsubscribed: %d", status)
	}
	done, stop := context.WithCancel(t.Context())
	stop()
	if err := s.WaitFor(done, 100); err == nil {
		t.Error("waited for what did not come")
	}
}

func TestASubscriptionIsAsABrowserSpellsIt(t *testing.T) {
	s := start(t)
	sub, err := s.Subscribe("")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(sub)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	keys, _ := got["keys"].(map[string]any)
	if v, ok := got["expirationTime"]; !ok || v != nil || got["endpoint"] == "" || keys["p256dh"] == "" || keys["auth"] == "" {
		t.Errorf("%s", data)
	}
}

func TestOnlyTheNewestAreKept(t *testing.T) {
	s := pushtest.NewService(pushtest.Options{Keep: 3})
	server := httptest.NewServer(s)
	defer server.Close()
	sub, err := s.Subscribe("")
	if err != nil {
		t.Fatal(err)
	}
	sub.Endpoint = server.URL + sub.Endpoint
	for range 5 {
		send(t, sub, "x", as, is)
	}
	if len(s.Messages()) != 3 || s.Requests() != 5 {
		t.Errorf("%d kept of %d", len(s.Messages()), s.Requests())
	}
}
