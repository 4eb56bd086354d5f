package push_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/push"
	"github.com/sokone/sokone/internal/push/pushtest"
)

func TestAMessageArrives(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *push.Options) { o.UserAgent = "Sokone/1 (+mailto:ops@example.org)" })
	s, m := r.subscribe(t), message()
	if d := r.Send(ctx(t), s, m); d.Outcome != outbox.Accepted || d.Status != http.StatusCreated || d.SubscriptionID != s.ID || !d.At.Equal(r.clock.Now()) {
		t.Fatalf("%+v", d)
	}
	got := r.service.Messages()
	if len(got) != 1 || string(got[0].Plaintext) != string(m.Body) || got[0].EventID != m.EventID {
		t.Fatalf("%+v", got)
	}
	h := got[0].Header
	sum := sha256.Sum256([]byte(m.EventID))
	for name, want := range map[string]string{
		"Topic": base64.RawURLEncoding.EncodeToString(sum[:24]), "Urgency": "high", "Ttl": "3600",
		"Content-Encoding": "aes128gcm", "User-Agent": "Sokone/1 (+mailto:ops@example.org)",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, h.Get(name), want)
		}
	}
	if len(h.Get("Topic")) != 32 {
		t.Errorf("topic of %d", len(h.Get("Topic")))
	}
	if claims := claimsOf(t, h); claims.Aud != r.service.URL() || claims.Sub != "mailto:ops@example.org" || claims.Exp != r.clock.Now().Add(12*time.Hour).Unix() {
		t.Errorf("%+v", claims)
	}
	if r.logs.String() != "" {
		t.Errorf("logged: %s", r.logs)
	}
}

type claims struct {
	Aud, Sub string
	Exp      int64
}

