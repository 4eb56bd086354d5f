package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/watch"
)

// undoFor is how long a removal can be undone.
const undoFor = 24 * time.Hour

// CreateWatch stores a watch on a listing that is found by its identity, or made
// from l with o as its first point. An existing listing becomes due at once, so
// that a trigger that holds already is told at once. A second watch of one user on
// one listing is watch.ErrConflict, with the id of the first.
func (s *Store) CreateWatch(ctx context.Context, w watch.Watch, l watch.Listing, o watch.Observation, maxWatches int) (watch.Watched, error) {
	var out watch.Watched
	err := s.write(ctx, func(tx *tx) error {
		live, err := liveWatches(tx, w.UserID)
		if err != nil {
			return err
		}
		if live >= maxWatches {
			return watch.ErrLimit
		}
		found, err := listingsBy(ctx, tx, "l.adapter = ? AND l.item_code = ?", l.Adapter, l.ItemCode)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			l = l.Read(o, watch.Schedule{}, 0) // due at once
			if err := insertListing(tx, l); err != nil {
				return err
			}
		}
		for _, known := range found {
			id, err := watchedAlready(tx, w.UserID, known.ID)
			if err != nil {
				return err
			}
			if id != "" {
				out.Watch.ID = id
				return watch.ErrConflict
			}
			if !watch.SameName(known.Name, o.Name) {
				w.Product = o.Name // detection has yet to believe that the page is this product now
			}
			l = known.Resume(o.At)
			if err := resumeListing(tx, l); err != nil {
				return err
			}
		}
		// What was just read is history too, unless detection must judge it first.
		if len(found) == 0 || l.Last.Price.Equal(o.Price) {
			if err := observe(ctx, tx, l.ID, watch.PointOf(o)); err != nil {
				return err
			}
		}
		w.ListingID = l.ID
		if err := insertWatch(tx, w); err != nil {
			return err
		}
		out = watch.Watched{Watch: w, Listing: l}
		return nil
	})
	return out, wrap("create watch", err)
}

func liveWatches(tx *tx, userID string) (n int, err error) {
	err = one(tx, []any{&n}, "SELECT count(*) FROM watches WHERE user_id = ? AND removed_at IS NULL", userID)
	return n, err
}

// watchedAlready finds the user's watch on a listing; "" if there is none.
func watchedAlready(tx *tx, userID, listingID string) (id string, err error) {
	err = one(tx, []any{&id}, "SELECT id FROM watches WHERE listing_id = ? AND user_id = ? AND removed_at IS NULL", listingID, userID)
	if errors.Is(err, watch.ErrNotFound) {
		err = nil
	}
	return id, err
}

func resumeListing(tx *tx, l watch.Listing) error {
	_, err := tx.exec("UPDATE listings SET paused = ?, gone_strikes = ?, next_check_at = ? WHERE id = ?", l.Paused, l.GoneStrikes, instant(l.NextCheckAt), l.ID)
	return err
}

