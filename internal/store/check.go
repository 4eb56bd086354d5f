package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sokone/sokone/internal/outbox"
)

// invariants are sentences that must hold, each with the query that finds rows
// where it does not.
var invariants = []struct{ says, query string }{
	{"an entry that is being sent has a lease", "SELECT event_id FROM outbox WHERE status = 'sending' AND lease_until IS NULL"},
	{"a final entry has no lease", "SELECT event_id FROM outbox WHERE status IN ('sent', 'dropped', 'failed') AND lease_owner IS NOT NULL"},
	{"a sent entry says when", "SELECT event_id FROM outbox WHERE (status = 'sent') <> (sent_at IS NOT NULL)"},
	{"a sent entry was accepted by a push service", "SELECT event_id FROM outbox WHERE status = 'sent' AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox_id = outbox.id AND d.outcome = 'accepted')"},
	{"a dropped, failed or retried entry says why", "SELECT event_id FROM outbox WHERE status IN ('dropped', 'failed', 'retry') AND reason = ''"},
	{"a retry says when it is due", "SELECT event_id FROM outbox WHERE status = 'retry' AND next_attempt_at IS NULL"},
	{"an open entry has its user and listing", "SELECT event_id FROM outbox o WHERE status IN ('pending', 'sending', 'retry') AND NOT EXISTS (SELECT 1 FROM listings l WHERE l.id = o.listing_id)"},
	{"last_notified is the price of a sent alert", `SELECT w.id FROM watches w WHERE w.notified_at IS NOT NULL
		AND EXISTS (SELECT 1 FROM outbox o WHERE o.watch_id = w.id)
		AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.watch_id = w.id AND o.status = 'sent' AND o.sent_at = w.notified_at)`},
	{"a sent alert about a price has moved last_notified", `SELECT o.event_id FROM outbox o JOIN watches w ON w.id = o.watch_id
		WHERE o.status = 'sent' AND o.trigger NOT IN ('unreadable', 'readable') AND json_extract(o.checked_json, '$.price') IS NOT NULL AND w.notified_at IS NULL`},
	{"a watch has a trigger", "SELECT id FROM watches w WHERE NOT EXISTS (SELECT 1 FROM triggers t WHERE t.watch_id = w.id)"},
	{"a price is above zero", "SELECT listing_id || ' ' || at FROM prices WHERE price <= 0"},
	{"a price was confirmed after it was read", "SELECT listing_id || ' ' || at FROM prices WHERE confirmed_at < at"},
}

// Check looks for damage and for broken invariants. It returns a sentence for
// each finding; none means that the database is well.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	var findings []string
	collect := func(says, query string) error {
		rows, err := s.query(ctx, query)
		return each(rows, err, func(r *sql.Rows) error {
			columns, err := r.Columns()
			if err != nil {
				return err
			}
			row := make([]any, len(columns))
			for i := range row {
				row[i] = new(sql.NullString)
			}
			if err := r.Scan(row...); err != nil {
				return err
			}
			if id := row[0].(*sql.NullString).String; id != "ok" {
				findings = append(findings, fmt.Sprintf("%s: not so for %s", says, id))
			}
			return nil
		})
	}
	if err := collect("the file is whole", "PRAGMA integrity_check"); err != nil {
		return nil, wrap("check", err)
	}
	if err := collect("references lead somewhere", "PRAGMA foreign_key_check"); err != nil {
		return nil, wrap("check", err)
	}
	for _, i := range invariants {
		if err := collect(i.says, i.query); err != nil {
			return nil, wrap("check: "+i.says, err)
		}
	}
	rows, err := s.query(ctx, "SELECT event_id, detected_payload_json FROM outbox")
	err = each(rows, err, func(r *sql.Rows) error {
		var id, payload string
		if err := r.Scan(&id, &payload); err != nil {
			return err
		}
		var e outbox.Entry
		if err := readPayload([]byte(payload), &e); err != nil {
			findings = append(findings, fmt.Sprintf("a snapshot can be read: not so for %s: %v", id, err))
		}
		return nil
	})
	return findings, wrap("check", err)
}
