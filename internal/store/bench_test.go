package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/watch"
)

// BenchmarkEnqueue: entries per second through SaveDetection, a listing with 50
// watchers at a time, against a bare batched insert of the same rows into the
// same table with the same pragmas. The ratio is the floor's time by ours.
func BenchmarkEnqueue(b *testing.B) {
	const listings, watchers = 100, 50
	var n float64
	var tookAll, floorAll time.Duration
	for b.Loop() {
		b.StopTimer()
		s := open(b, b.TempDir())
		shopper(b, s, "u")
		var detections []outbox.Detection
		for i := range listings {
			item := fmt.Sprint(i)
			first := watching(b, s, "u", item)
			o := observed(850)
			point := watch.PointOf(o)
			d := outbox.Detection{Listing: first.Listing.Read(o, watch.Schedule{}, 0), Observed: &point}
			for n := range watchers {
				w := first.Watch
				w.ID = fmt.Sprintf("w%d-%d", i, n)
				must(b, s.write(ctx, func(tx *tx) error { return insertWatch(tx, w) }))
				change, fired := w.Observed(o, watch.History{})
				d.Changes = append(d.Changes, change)
				d.Entries = append(d.Entries, outbox.NewEntry(w, fired[0], o))
			}
			detections = append(detections, d)
		}
		floor := bareInsert(b, detections)
		b.StartTimer()
		began := time.Now()
		var all sync.WaitGroup
		work := make(chan outbox.Detection)
		for range 32 {
			all.Go(func() {
				for d := range work {
					if n, err := s.SaveDetection(ctx, d); err != nil || n != watchers {
						b.Errorf("%d entries, %v", n, err)
					}
				}
			})
		}
		for _, d := range detections {
			work <- d
		}
		close(work)
		all.Wait()
		took := time.Since(began)
		n, tookAll, floorAll = n+listings*watchers, tookAll+took, floorAll+floor
	}
	b.ReportMetric(n/tookAll.Seconds(), "entries/s")
	b.ReportMetric(n/floorAll.Seconds(), "floor-entries/s")
	b.ReportMetric(floorAll.Seconds()/tookAll.Seconds(), "ratio")
}

// bareInsert is the floor: the same rows by one prepared statement, in
// transactions of as many rows as a group of detections has.
func bareInsert(b *testing.B, detections []outbox.Detection) time.Duration {
	b.Helper()
	s := open(b, b.TempDir())
	shopper(b, s, "u")
	db, err := sql.Open("sqlite", dsn(s.file, "_txlock=immediate"))
	must(b, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	began := time.Now()
	for i := 0; i < len(detections); i += 32 {
		tx, err := db.Begin()
		must(b, err)
		insert, err := tx.Prepare(`INSERT INTO outbox (event_id, user_id, watch_id, listing_id, trigger, channel, status, detected_at, detected_payload_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
		must(b, err)
		for _, d := range detections[i:min(i+32, len(detections))] {
			for _, e := range d.Entries {
				payload, err := json.Marshal(e.Snapshot)
				must(b, err)
				_, err = insert.Exec(e.EventID, e.UserID, e.WatchID, e.ListingID, string(e.Trigger), e.Channel, string(e.Status), instant(e.DetectedAt), string(payload))
				must(b, err)
			}
		}
		must(b, tx.Commit())
	}
	return time.Since(began)
}

// BenchmarkClaim: a claim of 50 rows among 1 000 finished ones, and among
// 1 000 000. The ratio is the time with few by the time with many: 1 is equal.
func BenchmarkClaim(b *testing.B) {
	few, many := finished(b, 1_000), finished(b, 1_000_000)
	var tookFew, tookMany time.Duration
	n := 0
	for b.Loop() {
		n++
		tookFew += claimFifty(b, few, n)
		tookMany += claimFifty(b, many, n)
	}
	b.ReportMetric(float64(tookFew.Microseconds())/float64(n), "µs-among-1k")
	b.ReportMetric(float64(tookMany.Microseconds())/float64(n), "µs-among-1M")
	b.ReportMetric(tookFew.Seconds()/tookMany.Seconds(), "ratio")
}

// finished is a store with so many finished entries and 200 due ones.
func finished(b *testing.B, rows int) *Store {
	b.Helper()
	s := open(b, b.TempDir())
	shopper(b, s, "u")
	w := watching(b, s, "u", "tea")
	o := observed(850)
	_, fired := w.Watch.Observed(o, watch.History{})
	payload, err := json.Marshal(outbox.NewEntry(w.Watch, fired[0], o).Snapshot)
	must(b, err)
	must(b, s.write(context.Background(), func(tx *tx) error {
		_, err := tx.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			INSERT INTO outbox (event_id, user_id, watch_id, listing_id, trigger, channel, status, sent_at, detected_at, detected_payload_json)
			SELECT 'old' || i, 'u', 'old' || i, ?, 'target_price', 'webpush', 'sent', ?, ?, ? FROM n`, rows, w.Listing.ID, instant(noon), instant(noon), string(payload))
		if err != nil {
			return err
		}
		_, err = tx.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
			INSERT INTO outbox (event_id, user_id, watch_id, listing_id, trigger, channel, status, detected_at, detected_payload_json)
			SELECT 'new' || i, 'u', 'new' || i, ?, 'target_price', 'webpush', 'pending', ?, ? FROM n`, w.Listing.ID, instant(noon), string(payload))
		return err
	}))
	return s
}

// claimFifty claims fifty rows whose leases ended long ago, every time anew.
func claimFifty(b *testing.B, s *Store, n int) time.Duration {
	now := noon.Add(time.Duration(n) * time.Hour)
	began := time.Now()
	if jobs := claim(b, s, fmt.Sprint("owner", n), now, 50); len(jobs) != 50 {
		b.Fatalf("claimed %d", len(jobs))
	}
	return time.Since(began)
}
