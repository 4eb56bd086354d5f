package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/watch"
)

// openRows is the condition of the partial indexes: a query must say it in these
// words for SQLite to use them.
const openRows = "status IN ('pending', 'sending', 'retry')"

// enqueue is idempotent: one entry per watch, trigger, UTC day and channel. For
// a shopper without a subscription one withheld entry a day is enough to say
// what they missed. The watch must still be at the revision that was decided on.
func enqueue(tx *tx, e outbox.Entry, payload string, revision int64) (bool, error) {
	return tx.changed(`
		INSERT INTO outbox (event_id, user_id, watch_id, listing_id, trigger, channel, status, detected_at, detected_payload_json)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
		WHERE EXISTS (SELECT 1 FROM watches WHERE id = ?3 AND revision = ?10 AND removed_at IS NULL AND paused = 0)
		  AND NOT EXISTS (
			SELECT 1 FROM outbox WHERE watch_id = ?3 AND trigger = ?5 AND channel = ?6 AND date(detected_at) = date(?8)
			   AND status = 'dropped' AND reason = 'no_subscription'
			   AND NOT EXISTS (SELECT 1 FROM subscriptions s JOIN devices d ON d.id = s.device_id WHERE d.user_id = ?2))
		ON CONFLICT (watch_id, trigger, date(detected_at), channel) WHERE status <> 'dropped' DO NOTHING`,
		e.EventID, e.UserID, e.WatchID, e.ListingID, string(e.Trigger), e.Channel, string(e.Status), instant(e.DetectedAt), payload, revision)
}

// claimable selects due entries, the oldest first. Entries of one watch belong
// to one owner at a time. Where a send of one has begun and is not settled, it
// goes before its siblings: it may have arrived, and the shopper has perhaps
// been told. INDEXED BY, because SQLite without statistics would rather sort.
const claimable = `
	SELECT o.id FROM outbox o INDEXED BY outbox_due
	WHERE o.` + openRows + ` AND coalesce(o.lease_until, o.next_attempt_at, o.detected_at) <= ?1 AND o.status <> 'sending'
	  AND NOT EXISTS (
		SELECT 1 FROM outbox s INDEXED BY outbox_open
		WHERE s.watch_id = o.watch_id AND s.` + openRows + ` AND s.id <> o.id
		  AND (s.status = 'sending' OR s.lease_until > ?1
		       OR s.checked_json IS NOT NULL AND o.checked_json IS NULL AND coalesce(s.next_attempt_at, '') <= ?3))
	ORDER BY coalesce(o.lease_until, o.next_attempt_at, o.detected_at), o.id LIMIT ?2`

// heldFor is the longest backoff: a sibling is held no longer than that for a
// send that may have arrived. One whose push service asked for more time has
// surely not.
const heldFor = 30 * time.Minute

