package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/watch"
)

// Stats are the numbers that an operator looks at.
type Stats struct {
	ByStatus  map[outbox.Status]int // entries in each state, 0 included
	ByReason  map[string]int        // entries in "retry", "dropped" and "failed" by reason
	Open      int                   // entries that are not final
	OldestDue time.Time             // since when the longest waiting entry is due; zero if none is
	Problems  map[string]int        // listings by what is wrong with them

	Listings, Watches, Users, Subscriptions int
}

// Stats counts.
func (s *Store) Stats(ctx context.Context, now time.Time) (Stats, error) {
	st := Stats{ByStatus: map[outbox.Status]int{}, ByReason: map[string]int{}, Problems: map[string]int{}}
	for _, status := range outbox.Statuses() {
		st.ByStatus[status] = 0
	}
	rows, err := s.query(ctx, `
		SELECT status, reason, count(*) FROM outbox WHERE status IN ('sent', 'dropped', 'failed') GROUP BY status, reason
		UNION ALL SELECT status, reason, count(*) FROM outbox WHERE `+openRows+` GROUP BY status, reason`)
	err = each(rows, err, func(r *sql.Rows) error {
		var status outbox.Status
		var reason string
		var n int
		if err := r.Scan(&status, &reason, &n); err != nil {
			return err
		}
		st.ByStatus[status] += n
		if reason != "" {
			st.ByReason[reason] += n
		}
		if !status.Final() {
			st.Open += n
		}
		return nil
	})
	if err != nil {
		return st, wrap("stats", err)
	}
	if st.OldestDue, err = s.OldestDue(ctx, now); err != nil {
		return st, err
	}
	rows, err = s.query(ctx, "SELECT problem_kind, count(*) FROM listings WHERE problem_kind <> '' GROUP BY problem_kind")
	err = each(rows, err, func(r *sql.Rows) error {
		var kind string
		var n int
		if err := r.Scan(&kind, &n); err != nil {
			return err
		}
		st.Problems[kind] = n
		return nil
	})
	if err != nil {
		return st, wrap("stats", err)
	}
	err = one(s, []any{&st.Listings, &st.Watches, &st.Users, &st.Subscriptions}, `SELECT (SELECT count(*) FROM listings),
		(SELECT count(*) FROM watches WHERE removed_at IS NULL), (SELECT count(*) FROM users), (SELECT count(*) FROM subscriptions)`)
	return st, wrap("stats", err)
}

// OldestDue is since when the longest waiting entry is due; zero if none is.
func (s *Store) OldestDue(ctx context.Context, now time.Time) (time.Time, error) {
	var due time.Time
	err := one(s, []any{clock{&due}}, `SELECT coalesce(lease_until, next_attempt_at, detected_at) FROM outbox INDEXED BY outbox_due
		WHERE `+openRows+` AND coalesce(lease_until, next_attempt_at, detected_at) <= ? ORDER BY coalesce(lease_until, next_attempt_at, detected_at), id LIMIT 1`, instant(now))
	if errors.Is(err, watch.ErrNotFound) {
		err = nil
	}
	return due, wrap("oldest due", err)
}
