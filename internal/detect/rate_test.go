package detect_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/sokone/sokone/internal/detect"
	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// shelves are listings that are due, each at a shop of its own.
type shelves int

func (s shelves) Due(context.Context, time.Time, int) (due []watch.Due, err error) {
	for i := range int(s) {
		due = append(due, watch.Due{ListingID: fmt.Sprint(i), Host: fmt.Sprintf("shop%d.example", i)})
	}
	return due, nil
}

func (s shelves) BeginPoll(_ context.Context, id string, _, _ time.Time) (watch.Poll, bool, error) {
	return watch.Poll{Listing: watch.Listing{ID: id}}, true, nil
}

func (s shelves) SaveDetection(context.Context, outbox.Detection) (int, error) { return 0, nil }

func (s shelves) Quote(context.Context, shop.Ref) (shop.Quote, error) { return quote("1000"), nil }

func TestThePollsOfAllShopsTogetherAreBounded(t *testing.T) {
	for _, tc := range []struct {
		polls *rate.Limiter
		read  int64
	}{{nil, 9}, {rate.NewLimiter(rate.Every(time.Hour), 4), 4}} {
		began := time.Now()
		d := detect.New(detect.Options{Store: shelves(9), Shops: shelves(9), Schedule: half, Lease: time.Minute, Budget: 45 * time.Second, Polls: tc.polls,
			Now: time.Now, Spread: func() float64 { return 0 }, Logger: slog.New(slog.DiscardHandler)})
		counts, err := d.Run(context.Background())
		if err != nil || counts.Read != tc.read || counts.Skipped != 9-tc.read {
			t.Errorf("%+v %v", counts, err)
		}
		if time.Since(began) > 20*time.Second {
			t.Error("a pass waited for a turn that it cannot have")
		}
	}
}
