package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// farAhead is longer than any wait between two polls: a week, and a tenth. What is
// due later than this was written by a clock that ran ahead, and is due now.
const farAhead = 8 * 24 * time.Hour

// remember is how far back a decision looks: lowest_in_days takes a year at most.
const remember = 400 * 24 * time.Hour

// Due lists listings to poll, the longest due first: not paused, not being
// polled, and watched by somebody.
func (s *Store) Due(ctx context.Context, now time.Time, limit int) ([]watch.Due, error) {
	var due []watch.Due
	rows, err := s.query(ctx, `
		SELECT l.id, l.host FROM listings l
		WHERE l.paused = 0 AND (l.next_check_at <= ?1 OR l.next_check_at > ?2)
		  AND (l.lease_until IS NULL OR l.lease_until <= ?1 OR l.lease_until > ?2)
		  AND EXISTS (SELECT 1 FROM watches w WHERE w.listing_id = l.id AND w.removed_at IS NULL AND w.paused = 0)
		ORDER BY l.next_check_at LIMIT ?3`, instant(now), instant(now.Add(farAhead)), limit)
	err = each(rows, err, func(r *sql.Rows) error {
		var d watch.Due
		if err := r.Scan(&d.ListingID, &d.Host); err != nil {
			return err
		}
		due = append(due, d)
		return nil
	})
	return due, wrap("due listings", err)
}

// BeginPoll leases a listing that is still due, and loads what a decision about
// it needs. It returns false where another process was faster.
func (s *Store) BeginPoll(ctx context.Context, listingID string, now, leaseUntil time.Time) (watch.Poll, bool, error) {
	var p watch.Poll
	var ours bool
	err := s.write(ctx, func(tx *tx) (err error) {
		ours, err = tx.changed(`
			UPDATE listings SET lease_until = ?1
			WHERE id = ?2 AND paused = 0 AND (next_check_at <= ?3 OR next_check_at > ?4)
			  AND (lease_until IS NULL OR lease_until <= ?3 OR lease_until > ?4)`,
			instant(leaseUntil), listingID, instant(now), instant(now.Add(farAhead)))
		return err
	})
	if err != nil || !ours {
		return p, false, wrap("begin poll", err)
	}
	// Read outside of the writer: the lease keeps other polls away, and a watch that
	// changes meanwhile is noticed by its revision.
	listings, err := listingsBy(ctx, s, "l.id IN (SELECT value FROM json_each(?))", list([]string{listingID}))
	if err != nil {
		return p, false, wrap("begin poll", err)
	}
	p.Listing = listings[listingID]
	if p.Watches, err = watchesBy(ctx, s, "w.listing_id = ? AND w.removed_at IS NULL AND w.paused = 0 ORDER BY w.created_at, w.id", listingID); err != nil {
		return p, false, wrap("begin poll", err)
	}
	p.History, err = historyOf(ctx, s, listingID, now.Add(-remember))
	return p, err == nil, wrap("begin poll", err)
}

// SaveDetection writes all that one poll changes: the listing's state, the price
// point, references and marks of watches, and the entries of the outbox. It
// returns how many entries are new.
func (s *Store) SaveDetection(ctx context.Context, d outbox.Detection) (enqueued int, err error) {
	// Encoded here, so that the writer does nothing but write.
	payloads := make([]string, len(d.Entries))
	for i, e := range d.Entries {
		encoded, err := json.Marshal(e.Snapshot)
		if err != nil {
			return 0, wrap("save detection", err)
		}
		payloads[i] = string(encoded)
	}
	err = s.write(ctx, func(tx *tx) error {
		enqueued = 0
		newer, err := readSince(tx, d.Listing.ID, d.Began)
		if err != nil || newer {
			return err // another poll has read it since this one began, and its word counts
		}
		if err := updateListing(tx, d.Listing, d.Began); err != nil {
			return err
		}
		if d.Observed != nil {
			if err := observe(ctx, tx, d.Listing.ID, *d.Observed); err != nil {
				return err
			}
		}
		// What was decided on one revision of a watch is not applied to another: one
		// that was edited, told, paused or removed meanwhile is decided at the next poll.
		revision := make(map[string]int64, len(d.Changes))
		for _, c := range d.Changes {
			revision[c.WatchID] = c.Revision
			if err := applyChange(tx, c); err != nil {
				return err
			}
		}
		for i, e := range d.Entries {
			decidedOn, known := revision[e.WatchID]
			if !known {
				return fmt.Errorf("entry of watch %s without its change", e.WatchID)
			}
			created, err := enqueue(tx, e, payloads[i], decidedOn)
			if err != nil {
				return err
			}
			if created {
				enqueued++
			}
		}
		return replaced(tx, d.Listing.ID, d.Was)
	})
	return enqueued, wrap("save detection", err)
}