// Claim leases due entries to an owner and loads what is needed to work on them.
func (s *Store) Claim(ctx context.Context, r outbox.ClaimRequest) ([]outbox.Job, error) {
	var jobs []outbox.Job
	err := s.write(ctx, func(tx *tx) error {
		if err := rescue(ctx, tx, r); err != nil {
			return err
		}
		var ids []int64
		rows, err := tx.query(ctx, `
			UPDATE outbox SET lease_owner = ?4, lease_until = ?5 WHERE id IN (`+claimable+`)
			RETURNING id`, instant(r.Now), r.Limit, instant(r.Now.Add(heldFor)), r.Owner, instant(r.LeaseUntil))
		err = each(rows, err, func(rows *sql.Rows) error {
			var id int64
			if err := rows.Scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
			return nil
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		jobs, err = jobsBy(ctx, tx, "o.id IN (SELECT value FROM json_each(?)) ORDER BY o.id", list(ids))
		return err
	})
	// One that cannot be read is for a newer binary: it keeps its lease, and holds
	// up nobody else.
	readable := jobs[:0]
	for _, j := range jobs {
		if j.Entry.Snapshot.Schema == 0 {
			s.Logger.Error("store: entry cannot be read by this version", "event_id", j.Entry.EventID)
			continue
		}
		readable = append(readable, j)
	}
	return readable, wrap("claim", err)
}

// rescue takes entries back from senders that died. A send that had begun counts
// as an attempt; it is due again at once.
func rescue(ctx context.Context, tx *tx, r outbox.ClaimRequest) error {
	now, far := instant(r.Now), instant(r.Now.Add(outbox.Lifetime+time.Hour))
	// Written by a clock that ran ahead: due now.
	if _, err := tx.exec(`UPDATE outbox INDEXED BY outbox_due SET lease_owner = NULL, lease_until = NULL,
		detected_payload_json = json_set(detected_payload_json, '$._retry.nextAttemptAt', ?1)
		WHERE `+openRows+` AND coalesce(lease_until, next_attempt_at, detected_at) > ?2 AND status <> 'sending'`, now, far); err != nil {
		return err
	}
	type cut struct {
		entry    outbox.Entry
		accepted int
	}
	var found []cut
	rows, err := tx.query(ctx, `SELECT id, retry_count, (SELECT count(*) FROM deliveries d WHERE d.outbox_id = outbox.id AND d.outcome = 'accepted')
		FROM outbox INDEXED BY outbox_sending WHERE status = 'sending' AND (lease_until <= ?1 OR lease_until > ?2)`, now, far)
	err = each(rows, err, func(rows *sql.Rows) error {
		var c cut
		if err := rows.Scan(&c.entry.ID, &c.entry.RetryCount, &c.accepted); err != nil {
			return err
		}
		found = append(found, c)
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range found {
		// The end at the cap is decided by the outbox; short of it there is no backoff.
		e := outbox.TryLater(c.entry, 0, outbox.LeaseExpired, "", 0, r.MaxRetry, r.Now)
		if e.To == outbox.Retry || c.accepted > 0 { // what one device has does not fail: dispatch ends it
			e.To, e.Reason, e.Retry.NextAttemptAt = outbox.Retry, outbox.LeaseExpired, r.Now
		}
		if _, err := move(tx, c.entry.ID, "", outbox.Sending, e, "lease_owner = NULL, lease_until = NULL"); err != nil {
			return err
		}
	}
	return nil
}

// move is the one place that writes status: a row that is in e's from-state, and
// where an owner is given leased to it. It reports false where there is none
// such. set is more that changes with it.
func move(tx *tx, id int64, owner string, from outbox.Status, e outbox.Ending, set string, args ...any) (bool, error) {
	if err := outbox.Transition(from, e.To); err != nil {
		return false, err
	}
	var schedule any // none written: what is there stays
	if e.Retry != (outbox.Schedule{}) {
		encoded, err := json.Marshal(struct {
			NextAttemptAt string `json:"nextAttemptAt,omitempty"` // of fixed width: it is compared as text
			LastError     string `json:"lastError,omitempty"`
			Attempts      int    `json:"attempts"`
		}{nextAttempt(e.Retry), e.Retry.LastError, e.Retry.Attempts})
		if err != nil {
			return false, err
		}
		schedule = string(encoded)
	}
	var holder any
	if owner != "" {
		holder = owner
	}
	payload := "" // a payload that stays is not written at all
	all := []any{string(e.To), string(e.Reason), e.RetryCount}
	if schedule != nil {
		payload = "detected_payload_json = json_set(detected_payload_json, '$._retry', json(?)), "
		all = append(all, schedule)
	}
	all = append(append(all, args...), id, string(from), holder)
	return tx.changed(`UPDATE outbox SET status = ?, reason = ?, retry_count = ?, `+payload+set+` WHERE id = ? AND status = ? AND lease_owner IS coalesce(?, lease_owner)`, all...)
}

func nextAttempt(s outbox.Schedule) string {
	if s.NextAttemptAt.IsZero() {
		return ""
	}
	return instant(s.NextAttemptAt)
}

// Reload reads a claimed entry anew: its watch may have been told meanwhile.
func (s *Store) Reload(ctx context.Context, entryID int64, owner string) (outbox.Job, error) {
	jobs, err := jobsBy(ctx, s, "o.id = ? AND o.lease_owner = ?", entryID, owner)
	if err == nil && len(jobs) == 0 {
		err = outbox.ErrLeaseLost
	}
	if err != nil {
		return outbox.Job{}, wrap("reload", err)
	}
	return jobs[0], nil
}

// BeginSend marks that a send begins, while the watch is still what was decided on.
func (s *Store) BeginSend(ctx context.Context, b outbox.SendStart) error {
	checked, err := json.Marshal(b.Checked)
	if err != nil {
		return wrap("begin send", err)
	}
	return wrap("begin send", s.write(ctx, func(tx *tx) error {
		var current, leased sql.NullBool
		err := one(tx, []any{&current, &leased}, `SELECT w.revision = ? AND w.removed_at IS NULL AND w.paused = 0, o.lease_until > ?
				AND NOT EXISTS (SELECT 1 FROM outbox s INDEXED BY outbox_open WHERE s.watch_id = o.watch_id AND s.`+openRows+` AND s.id <> o.id AND s.status = 'sending')
			FROM outbox o LEFT JOIN watches w ON w.id = o.watch_id WHERE o.id = ? AND o.lease_owner = ?`, b.WatchRevision, instant(s.Now()), b.EntryID, b.Owner)
		switch {
		case errors.Is(err, watch.ErrNotFound) || err == nil && !leased.Bool:
			return outbox.ErrLeaseLost // ended, and a sibling may be on its way
		case err != nil:
			return err
		case !current.Bool:
			return outbox.ErrChanged
		}
		begun, err := move(tx, b.EntryID, b.Owner, b.From, outbox.Ending{To: outbox.Sending, RetryCount: b.RetryCount}, "lease_until = ?, checked_json = ?", instant(b.LeaseUntil), string(checked))
		if err == nil && !begun {
			err = outbox.ErrLeaseLost
		}
		return err
	}))
}

// Settle ends the work on a claimed entry: its state, its deliveries, the
// subscriptions that are gone, and what a sent alert changes in its watch.
func (s *Store) Settle(ctx context.Context, e outbox.Settlement) error {
	var checked any
	if e.Checked != nil {
		encoded, err := json.Marshal(e.Checked)
		if err != nil {
			return wrap("settle", err)
		}
		checked = string(encoded)
	}
	return wrap("settle", s.write(ctx, func(tx *tx) error {
		ending := outbox.Ending{To: e.To, Reason: e.Reason, Retry: e.Retry, RetryCount: e.RetryCount}
		moved, err := move(tx, e.EntryID, e.Owner, e.From, ending, "lease_owner = NULL, lease_until = NULL, checked_json = coalesce(?, checked_json), sent_at = ?", checked, orNull(e.SentAt))
		if err != nil {
			return err
		}
		if !moved {
			return outbox.ErrLeaseLost
		}
		for _, d := range e.Deliveries {
			if err := saveDelivery(tx, e.EntryID, d); err != nil {
				return err
			}
		}
		if e.Told == nil {
			return nil
		}
		return applyTold(tx, e.WatchID, *e.Told)
	}))
}

func saveDelivery(tx *tx, entryID int64, d outbox.Delivery) error {
	if _, err := tx.exec(`INSERT INTO deliveries (outbox_id, subscription_id, outcome, status, detail, at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (outbox_id, subscription_id) DO UPDATE SET outcome = excluded.outcome, status = excluded.status, detail = excluded.detail, at = excluded.at
		WHERE outcome <> 'accepted'`,
		entryID, d.SubscriptionID, string(d.Outcome), d.Status, d.Detail, instant(d.At)); err != nil {
		return err
	}
	if d.Outcome != outbox.Gone {
		return nil
	}
	_, err := tx.exec("DELETE FROM subscriptions WHERE id = ?", d.SubscriptionID)
	return err
}

func applyTold(tx *tx, watchID string, t watch.Told) error {
	if n := t.Notified; n != nil {
		m, err := minors(n.Price, n.Shipping, n.Points, t.Reference)
		if err != nil {
			return err
		}
		if _, err := tx.exec(`UPDATE watches SET revision = revision + 1, notified_at = ?, notified_price = ?, notified_shipping = ?, notified_points = ?,
			reference = coalesce(?, reference) WHERE id = ?`, instant(n.At), m[0], m[1], m[2], m[3], watchID); err != nil {
			return err
		}
	} else if _, err := tx.exec("UPDATE watches SET revision = revision + 1 WHERE id = ?", watchID); err != nil {
		return err
	}
	if err := setArmed(tx, watchID, t.Arm, true); err != nil {
		return err
	}
	return setArmed(tx, watchID, t.Disarm, false)
}

// Release gives a claim back untouched: due at once, no attempt counted.
func (s *Store) Release(ctx context.Context, entryID int64, owner string) error {
	return wrap("release", s.write(ctx, func(tx *tx) error {
		released, err := tx.changed("UPDATE outbox SET lease_owner = NULL, lease_until = NULL WHERE id = ? AND lease_owner = ? AND status <> 'sending'", entryID, owner)
		if err == nil && !released {
			err = outbox.ErrLeaseLost
		}
		return err
	}))
}

const entryColumns = `o.id, o.event_id, o.user_id, o.watch_id, o.listing_id, o.trigger, o.channel, o.status, o.reason, o.detected_at,
	o.detected_payload_json, o.retry_count, o.checked_json, o.sent_at`

func entriesBy(ctx context.Context, q queryer, where string, args ...any) ([]outbox.Entry, error) {
	var found []outbox.Entry
	rows, err := q.query(ctx, "SELECT "+entryColumns+" FROM outbox o WHERE "+where, args...)
	err = each(rows, err, func(r *sql.Rows) error {
		var e outbox.Entry
		var payload string
		var checked sql.NullString
		if err := r.Scan(&e.ID, &e.EventID, &e.UserID, &e.WatchID, &e.ListingID, &e.Trigger, &e.Channel, &e.Status, &e.Reason, clock{&e.DetectedAt},
			&payload, &e.RetryCount, &checked, clock{&e.SentAt}); err != nil {
			return err
		}
		if err := readPayload([]byte(payload), &e); err != nil {
			e.Snapshot = outbox.Snapshot{} // schema 0: it cannot be read, and the others can
		}
		if checked.Valid {
			e.Checked = &outbox.Checked{}
			if err := json.Unmarshal([]byte(checked.String), e.Checked); err != nil {
				return fmt.Errorf("entry %s: checked: %w", e.EventID, err)
			}
		}
		found = append(found, e)
		return nil
	})
	return found, err
}

func readPayload(payload []byte, e *outbox.Entry) error {
	snapshot, err := outbox.ParseSnapshot(payload)
	if err != nil {
		return err
	}
	e.Snapshot = snapshot
	var beside struct {
		Retry outbox.Schedule `json:"_retry"`
	}
	if err := json.Unmarshal(payload, &beside); err != nil {
		return err
	}
	e.Retry = beside.Retry
	return nil
}

// jobsBy loads entries with their watch, listing, user and the subscriptions
// still owed: a fixed number of queries, however many entries.
func jobsBy(ctx context.Context, q queryer, where string, args ...any) ([]outbox.Job, error) {
	entries, err := entriesBy(ctx, q, where, args...)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	var ids []int64
	var watchIDs, listingIDs, userIDs []string
	for _, e := range entries {
		ids = append(ids, e.ID)
		watchIDs, listingIDs, userIDs = append(watchIDs, e.WatchID), append(listingIDs, e.ListingID), append(userIDs, e.UserID)
	}
	const among = " IN (SELECT value FROM json_each(?))"
	watches, err := watchesBy(ctx, q, "w.id"+among, list(watchIDs))
	if err != nil {
		return nil, err
	}
	watchByID := map[string]watch.Watch{}
	for _, w := range watches {
		watchByID[w.ID] = w
	}
	listings, err := listingsBy(ctx, q, "l.id"+among, list(listingIDs))
	if err != nil {
		return nil, err
	}
	users, err := usersBy(ctx, q, "u.id"+among, list(userIDs))
	if err != nil {
		return nil, err
	}
	subscriptions, err := subscriptionsOfUsers(ctx, q, userIDs)
	if err != nil {
		return nil, err
	}
	done, err := finalDeliveries(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	jobs := make([]outbox.Job, len(entries))
	for i, e := range entries {
		j := outbox.Job{Entry: e, Watch: watchByID[e.WatchID], Listing: listings[e.ListingID], User: users[e.UserID]}
		for _, s := range subscriptions[e.UserID] {
			if _, settled := done[e.ID][s.ID]; !settled {
				j.Owed = append(j.Owed, s)
			}
		}
		for _, o := range done[e.ID] {
			if o == outbox.Accepted {
				j.Accepted++
			}
		}
		jobs[i] = j
	}
	return jobs, nil
}

func finalDeliveries(ctx context.Context, q queryer, ids []int64) (map[int64]map[string]outbox.Outcome, error) {
	done := map[int64]map[string]outbox.Outcome{}
	rows, err := q.query(ctx, "SELECT outbox_id, subscription_id, outcome FROM deliveries WHERE outbox_id IN (SELECT value FROM json_each(?))", list(ids))
	err = each(rows, err, func(r *sql.Rows) error {
		var id int64
		var sub string
		var o outbox.Outcome
		if err := r.Scan(&id, &sub, &o); err != nil {
			return err
		}
		if o.Final() {
			if done[id] == nil {
				done[id] = map[string]outbox.Outcome{}
			}
			done[id][sub] = o
		}
		return nil
	})
	return done, err
}

// Alerts lists a user's entries, the newest first, from a cursor on.
func (s *Store) Alerts(ctx context.Context, userID, cursor string, limit int) ([]outbox.Entry, string, error) {
	before := int64(1 << 62)
	if cursor != "" {
		id, err := readCursor(cursor)
		if err != nil {
			return nil, "", err
		}
		before = id
	}
	entries, err := entriesBy(ctx, s, "o.user_id = ? AND o.id < ? ORDER BY o.id DESC LIMIT ?", userID, before, limit+1)
	if err != nil {
		return nil, "", wrap("alerts", err)
	}
	if len(entries) <= limit {
		return entries, "", nil
	}
	entries = entries[:limit]
	return entries, writeCursor(entries[limit-1].ID), nil
}

// Alert is one of a user's entries with its watch and listing, also where the
// watch is removed.
func (s *Store) Alert(ctx context.Context, userID, eventID string) (outbox.Job, error) {
	jobs, err := jobsBy(ctx, s, "o.user_id = ? AND o.event_id = ?", userID, eventID)
	if err == nil && len(jobs) == 0 {
		err = watch.ErrNotFound
	}
	if err != nil {
		return outbox.Job{}, wrap("alert", err)
	}
	return jobs[0], nil
}

// AlertMoments are the sent alerts of a watch since a time, the oldest first.
func (s *Store) AlertMoments(ctx context.Context, watchID string, since time.Time) ([]watch.AlertMoment, error) {
	var moments []watch.AlertMoment
	rows, err := s.query(ctx, "SELECT sent_at, event_id FROM outbox WHERE watch_id = ? AND status = 'sent' AND sent_at >= ? ORDER BY sent_at", watchID, instant(since))
	err = each(rows, err, func(r *sql.Rows) error {
		var m watch.AlertMoment
		if err := r.Scan(clock{&m.At}, &m.EventID); err != nil {
			return err
		}
		moments = append(moments, m)
		return nil
	})
	return moments, wrap("alert moments", err)
}
