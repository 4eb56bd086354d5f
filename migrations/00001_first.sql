-- Instants are UTC text of fixed width, 2026-10-01T09:00:00.000Z, so that text
-- order is time order. Money is integer minor units beside an ISO 4217 code;
-- only targets are decimal text, because a unit price has no minor unit.

-- +goose Up

CREATE TABLE users (
    id         TEXT PRIMARY KEY,
    timezone   TEXT NOT NULL,
    locale     TEXT NOT NULL,
    quiet_from TEXT NOT NULL DEFAULT '',
    quiet_to   TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE devices (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_hash BLOB NOT NULL UNIQUE, -- SHA-256; the token itself is never stored
    created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX devices_user ON devices (user_id);

CREATE TABLE link_codes (
    code_hash  BLOB PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX link_codes_user ON link_codes (user_id);

CREATE TABLE subscriptions (
    id           TEXT PRIMARY KEY,
    device_id    TEXT NOT NULL UNIQUE REFERENCES devices (id) ON DELETE CASCADE,
    endpoint     TEXT NOT NULL UNIQUE,
    p256dh       TEXT NOT NULL,
    auth         TEXT NOT NULL,
    key_id       TEXT NOT NULL, -- of the VAPID key it was made under
    origin       TEXT NOT NULL, -- of the app when it subscribed
    expires_at   TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE listings (
    id              TEXT PRIMARY KEY,
    adapter         TEXT    NOT NULL,
    item_code       TEXT    NOT NULL,
    url             TEXT    NOT NULL,
    host            TEXT    NOT NULL, -- of url: one poll at a time
    name            TEXT    NOT NULL,
    image_url       TEXT    NOT NULL,

    -- the last observation that was believed
    seen_at         TEXT,
    currency        TEXT    NOT NULL DEFAULT '',
    price           INTEGER,
    shipping        INTEGER,
    points          INTEGER,
    availability    TEXT    NOT NULL DEFAULT 'unknown' CHECK (availability IN ('in_stock', 'out_of_stock', 'preorder', 'unknown')),
    quantity        TEXT    NOT NULL DEFAULT '',
    quantity_unit   TEXT    NOT NULL DEFAULT '',
    found_by        TEXT    NOT NULL DEFAULT '',

    checked_at      TEXT,
    problem_kind    TEXT    NOT NULL DEFAULT '',
    problem_since   TEXT,
    problem_message TEXT    NOT NULL DEFAULT '',
    suspect_json    TEXT, -- an observation in quarantine
    paused          INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    failures        INTEGER NOT NULL DEFAULT 0,
    gone_strikes    INTEGER NOT NULL DEFAULT 0,
    next_check_at   TEXT    NOT NULL,
    lease_until     TEXT, -- while one process polls it
    UNIQUE (adapter, item_code)
) STRICT, WITHOUT ROWID;

CREATE INDEX listings_due ON listings (next_check_at) WHERE paused = 0;

-- Changes, not polls: a value confirmed again only moves confirmed_at.
CREATE TABLE prices (
    listing_id   TEXT NOT NULL REFERENCES listings (id) ON DELETE CASCADE,
    at           TEXT NOT NULL,
    confirmed_at TEXT NOT NULL,
    currency     TEXT NOT NULL,
    price        INTEGER, -- NULL where it was sold out and showed none
    shipping     INTEGER,
    points       INTEGER,
    availability TEXT NOT NULL CHECK (availability IN ('in_stock', 'out_of_stock', 'preorder', 'unknown')),
    PRIMARY KEY (listing_id, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE watches (
    id                TEXT PRIMARY KEY,
    user_id           TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    listing_id        TEXT    NOT NULL REFERENCES listings (id),
    basis             TEXT    NOT NULL CHECK (basis IN ('price', 'total', 'effective')),
    currency          TEXT    NOT NULL,
    note              TEXT    NOT NULL,
    paused            INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    reference         INTEGER,
    notified_at       TEXT, -- last_notified: moved by a sent alert and by nothing else
    notified_price    INTEGER,
    notified_shipping INTEGER,
    notified_points   INTEGER,
    created_at        TEXT    NOT NULL,
    removed_at        TEXT, -- kept for a while, so that queued alerts end rightly and a removal can be undone
    revision          INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX watches_user ON watches (user_id, created_at);
CREATE INDEX watches_listing ON watches (listing_id);

CREATE TABLE triggers (
    watch_id        TEXT    NOT NULL REFERENCES watches (id) ON DELETE CASCADE,
    type            TEXT    NOT NULL,
    position        INTEGER NOT NULL,
    target          TEXT    NOT NULL DEFAULT '',
    target_currency TEXT    NOT NULL DEFAULT '',
    percent         TEXT    NOT NULL DEFAULT '',
    days            INTEGER NOT NULL DEFAULT 0,
    unit            TEXT    NOT NULL DEFAULT '',
    armed           INTEGER NOT NULL CHECK (armed IN (0, 1)), -- seen not to hold since the last sent alert
    PRIMARY KEY (watch_id, type)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    id                    INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id              TEXT    NOT NULL UNIQUE,
    user_id               TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    watch_id              TEXT    NOT NULL,
    listing_id            TEXT    NOT NULL,
    trigger               TEXT    NOT NULL,
    channel               TEXT    NOT NULL,
    status                TEXT    NOT NULL CHECK (status IN ('pending', 'sending', 'retry', 'sent', 'dropped', 'failed')),
    reason                TEXT    NOT NULL DEFAULT '',
    detected_at           TEXT    NOT NULL,
    detected_payload_json TEXT    NOT NULL CHECK (json_valid(detected_payload_json)), -- the snapshot, with "_retry" beside it
    next_attempt_at       TEXT AS (json_extract(detected_payload_json, '$._retry.nextAttemptAt')) VIRTUAL,
    retry_count           INTEGER NOT NULL DEFAULT 0,
    lease_owner           TEXT,
    lease_until           TEXT,
    checked_json          TEXT, -- what the last re-check read
    sent_at               TEXT,
    CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
    CHECK (lease_owner IS NULL OR status IN ('pending', 'sending', 'retry')),
    CHECK (lease_owner IS NOT NULL OR status <> 'sending'),
    CHECK ((sent_at IS NOT NULL) = (status = 'sent'))
) STRICT;

-- One alert per watch, trigger, UTC day and channel. One that was withheld in
-- the morning must not silence a true one in the afternoon.
CREATE UNIQUE INDEX outbox_once ON outbox (watch_id, trigger, date(detected_at), channel) WHERE status <> 'dropped';

-- What is due, in SQL: a row is due when its lease has ended, else when its next
-- attempt is, else when it was detected. Finished rows are not in it, so that a claim costs
-- the same however many there are.
CREATE INDEX outbox_due ON outbox (coalesce(lease_until, next_attempt_at, detected_at), id) WHERE status IN ('pending', 'sending', 'retry');
CREATE INDEX outbox_open ON outbox (watch_id) WHERE status IN ('pending', 'sending', 'retry');
CREATE INDEX outbox_sending ON outbox (lease_until) WHERE status = 'sending';
CREATE INDEX outbox_user ON outbox (user_id, id);
CREATE INDEX outbox_watch ON outbox (watch_id, id);
-- Counting finished rows; open ones are few, and change too often to be indexed by state.
CREATE INDEX outbox_final ON outbox (status, reason) WHERE status IN ('sent', 'dropped', 'failed');

-- +goose StatementBegin
CREATE TRIGGER outbox_snapshot_is_immutable BEFORE UPDATE OF detected_payload_json ON outbox
WHEN json_remove(new.detected_payload_json, '$._retry') IS NOT json_remove(old.detected_payload_json, '$._retry')
BEGIN
    SELECT raise(ABORT, 'the snapshot of an outbox entry never changes');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER outbox_final_is_final BEFORE UPDATE OF status ON outbox
WHEN old.status IN ('sent', 'dropped', 'failed') AND new.status <> old.status
BEGIN
    SELECT raise(ABORT, 'a final outbox entry never changes');
END;
-- +goose StatementEnd

-- Who already has it. No reference to subscriptions: the outcome outlives them.
CREATE TABLE deliveries (
    outbox_id       INTEGER NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
    subscription_id TEXT    NOT NULL,
    outcome         TEXT    NOT NULL,
    status          INTEGER NOT NULL, -- HTTP status, 0 for no answer
    detail          TEXT    NOT NULL,
    at              TEXT    NOT NULL,
    PRIMARY KEY (outbox_id, subscription_id)
) STRICT, WITHOUT ROWID;

-- One row that a check of health writes: a full disk shows there.
CREATE TABLE health (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at TEXT NOT NULL
) STRICT;

-- +goose Down
DROP TABLE health;
DROP TABLE deliveries;
DROP TABLE outbox;
DROP TABLE triggers;
DROP TABLE watches;
DROP TABLE prices;
DROP TABLE listings;
DROP TABLE subscriptions;
DROP TABLE link_codes;
DROP TABLE devices;
DROP TABLE users;