func claimsOf(t *testing.T, h http.Header) (c claims) {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(strings.Split(h.Get("Authorization"), ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheTopicIsTheSameAtEveryAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s, m := r.subscribe(t), message()
	r.Send(ctx(t), s, m)
	r.Send(ctx(t), s, m)
	got := r.service.Messages()
	if len(got) != 2 || got[0].Header.Get("Topic") != got[1].Header.Get("Topic") {
		t.Fatalf("%d messages, other topics", len(got))
	}
	if shown := r.service.Shown(); len(shown) != 1 {
		t.Errorf("shown %d times", len(shown))
	}
}

func TestTheTokenIsKeptForAnHour(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.subscribe(t)
	steps := []struct {
		after time.Duration
		same  bool
	}{{0, false}, {30 * time.Minute, true}, {29 * time.Minute, true}, {2 * time.Minute, false}, {-time.Minute, false}, {time.Second, true}}
	last := ""
	for i, step := range steps {
		r.clock.Add(step.after)
		r.send(t, s, outbox.Accepted)
		token := r.service.Messages()[i].Header.Get("Authorization")
		if (token == last) != step.same {
			t.Errorf("step %d: the same token is %t", i, token == last)
		}
		last = token
	}
}

func TestTTL(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.subscribe(t)
	for ttl, want := range map[time.Duration]string{
		time.Hour: "3600", 24 * time.Hour: "3600", 90 * time.Second: "90", 1999 * time.Millisecond: "1", time.Millisecond: "1",
	} {
		m := message()
		m.TTL = ttl
		if d := r.Send(ctx(t), s, m); d.Outcome != outbox.Accepted {
			t.Fatalf("%+v", d)
		}
		all := r.service.Messages()
		if got := all[len(all)-1].Header.Get("TTL"); got != want {
			t.Errorf("%s: TTL %s, want %s", ttl, got, want)
		}
	}
	before := r.service.Requests()
	for _, ttl := range []time.Duration{0, -time.Second} {
		m := message()
		m.TTL = ttl
		if d := r.Send(ctx(t), s, m); d.Outcome != outbox.Refused || d.Status != 0 {
			t.Errorf("TTL %s: %+v", ttl, d)
		}
	}
	r.requests(t, before)
}

func TestSizes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.subscribe(t)
	for plaintext, size := range map[int]int{
		1: 512, 409: 512, 410: 1024, 921: 1024, 922: 2048, 1945: 2048, 1946: 3072, 2048: 3072, 2969: 3072, 2970: 4096, 3993: 4096,
	} {
		m := outbox.Message{EventID: outbox.NewEventID(), TTL: time.Hour, Body: []byte(strings.Repeat("x", plaintext))}
		if d := r.Send(ctx(t), s, m); d.Outcome != outbox.Accepted {
			t.Fatalf("%d bytes: %+v", plaintext, d)
		}
		all := r.service.Messages()
		if got := all[len(all)-1]; got.Size != size || len(got.Plaintext) != plaintext {
			t.Errorf("%d bytes: body of %d, plaintext of %d; want %d", plaintext, got.Size, len(got.Plaintext), size)
		}
	}
	before := r.service.Requests()
	m := outbox.Message{EventID: "x", TTL: time.Hour, Body: make([]byte, 3994)}
	if d := r.Send(ctx(t), s, m); d.Outcome != outbox.Refused {
		t.Errorf("3994 bytes: %+v", d)
	}
	r.requests(t, before)
}

// One payload goes to all devices at once, and webpush-go pads into the spare
// capacity of what it is given: the race detector and the neighbours watch.
func TestOnePayloadFromManyGoroutines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := outbox.NewEventID()
	const n = 100
	buffer := make([]byte, 0, 4096)
	buffer = append(buffer, body(id)...)
	neighbour := buffer[len(buffer):cap(buffer)]
	for i := range neighbour {
		neighbour[i] = 'N'
	}
	m := outbox.Message{EventID: id, Body: buffer, TTL: time.Minute}
	var sends sync.WaitGroup
	for range n {
		s := r.subscribe(t)
		sends.Go(func() {
			if d := r.Send(ctx(t), s, m); d.Outcome != outbox.Accepted {
				t.Errorf("%+v", d)
			}
		})
	}
	sends.Wait()
	if strings.Trim(string(neighbour), "N") != "" {
		t.Error("written behind the payload")
	}
	for _, got := range r.service.Messages() {
		if string(got.Plaintext) != string(body(id)) {
			t.Fatalf("%q arrived", got.Plaintext)
		}
	}
	r.requests(t, n)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		body   string
		want   outbox.Outcome
		errors int // operator signals
	}{
		{200, "", outbox.Accepted, 0},
		{201, "", outbox.Accepted, 0},
		{202, "", outbox.Accepted, 0},
		{204, "", outbox.Accepted, 0},
		{300, "", outbox.Server, 1},
		{301, "", outbox.Server, 1},
		{302, "", outbox.Server, 1},
		{304, "", outbox.Server, 1},
		{307, "", outbox.Server, 1},
		{400, `{"reason":"BadTtl"}`, outbox.Refused, 1},
		{400, `{"reason":"VapidPkHashMismatch"}`, outbox.Auth, 1},
		{401, "", outbox.Auth, 1},
		{403, `{"reason":"BadJwtToken"}`, outbox.Auth, 1},
		{404, "", outbox.Gone, 0},
		{405, "", outbox.Refused, 1},
		{406, "", outbox.RateLimited, 0},
		{408, "", outbox.Server, 0},
		{410, "", outbox.Gone, 0},
		{413, "", outbox.Refused, 1},
		{429, "", outbox.RateLimited, 0},
		{500, "", outbox.Server, 0},
		{502, "", outbox.Server, 0},
		{503, "", outbox.Server, 0},
		{599, "", outbox.Server, 0},
	} {
		t.Run(strconv.Itoa(tc.status)+tc.body, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := r.subscribe(t)
			r.service.Script("", pushtest.Answer{Status: tc.status, Body: tc.body, Header: http.Header{"Location": {"/elsewhere"}}})
			d := r.send(t, s, tc.want)
			if d.Status != tc.status || d.Detail != tc.body {
				t.Errorf("%+v", d)
			}
			if got := r.logs.errors(); got != tc.errors {
				t.Errorf("%d operator signals, want %d: %s", got, tc.errors, r.logs)
			}
			r.requests(t, 1) // a redirect is not followed
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return at.Add(d).Format(http.TimeFormat) }
	for _, tc := range []struct {
		header string
		want   time.Duration
	}{
		{"120", 2 * time.Minute},
		{"0", 0},
		{" 5 ", 5 * time.Second},
		{date(10 * time.Minute), 10 * time.Minute},
		{date(-10 * time.Minute), 0},
		{"", time.Minute},
		{"soon", time.Minute},
		{"-5", time.Minute},
		{"1.5", time.Minute},
		{"1e9", time.Minute},
		{"315360000", 24 * time.Hour},
		{"99999999999999999999999", 24 * time.Hour},
		{date(10 * 365 * 24 * time.Hour), 24 * time.Hour},
	} {
		for _, status := range []int{429, 406} {
			t.Run(fmt.Sprint(status, tc.header), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				s, sibling := r.subscribe(t), r.subscribe(t)
				h := http.Header{}
				if tc.header != "" {
					h.Set("Retry-After", tc.header)
				}
				r.service.Script(s.Endpoint, pushtest.Answer{Status: status, Header: h})
				if d := r.send(t, s, outbox.RateLimited); d.RetryAfter != tc.want {
					t.Fatalf("%s, want %s", d.RetryAfter, tc.want)
				}
				if tc.want > 0 { // the whole origin waits
					r.clock.Add(tc.want - time.Second)
					if d := r.send(t, sibling, outbox.RateLimited); d.RetryAfter != time.Second || d.Status != 0 {
						t.Errorf("%+v", d)
					}
					r.requests(t, 1)
					r.clock.Add(time.Second)
				}
				r.send(t, sibling, outbox.Accepted)
			})
		}
	}
}