// replaced marks the watches of a listing that is another product now: what they
// were made for. One that was made for an earlier product yet keeps its mark.
func replaced(tx *tx, listingID, was string) error {
	if was == "" {
		return nil
	}
	_, err := tx.exec("UPDATE watches SET product = ?, revision = revision + 1 WHERE listing_id = ? AND product = ''", was, listingID)
	return err
}

func applyChange(tx *tx, c watch.Change) error {
	if c.Empty() {
		return nil
	}
	reference, err := minor(c.Reference)
	if err != nil {
		return err
	}
	applied, err := tx.changed(`
		UPDATE watches SET reference = coalesce(?, reference), currency = iif(currency = '', ?, currency)
		WHERE id = ? AND revision = ? AND removed_at IS NULL AND paused = 0`, reference, c.Reference.Currency(), c.WatchID, c.Revision)
	if err != nil || !applied {
		return err
	}
	return setArmed(tx, c.WatchID, c.Arm, true)
}

func setArmed(tx *tx, watchID string, types []watch.TriggerType, armed bool) error {
	for _, t := range types {
		if _, err := tx.exec("UPDATE triggers SET armed = ? WHERE watch_id = ? AND type = ?", armed, watchID, string(t)); err != nil {
			return err
		}
	}
	return nil
}