func insertWatch(tx *tx, w watch.Watch) error {
	values, err := watchValues(w)
	if err != nil {
		return err
	}
	if _, err := tx.exec(`INSERT INTO watches (basis, currency, note, paused, reference, notified_at, notified_price, notified_shipping, notified_points,
		quantity, quantity_unit, product, revision, id, user_id, listing_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		append(values, w.UserID, w.ListingID, instant(w.CreatedAt))...); err != nil {
		return err
	}
	return insertTriggers(tx, w)
}

func watchValues(w watch.Watch) ([]any, error) {
	n := watch.Notified{}
	if w.LastNotified != nil {
		n = *w.LastNotified
	}
	m, err := minors(w.Reference, n.Price, n.Shipping, n.Points)
	if err != nil {
		return nil, err
	}
	return []any{string(w.Basis), w.Currency, w.Note, w.Paused, m[0], orNull(n.At), m[1], m[2], m[3],
		w.Quantity.Amount, w.Quantity.Unit, w.Product, w.Revision, w.ID}, nil
}

func insertTriggers(tx *tx, w watch.Watch) error {
	for i, t := range w.Triggers {
		if _, err := tx.exec("INSERT INTO triggers (watch_id, type, position, target, target_currency, percent, days, unit, armed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			w.ID, string(t.Type), i, t.Target.Number(), t.Target.Currency(), t.Percent, t.Days, t.Unit, t.Armed); err != nil {
			return err
		}
	}
	return nil
}

// Watch finds one of a user's watches that is not removed.
func (s *Store) Watch(ctx context.Context, userID, id string) (watch.Watched, error) {
	found, err := watchedBy(ctx, s, "w.user_id = ? AND w.id = ? AND w.removed_at IS NULL", userID, id)
	if err == nil && len(found) == 0 {
		err = watch.ErrNotFound
	}
	if err != nil {
		return watch.Watched{}, wrap("watch", err)
	}
	return found[0], nil
}

// Watches lists a user's watches, the newest first.
func (s *Store) Watches(ctx context.Context, userID string) ([]watch.Watched, error) {
	found, err := watchedBy(ctx, s, "w.user_id = ? AND w.removed_at IS NULL ORDER BY w.created_at DESC, w.id", userID)
	return found, wrap("watches", err)
}

// UpdateWatch changes a watch by a function of its state, in one transaction.
// An error of the function changes nothing. A listing that it resumed becomes
// due.
func (s *Store) UpdateWatch(ctx context.Context, userID, id string, change func(*watch.Watched) error) (watch.Watched, error) {
	var out watch.Watched
	err := s.write(ctx, func(tx *tx) error {
		found, err := watchedBy(ctx, tx, "w.user_id = ? AND w.id = ? AND w.removed_at IS NULL", userID, id)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return watch.ErrNotFound
		}
		out = found[0]
		before := out
		if err := change(&out); err != nil {
			return err
		}
		out.Watch.Revision = before.Watch.Revision + 1
		out.Watch.LastNotified = before.Watch.LastNotified // only a sent alert moves it
		values, err := watchValues(out.Watch)
		if err != nil {
			return err
		}
		if _, err := tx.exec(`UPDATE watches SET basis = ?, currency = ?, note = ?, paused = ?, reference = ?, notified_at = ?, notified_price = ?,
			notified_shipping = ?, notified_points = ?, quantity = ?, quantity_unit = ?, product = ?, revision = ? WHERE id = ?`, values...); err != nil {
			return err
		}
		if _, err := tx.exec("DELETE FROM triggers WHERE watch_id = ?", id); err != nil {
			return err
		}
		if err := insertTriggers(tx, out.Watch); err != nil {
			return err
		}
		if b, a := before.Listing, out.Listing; b.Paused != a.Paused || !b.NextCheckAt.Equal(a.NextCheckAt) {
			return resumeListing(tx, a)
		}
		return nil
	})
	return out, wrap("update watch", err)
}

// RemoveWatch hides a watch. Its queued alerts end as watch_removed.
func (s *Store) RemoveWatch(ctx context.Context, userID, id string, at time.Time) error {
	return s.mark(ctx, "remove watch", "UPDATE watches SET removed_at = ?, revision = revision + 1 WHERE user_id = ? AND id = ? AND removed_at IS NULL", instant(at), userID, id)
}

// RestoreWatch undoes a removal of the last day, unless the user watches the
// listing anew, or has as many watches as they may.
func (s *Store) RestoreWatch(ctx context.Context, userID, id string, maxWatches int) (watch.Watched, error) {
	err := s.write(ctx, func(tx *tx) error {
		var listingID string
		if err := one(tx, []any{&listingID}, "SELECT listing_id FROM watches WHERE removed_at > ? AND user_id = ? AND id = ?",
			instant(s.Now().Add(-undoFor)), userID, id); err != nil {
			return err
		}
		other, err := watchedAlready(tx, userID, listingID)
		if err == nil && other != "" {
			err = watch.ErrConflict
		}
		if err != nil {
			return err
		}
		live, err := liveWatches(tx, userID)
		if err == nil && live >= maxWatches {
			err = watch.ErrLimit
		}
		if err != nil {
			return err
		}
		_, err = tx.exec("UPDATE watches SET removed_at = NULL, revision = revision + 1 WHERE id = ?", id)
		return err
	})
	if err != nil {
		return watch.Watched{}, wrap("restore watch", err)
	}
	return s.Watch(ctx, userID, id)
}

// mark runs one update that must find its row.
func (s *Store) mark(ctx context.Context, doing, query string, args ...any) error {
	return wrap(doing, s.write(ctx, func(tx *tx) error {
		found, err := tx.changed(query, args...)
		if err == nil && !found {
			err = watch.ErrNotFound
		}
		return err
	}))
}

const watchColumns = `w.id, w.user_id, w.listing_id, w.basis, w.currency, w.note, w.paused, w.removed_at IS NOT NULL, w.created_at,
	w.reference, w.notified_at, w.notified_price, w.notified_shipping, w.notified_points,
	w.quantity, w.quantity_unit, w.product, w.revision`

func watchScan(w *watch.Watch) (to []any, finish func() error) {
	var reference sql.NullInt64
	var c parts
	var n watch.Notified
	to = []any{&w.ID, &w.UserID, &w.ListingID, &w.Basis, &w.Currency, &w.Note, &w.Paused, &w.Removed, clock{&w.CreatedAt},
		&reference, clock{&n.At}, &c.price, &c.shipping, &c.points,
		&w.Quantity.Amount, &w.Quantity.Unit, &w.Product, &w.Revision}
	return to, func() (err error) {
		if w.Reference, err = amountOf(reference, w.Currency); err != nil || n.At.IsZero() {
			return err
		}
		w.LastNotified = &n
		return c.into(w.Currency, &n.Price, &n.Shipping, &n.Points)
	}
}

// watchesBy reads watches with their triggers: two queries, however many.
func watchesBy(ctx context.Context, q queryer, where string, args ...any) ([]watch.Watch, error) {
	var found []watch.Watch
	rows, err := q.query(ctx, "SELECT "+watchColumns+" FROM watches w WHERE "+where, args...)
	err = each(rows, err, func(r *sql.Rows) error {
		var w watch.Watch
		to, finish := watchScan(&w)
		if err := r.Scan(to...); err != nil {
			return err
		}
		found = append(found, w)
		err := finish()
		found[len(found)-1] = w
		return err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	at := make(map[string]int, len(found))
	ids := make([]string, len(found))
	for i, w := range found {
		at[w.ID], ids[i] = i, w.ID
	}
	rows, err = q.query(ctx, `SELECT watch_id, type, target, target_currency, percent, days, unit, armed FROM triggers
		WHERE watch_id IN (SELECT value FROM json_each(?)) ORDER BY watch_id, position`, list(ids))
	err = each(rows, err, func(r *sql.Rows) error {
		var id, target, currency string
		var t watch.Trigger
		if err := r.Scan(&id, &t.Type, &target, &currency, &t.Percent, &t.Days, &t.Unit, &t.Armed); err != nil {
			return err
		}
		if target != "" {
			amount, err := money.Parse(target, currency)
			if err != nil {
				return err
			}
			t.Target = amount
		}
		w := &found[at[id]]
		w.Triggers = append(w.Triggers, t)
		return nil
	})
	return found, err
}

func watchedBy(ctx context.Context, q queryer, where string, args ...any) ([]watch.Watched, error) {
	watches, err := watchesBy(ctx, q, where, args...)
	if err != nil || len(watches) == 0 {
		return nil, err
	}
	ids := make([]string, len(watches))
	for i, w := range watches {
		ids[i] = w.ListingID
	}
	listings, err := listingsBy(ctx, q, "l.id IN (SELECT value FROM json_each(?))", list(ids))
	if err != nil {
		return nil, err
	}
	out := make([]watch.Watched, len(watches))
	for i, w := range watches {
		out[i] = watch.Watched{Watch: w, Listing: listings[w.ListingID]}
	}
	return out, nil
}

// one reads the single row of a query; watch.ErrNotFound where there is none.
func one(q queryer, to []any, query string, args ...any) error {
	found := false
	rows, err := q.query(context.Background(), query, args...)
	err = each(rows, err, func(r *sql.Rows) error {
		found = true
		return r.Scan(to...)
	})
	if err == nil && !found {
		err = watch.ErrNotFound
	}
	return err
}
