package dispatch_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sokone/sokone/internal/dispatch"
	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/store"
	"github.com/sokone/sokone/internal/watch"
)

type politeShop struct {
	token   chan struct{}
	fetches atomic.Int64
}

func (p *politeShop) Quote(ctx context.Context, ref shop.Ref) (shop.Quote, error) {
	select {
	case <-p.token:
	case <-ctx.Done():
		return shop.Quote{}, &shop.Error{Kind: shop.KindNetwork, Cause: ctx.Err()}
	}
	p.fetches.Add(1)
	time.Sleep(2 * time.Second) // SOKONE_HOST_INTERVAL
	p.token <- struct{}{}
	return shop.Quote{Ref: ref, Name: "Tea", Price: money.MustParse("850", "JPY"), Availability: shop.InStock, ObservedAt: time.Now()}, nil
}

type takes struct{ sent map[string]int }

func (t takes) Send(_ context.Context, s outbox.Subscription, m outbox.Message) outbox.Delivery {
	t.sent[m.EventID]++ // one host: one send at a time
	return outbox.Delivery{SubscriptionID: s.ID, Outcome: outbox.Accepted, Status: 201, At: time.Now()}
}

func TestASlowHostWithManyAlerts(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s, err := store.Open(ctx, dir, store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		now := time.Now()
		const n = 200
		check := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		check(s.CreateUser(ctx, watch.User{ID: "u", Timezone: "UTC", Locale: "en", CreatedAt: now}, watch.Device{ID: "d", UserID: "u", CreatedAt: now}, []byte("h")))
		check(s.PutSubscription(ctx, outbox.Subscription{ID: "s", DeviceID: "d", Endpoint: "https://push.example/u", P256dh: "p", Auth: "a", KeyID: "k"}))
		for i := range n {
			o := watch.Observation{At: now, Price: money.MustParse("1000", "JPY"), Availability: shop.InStock, Name: "Tea"}
			item := fmt.Sprint(i)
			w := watch.New(watch.Watch{ID: "w" + item, UserID: "u", Basis: watch.BasisPrice, CreatedAt: now, Triggers: []watch.Trigger{{Type: watch.TargetPrice, Target: money.MustParse("900", "JPY")}}}, o)
			made, err := s.CreateWatch(ctx, w, watch.Listing{ID: "l" + item, Ref: shop.Ref{Adapter: "page", ItemCode: item, URL: "https://one.example/" + item}, Name: "Tea"}, o, 1000)
			check(err)
			o.Price = money.MustParse("850", "JPY")
			change, fired := made.Watch.Observed(o, watch.History{})
			_, err = s.SaveDetection(ctx, outbox.Detection{Listing: made.Listing, Changes: []watch.Change{change}, Entries: []outbox.Entry{outbox.NewEntry(made.Watch, fired[0], o)}})
			check(err)
		}
		p := &politeShop{token: make(chan struct{}, 1)}
		p.token <- struct{}{}
		phone := takes{map[string]int{}}
		var log bytes.Buffer
		d := dispatch.New(dispatch.Options{Store: s, Shops: p, Sender: phone, Lease: 2 * time.Minute, MaxRetry: 8, TTL: time.Hour, Now: time.Now, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		began := time.Now()
		for range 6 {
			pass, cancel := context.WithTimeout(ctx, time.Hour)
			at := time.Now()
			c, err := d.Run(pass)
			cancel()
			t.Logf("%8s pass of %8s: %+v err=%v, %d fetches so far", time.Since(began), time.Since(at), c, err, p.fetches.Load())
			if err != nil {
				t.Errorf("a slow shop is no fault of the storage: %v", err)
			}
			time.Sleep(time.Minute)
		}
		if n := strings.Count(log.String(), "storage failed"); n > 0 {
			t.Errorf("%d lines say that the storage failed", n)
		}
		for id, n := range phone.sent {
			if n > 1 {
				t.Errorf("alert %s was pushed %d times", id, n)
			}
		}
		st, err := s.Stats(ctx, time.Now())
		check(err)
		t.Logf("%v %v", st.ByStatus, st.ByReason)
	})
}