// observe confirms the newest point, or begins a new one. History never runs
// backwards: after a clock stepped back, a point follows the one before it.
func observe(ctx context.Context, tx *tx, listingID string, p watch.Point) error {
	newest, err := pointsBy(ctx, tx, "listing_id = ? ORDER BY at DESC LIMIT 1", listingID)
	if err != nil {
		return err
	}
	var since time.Time
	if err := one(tx, []any{clock{&since}}, "SELECT since FROM listings WHERE id = ?", listingID); err != nil {
		return err
	}
	for _, last := range newest {
		// A price of what the listing was before is none of this product's.
		if !last.At.Before(since) && last.Same(watch.Observation{Price: p.Price, Shipping: p.Shipping, Points: p.Points, Availability: p.Availability}) {
			_, err := tx.exec("UPDATE prices SET confirmed_at = max(confirmed_at, ?) WHERE listing_id = ? AND at = ?",
				instant(p.At), listingID, instant(last.At))
			return err
		}
		if !p.At.Truncate(time.Millisecond).After(last.At) {
			p.At = last.At.Add(time.Millisecond)
		}
	}
	if p.ConfirmedAt.Before(p.At) {
		p.ConfirmedAt = p.At
	}
	m, err := minors(p.Price, p.Shipping, p.Points)
	if err != nil {
		return err
	}
	_, err = tx.exec(`INSERT INTO prices (listing_id, at, confirmed_at, currency, price, shipping, points, availability, found_by, evidence)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		listingID, instant(p.At), instant(p.ConfirmedAt), p.Price.Currency(), m[0], m[1], m[2], string(p.Availability), p.FoundBy, p.Evidence)
	return err
}

// History of a listing, the oldest point first: of the product that it is now.
func (s *Store) History(ctx context.Context, listingID string) (watch.History, error) {
	h, err := historyOf(ctx, s, listingID, time.Time{})
	return h, wrap("history", err)
}

// HistoryAt is the history of the listing with this identity; empty where nobody
// has watched it.
func (s *Store) HistoryAt(ctx context.Context, ref shop.Ref) (watch.History, error) {
	var id string
	err := one(s, []any{&id}, "SELECT id FROM listings WHERE adapter = ? AND item_code = ?", ref.Adapter, ref.ItemCode)
	if errors.Is(err, watch.ErrNotFound) {
		return watch.History{}, nil
	}
	if err != nil {
		return watch.History{}, wrap("history", err)
	}
	return s.History(ctx, id)
}

// historyOf reads the points of the listing's product that were confirmed since a time.
func historyOf(ctx context.Context, q queryer, listingID string, since time.Time) (watch.History, error) {
	points, err := pointsBy(ctx, q, `listing_id = ?1 AND confirmed_at >= ?2
		AND at >= coalesce((SELECT since FROM listings WHERE id = ?1), '') ORDER BY at`, listingID, instant(since))
	return watch.History{Points: points}, err
}

func pointsBy(ctx context.Context, q queryer, where string, args ...any) ([]watch.Point, error) {
	var points []watch.Point
	rows, err := q.query(ctx, "SELECT at, confirmed_at, currency, price, shipping, points, availability, found_by, evidence FROM prices WHERE "+where, args...)
	err = each(rows, err, func(r *sql.Rows) error {
		var p watch.Point
		var currency string
		var c parts
		if err := r.Scan(clock{&p.At}, clock{&p.ConfirmedAt}, &currency, &c.price, &c.shipping, &c.points, &p.Availability, &p.FoundBy, &p.Evidence); err != nil {
			return err
		}
		if err := c.into(currency, &p.Price, &p.Shipping, &p.Points); err != nil {
			return err
		}
		points = append(points, p)
		return nil
	})
	return points, err
}

const listingColumns = `l.id, l.adapter, l.item_code, l.url, l.name, l.image_url, l.seen_at, l.currency, l.price, l.shipping, l.points,
	l.availability, l.quantity, l.quantity_unit, l.found_by, l.evidence, l.since, l.checked_at, l.problem_kind, l.problem_since, l.problem_message,
	l.suspect_json, l.paused, l.failures, l.gone_strikes, l.resting_until, l.next_check_at`

// listingScan gives the places to scan listingColumns into, and what completes
// the listing afterwards.
func listingScan(l *watch.Listing) (to []any, finish func() error) {
	var c parts
	var currency string
	var problem watch.Problem
	var suspect sql.NullString
	to = []any{&l.ID, &l.Adapter, &l.ItemCode, &l.URL, &l.Name, &l.ImageURL, clock{&l.Last.At}, &currency, &c.price, &c.shipping, &c.points,
		&l.Last.Availability, &l.Last.Quantity.Amount, &l.Last.Quantity.Unit, &l.Last.FoundBy, &l.Last.Evidence, clock{&l.Since}, clock{&l.CheckedAt},
		&problem.Kind, clock{&problem.Since}, &problem.Message, &suspect, &l.Paused, &l.Failures, &l.GoneStrikes, clock{&l.RestingUntil}, clock{&l.NextCheckAt}}
	return to, func() error {
		l.Last.Name, l.Last.ImageURL, l.Last.Since = l.Name, l.ImageURL, l.Since
		if problem.Kind != "" {
			l.Problem = &problem
		}
		if suspect.Valid {
			l.Suspect = &watch.Suspect{}
			if err := json.Unmarshal([]byte(suspect.String), l.Suspect); err != nil {
				return fmt.Errorf("listing %s: suspect: %w", l.ID, err)
			}
		}
		return c.into(currency, &l.Last.Price, &l.Last.Shipping, &l.Last.Points)
	}
}

func listingsBy(ctx context.Context, q queryer, where string, args ...any) (map[string]watch.Listing, error) {
	found := map[string]watch.Listing{}
	rows, err := q.query(ctx, "SELECT "+listingColumns+" FROM listings l WHERE "+where, args...)
	err = each(rows, err, func(r *sql.Rows) error {
		var l watch.Listing
		to, finish := listingScan(&l)
		if err := r.Scan(to...); err != nil {
			return err
		}
		if err := finish(); err != nil {
			return err
		}
		found[l.ID] = l
		return nil
	})
	return found, err
}

func listingValues(l watch.Listing) ([]any, error) {
	m, err := minors(l.Last.Price, l.Last.Shipping, l.Last.Points)
	if err != nil {
		return nil, err
	}
	var suspect any
	if l.Suspect != nil {
		encoded, err := json.Marshal(l.Suspect)
		if err != nil {
			return nil, err
		}
		suspect = string(encoded)
	}
	var p watch.Problem
	if l.Problem != nil {
		p = *l.Problem
	}
	availability := l.Last.Availability
	if availability == "" {
		availability = "unknown"
	}
	return []any{l.URL, host(l.URL), l.Name, l.ImageURL, orNull(l.Last.At), l.Last.Price.Currency(), m[0], m[1], m[2], string(availability),
		l.Last.Quantity.Amount, l.Last.Quantity.Unit, l.Last.FoundBy, l.Last.Evidence, orNull(l.Since), orNull(l.CheckedAt), p.Kind, orNull(p.Since), p.Message,
		suspect, l.Paused, l.Failures, l.GoneStrikes, orNull(l.RestingUntil), instant(l.NextCheckAt), l.ID}, nil
}

// readSince reports whether the listing was read by a poll that ended after the
// given time; zero asks nothing.
func readSince(tx *tx, listingID string, began time.Time) (newer bool, err error) {
	if began.IsZero() {
		return false, nil
	}
	err = one(tx, []any{&newer}, "SELECT coalesce(checked_at > ? AND seen_at IS NOT NULL, 0) FROM listings WHERE id = ?", instant(began), listingID)
	return newer, err
}

// updateListing writes the state after a poll. A poll that somebody asked for
// since this one began is not forgotten.
func updateListing(tx *tx, l watch.Listing, began time.Time) error {
	values, err := listingValues(l)
	if err != nil {
		return err
	}
	if began.IsZero() {
		began = l.NextCheckAt.Add(10 * 365 * 24 * time.Hour) // nobody asked meanwhile
	}
	_, err = tx.exec(`UPDATE listings SET url = ?, host = ?, name = ?, image_url = ?, seen_at = ?, currency = ?, price = ?, shipping = ?, points = ?,
		availability = ?, quantity = ?, quantity_unit = ?, found_by = ?, evidence = ?, since = ?, checked_at = ?, problem_kind = ?, problem_since = ?, problem_message = ?,
		suspect_json = ?, paused = ?, failures = ?, gone_strikes = ?, resting_until = ?,
		next_check_at = iif(next_check_at >= ?27, min(next_check_at, ?25), ?25), lease_until = NULL WHERE id = ?26`, append(values, instant(began))...)
	return err
}

func insertListing(tx *tx, l watch.Listing) error {
	values, err := listingValues(l)
	if err != nil {
		return err
	}
	_, err = tx.exec(`INSERT INTO listings (url, host, name, image_url, seen_at, currency, price, shipping, points, availability, quantity, quantity_unit,
		found_by, evidence, since, checked_at, problem_kind, problem_since, problem_message, suspect_json, paused, failures, gone_strikes, resting_until, next_check_at, id, adapter, item_code)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, append(values, l.Adapter, l.ItemCode)...)
	return err
}

// host groups listings for politeness; an address that does not parse is a
// group of its own.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return strings.ToLower(u.Host)
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store: %s: %w", doing, err)
}
