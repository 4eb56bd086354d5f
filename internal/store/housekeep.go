package store

import (
	"context"
	"time"
)

// keepRemoved is how long a removed watch stays, for the list of its alerts.
const keepRemoved = 30 * 24 * time.Hour

// Retention is how long what is over is kept; zero is for ever.
type Retention struct {
	Default  time.Duration            // finished alerts, and prices that no shop states any more
	Adapters map[string]time.Duration // prices of these adapters, where the shop's terms ask for less
}

// atOnce is how many rows are thrown away in one transaction, so that others
// need not wait long for their turn to write.
const atOnce = 2000

// Housekeep throws away what nobody needs: link codes that have ended, watches
// removed long ago with nothing open, and what is older than it is to be kept.
// The newest price of a listing always stays.
func (s *Store) Housekeep(ctx context.Context, now time.Time, keep Retention) error {
	err := s.write(ctx, func(tx *tx) error {
		if _, err := tx.exec("DELETE FROM link_codes WHERE expires_at <= ?", instant(now)); err != nil {
			return err
		}
		_, err := tx.exec("DELETE FROM watches WHERE removed_at <= ? AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.watch_id = watches.id AND o."+openRows+")",
			instant(now.Add(-keepRemoved)))
		return err
	})
	if err != nil {
		return wrap("housekeep", err)
	}
	if keep.Default > 0 {
		before := instant(now.Add(-keep.Default))
		if err := s.discard(ctx, `DELETE FROM outbox WHERE id IN (SELECT id FROM outbox
			WHERE status IN ('sent', 'dropped', 'failed') AND detected_at <= ?1 ORDER BY id LIMIT ?2)`, before); err != nil {
			return err
		}
		if err := s.discard(ctx, discardPrices+" LIMIT ?2)", before); err != nil {
			return err
		}
	}
	for adapter, age := range keep.Adapters {
		if err := s.discard(ctx, discardPrices+" AND p.listing_id IN (SELECT id FROM listings WHERE adapter = ?3) LIMIT ?2)", instant(now.Add(-age)), adapter); err != nil {
			return err
		}
	}
	return nil
}

const discardPrices = `DELETE FROM prices WHERE (listing_id, at) IN (SELECT p.listing_id, p.at FROM prices p
	WHERE p.confirmed_at <= ?1 AND EXISTS (SELECT 1 FROM prices newer WHERE newer.listing_id = p.listing_id AND newer.at > p.at)`

// discard runs a deletion of at most atOnce rows until there is nothing left.
func (s *Store) discard(ctx context.Context, deletion, before string, more ...any) error {
	for {
		var found bool
		err := s.write(ctx, func(tx *tx) (err error) {
			found, err = tx.changed(deletion, append([]any{before, atOnce}, more...)...)
			return err
		})
		if err != nil || !found {
			return wrap("housekeep", err)
		}
	}
}
