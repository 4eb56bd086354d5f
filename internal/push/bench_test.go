package push_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/push"
	"github.com/sokone/sokone/internal/push/pushtest"
)

// BenchmarkSend sends through the Sender, and beside it by a bare loop over
// webpush-go (the floor), to the same local service, in turns within one run.
// It reports microseconds per message of both, and how many messages the
// Sender sends in the time in which the floor sends one.
func BenchmarkSend(b *testing.B) {
	for _, concurrency := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("strict/%d", concurrency), func(b *testing.B) { benchmarkSend(b, concurrency, true) })
		b.Run(fmt.Sprintf("mute/%d", concurrency), func(b *testing.B) { benchmarkSend(b, concurrency, false) })
	}
}

// benchmarkSend measures against the strict service, which verifies and
// decrypts in the same process, or a mute one that only says 201.
func benchmarkSend(b *testing.B, concurrency int, strict bool) {
	service := pushtest.NewService(pushtest.Options{Keep: 1})
	var handler http.Handler = service
	if !strict {
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusCreated)
		})
	}
	server := httptest.NewServer(handler)
	b.Cleanup(server.Close)
	keys, err := push.NewKeys()
	if err != nil {
		b.Fatal(err)
	}
	sender := push.NewSender(push.Options{Keys: keys, Contact: "mailto:ops@example.org", AllowNetworks: loopback, Logger: slog.New(slog.DiscardHandler)})
	b.Cleanup(sender.Close)
	subs := make([]outbox.Subscription, concurrency)
	for i := range subs {
		s, err := service.Subscribe("")
		if err != nil {
			b.Fatal(err)
		}
		if subs[i], err = sender.CheckSubscription(server.URL+s.Endpoint, s.Keys.P256dh, s.Keys.Auth); err != nil {
			b.Fatal(err)
		}
	}
	ctx := context.Background()
	ours := func(s outbox.Subscription, m outbox.Message) {
		if d := sender.Send(ctx, s, m); d.Outcome != outbox.Accepted {
			b.Errorf("%+v", d)
		}
	}
	client := &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 128, MaxIdleConns: 256}}
	b.Cleanup(client.CloseIdleConnections)
	floor := func(s outbox.Subscription, m outbox.Message) {
		resp, err := webpush.SendNotificationWithContext(ctx, m.Body[:len(m.Body):len(m.Body)],
			&webpush.Subscription{Endpoint: s.Endpoint, Keys: webpush.Keys{Auth: s.Auth, P256dh: s.P256dh}},
			&webpush.Options{
				HTTPClient: client, RecordSize: 512, Subscriber: "ops@example.org", Topic: "abcdabcdabcdabcdabcdabcdabcdabcd", TTL: 3600,
				Urgency: webpush.UrgencyHigh, VAPIDPublicKey: keys.Public(), VAPIDPrivateKey: keys.Private(),
			})
		if err != nil {
			b.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			b.Errorf("status %d", resp.StatusCode)
		}
	}
	const round = 256 // messages in a turn
	turn := func(send func(outbox.Subscription, outbox.Message)) time.Duration {
		began := time.Now()
		var workers sync.WaitGroup
		for i := range concurrency {
			workers.Go(func() {
				for range round / concurrency {
					send(subs[i], message())
				}
			})
		}
		workers.Wait()
		return time.Since(began)
	}
	turn(ours) // warm connections and token
	turn(floor)
	var sent, bare time.Duration
	turns := 0
	for b.Loop() {
		sent += turn(ours)
		bare += turn(floor)
		turns++
	}
	n := float64(turns * round)
	b.ReportMetric(float64(sent.Microseconds())/n, "µs/send")
	b.ReportMetric(float64(bare.Microseconds())/n, "µs/floor")
	b.ReportMetric(bare.Seconds()/sent.Seconds(), "ratio")
	b.ReportMetric(0, "ns/op")
}