func TestAServersRetryAfterIsPassedOnAndHoldsNobodyElse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.subscribe(t), r.subscribe(t)
	r.service.Script(a.Endpoint, pushtest.Answer{Status: 503, Header: http.Header{"Retry-After": {"300"}}})
	if d := r.send(t, a, outbox.Server); d.RetryAfter != 5*time.Minute {
		t.Errorf("%s", d.RetryAfter)
	}
	r.send(t, b, outbox.Accepted)
}

func TestAShorterRetryAfterDoesNotEndALongerOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.subscribe(t), r.subscribe(t)
	gate := make(chan struct{})
	r.service.Script(a.Endpoint, pushtest.Answer{Status: 429, Header: http.Header{"Retry-After": {"10"}}, Until: gate})
	r.service.Script(b.Endpoint, pushtest.Answer{Status: 429, Header: http.Header{"Retry-After": {"600"}}})
	var late sync.WaitGroup
	late.Go(func() { r.Send(ctx(t), a, message()) })
	if err := r.service.WaitForRequests(ctx(t), 1); err != nil {
		t.Fatal(err)
	}
	r.send(t, b, outbox.RateLimited)
	close(gate)
	late.Wait()
	if d := r.send(t, a, outbox.RateLimited); d.RetryAfter != 10*time.Minute {
		t.Errorf("held for %s", d.RetryAfter)
	}
}

func TestRowsThatNoLongerFitAreNotSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, tc := range map[string]struct {
		change func(*outbox.Subscription)
		want   outbox.Outcome
	}{
		"host no longer allowed": {func(s *outbox.Subscription) { s.Endpoint = "https://8.8.8.8/x" }, outbox.Refused},
		"plain http outside":     {func(s *outbox.Subscription) { s.Endpoint = "http://fcm.googleapis.com/x" }, outbox.Refused},
		"inside":                 {func(s *outbox.Subscription) { s.Endpoint = "http://10.0.0.1/x" }, outbox.Refused},
		"no endpoint":            {func(s *outbox.Subscription) { s.Endpoint = "" }, outbox.Refused},
		"no key":                 {func(s *outbox.Subscription) { s.P256dh = "" }, outbox.Refused},
		"short auth":             {func(s *outbox.Subscription) { s.Auth = s.Auth[:10] }, outbox.Refused},
		"expired":                {func(s *outbox.Subscription) { s.ExpiresAt = r.clock.Now() }, outbox.Gone},
	} {
		s := r.subscribe(t)
		tc.change(&s)
		if d := r.Send(ctx(t), s, message()); d.Outcome != tc.want || d.Status != 0 || d.Detail == "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
	r.requests(t, 0)
}

func TestObserve(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[outbox.Outcome]int{}
	r := newRig(t, func(o *push.Options) {
		o.Observe = func(outcome outbox.Outcome, _ time.Duration) { mu.Lock(); defer mu.Unlock(); seen[outcome]++ }
	})
	s := r.subscribe(t)
	r.send(t, s, outbox.Accepted)
	r.service.Script("", pushtest.Answer{Status: 429})
	r.send(t, s, outbox.RateLimited)
	r.send(t, s, outbox.RateLimited) // held: no request, nothing to observe
	if len(seen) != 2 || seen[outbox.Accepted] != 1 || seen[outbox.RateLimited] != 1 {
		t.Errorf("%v", seen)
	}
}

func TestWithoutKeysOrWithABadContactNothingStarts(t *testing.T) {
	keys, err := push.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]push.Options{
		"no keys":     {Contact: "mailto:ops@example.org"},
		"bad contact": {Keys: keys, Contact: "mailto:ops@localhost"},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: started", name)
				}
			}()
			push.NewSender(o)
		}()
	}
}

func TestWithoutAContactTheProjectIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *push.Options) { o.Contact = "" })
	r.send(t, r.subscribe(t), outbox.Accepted)
	if c := claimsOf(t, r.service.Messages()[0].Header); !strings.HasPrefix(c.Sub, "https://") {
		t.Errorf("sub %q", c.Sub)
	}
}

func TestOriginsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gone := func(port int) outbox.Subscription {
		s := r.subscribe(t)
		s.Endpoint = fmt.Sprintf("http://127.0.0.1:%d/push/x", port)
		return s
	}
	for port := range 300 {
		r.Send(ctx(t), gone(port+1), message())
	}
	if n := r.Origins(); n > 256 {
		t.Errorf("%d origins remembered", n)
	}
}
