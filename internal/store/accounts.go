package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/watch"
)

// CreateUser stores a user with their first device.
func (s *Store) CreateUser(ctx context.Context, u watch.User, d watch.Device, tokenHash []byte) error {
	return wrap("create user", s.write(ctx, func(tx *tx) error {
		if _, err := tx.exec("INSERT INTO users (id, timezone, locale, quiet_from, quiet_to, created_at) VALUES (?, ?, ?, ?, ?, ?)",
			u.ID, u.Timezone, u.Locale, u.QuietFrom, u.QuietTo, instant(u.CreatedAt)); err != nil {
			return err
		}
		return insertDevice(tx, d, u.ID, tokenHash)
	}))
}

func insertDevice(tx *tx, d watch.Device, userID string, tokenHash []byte) error {
	_, err := tx.exec("INSERT INTO devices (id, user_id, token_hash, created_at) VALUES (?, ?, ?, ?)", d.ID, userID, tokenHash, instant(d.CreatedAt))
	return err
}

// LinkDevice uses a link code up: the device joins the user who made it.
func (s *Store) LinkDevice(ctx context.Context, codeHash []byte, d watch.Device, tokenHash []byte, now time.Time) (watch.User, error) {
	var u watch.User
	err := s.write(ctx, func(tx *tx) error {
		var userID string
		if err := one(tx, []any{&userID}, "SELECT user_id FROM link_codes WHERE code_hash = ? AND expires_at > ?", codeHash, instant(now)); err != nil {
			return err
		}
		if _, err := tx.exec("DELETE FROM link_codes WHERE code_hash = ?", codeHash); err != nil {
			return err
		}
		users, err := usersBy(ctx, tx, "u.id = ?", userID)
		if err != nil {
			return err
		}
		u = users[userID]
		return insertDevice(tx, d, userID, tokenHash)
	})
	return u, wrap("link device", err)
}

// Authenticate finds the device that holds a token, and its user.
func (s *Store) Authenticate(ctx context.Context, tokenHash []byte) (watch.User, watch.Device, error) {
	var d watch.Device
	if err := one(s, []any{&d.ID, &d.UserID, clock{&d.CreatedAt}}, "SELECT id, user_id, created_at FROM devices WHERE token_hash = ?", tokenHash); err != nil {
		return watch.User{}, d, wrap("authenticate", err)
	}
	users, err := usersBy(ctx, s, "u.id = ?", d.UserID)
	if err == nil && users[d.UserID].ID == "" {
		err = watch.ErrNotFound
	}
	return users[d.UserID], d, wrap("authenticate", err)
}

// UpdateUser stores a user's profile.
func (s *Store) UpdateUser(ctx context.Context, u watch.User) error {
	return s.mark(ctx, "update user", "UPDATE users SET timezone = ?, locale = ?, quiet_from = ?, quiet_to = ? WHERE id = ?",
		u.Timezone, u.Locale, u.QuietFrom, u.QuietTo, u.ID)
}

// DeleteDevice forgets a device. With the last one goes all that is held of the user.
func (s *Store) DeleteDevice(ctx context.Context, deviceID string) error {
	return wrap("delete device", s.write(ctx, func(tx *tx) error {
		var userID string
		if err := one(tx, []any{&userID}, "SELECT user_id FROM devices WHERE id = ?", deviceID); err != nil {
			return err
		}
		if _, err := tx.exec("DELETE FROM devices WHERE id = ?", deviceID); err != nil {
			return err
		}
		_, err := tx.exec("DELETE FROM users WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM devices WHERE user_id = ?1)", userID)
		return err
	}))
}

// CreateLinkCode stores the hash of a code by which a second device joins.
func (s *Store) CreateLinkCode(ctx context.Context, userID string, codeHash []byte, expiresAt time.Time) error {
	return wrap("link code", s.write(ctx, func(tx *tx) error {
		// One open code a user: a newer one replaces it.
		if _, err := tx.exec("DELETE FROM link_codes WHERE user_id = ?", userID); err != nil {
			return err
		}
		_, err := tx.exec("INSERT INTO link_codes (code_hash, user_id, expires_at) VALUES (?, ?, ?)", codeHash, userID, instant(expiresAt))
		return err
	}))
}

func usersBy(ctx context.Context, q queryer, where string, args ...any) (map[string]watch.User, error) {
	found := map[string]watch.User{}
	rows, err := q.query(ctx, "SELECT u.id, u.timezone, u.locale, u.quiet_from, u.quiet_to, u.created_at FROM users u WHERE "+where, args...)
	err = each(rows, err, func(r *sql.Rows) error {
		var u watch.User
		if err := r.Scan(&u.ID, &u.Timezone, &u.Locale, &u.QuietFrom, &u.QuietTo, clock{&u.CreatedAt}); err != nil {
			return err
		}
		found[u.ID] = u
		return nil
	})
	return found, err
}

// PutSubscription stores a device's one subscription. An endpoint that another
// user holds is refused and left as it is; one that another device of the same
// user holds moves here. The same endpoint and keys keep their id, so that what
// was delivered stays known.
func (s *Store) PutSubscription(ctx context.Context, sub outbox.Subscription) error {
	return wrap("put subscription", s.write(ctx, func(tx *tx) error {
		var id, owner, p256dh, auth string
		err := one(tx, []any{&id, &owner, &p256dh, &auth},
			"SELECT s.id, d.user_id, s.p256dh, s.auth FROM subscriptions s JOIN devices d ON d.id = s.device_id WHERE s.endpoint = ?", sub.Endpoint)
		if err != nil && !errors.Is(err, watch.ErrNotFound) {
			return err
		}
		if err == nil {
			var user string
			if err := one(tx, []any{&user}, "SELECT user_id FROM devices WHERE id = ?", sub.DeviceID); err != nil {
				return err
			}
			if user != owner {
				return watch.ErrConflict
			}
			if p256dh == sub.P256dh && auth == sub.Auth {
				sub.ID = id
			}
		}
		if _, err := tx.exec("DELETE FROM subscriptions WHERE endpoint = ? OR device_id = ?", sub.Endpoint, sub.DeviceID); err != nil {
			return err
		}
		_, err = tx.exec("INSERT INTO subscriptions (id, device_id, endpoint, p256dh, auth, key_id, origin, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			sub.ID, sub.DeviceID, sub.Endpoint, sub.P256dh, sub.Auth, sub.KeyID, sub.Origin, orNull(sub.ExpiresAt))
		return err
	}))
}

// DeleteSubscription forgets a device's subscription; none is fine.
func (s *Store) DeleteSubscription(ctx context.Context, deviceID string) error {
	return wrap("delete subscription", s.write(ctx, func(tx *tx) error {
		_, err := tx.exec("DELETE FROM subscriptions WHERE device_id = ?", deviceID)
		return err
	}))
}

// Subscription is a device's subscription.
func (s *Store) Subscription(ctx context.Context, deviceID string) (outbox.Subscription, error) {
	found, err := subscriptionsBy(ctx, s, "s.device_id = ?", deviceID)
	if err == nil && len(found) == 0 {
		err = watch.ErrNotFound
	}
	if err != nil {
		return outbox.Subscription{}, wrap("subscription", err)
	}
	return found[0].Subscription, nil
}

type ownedSubscription struct {
	outbox.Subscription
	userID string
}

func subscriptionsBy(ctx context.Context, q queryer, where string, args ...any) ([]ownedSubscription, error) {
	var found []ownedSubscription
	rows, err := q.query(ctx, `SELECT s.id, s.device_id, s.endpoint, s.p256dh, s.auth, s.key_id, s.origin, s.expires_at, d.user_id
		FROM subscriptions s JOIN devices d ON d.id = s.device_id WHERE `+where, args...)
	err = each(rows, err, func(r *sql.Rows) error {
		var o ownedSubscription
		if err := r.Scan(&o.ID, &o.DeviceID, &o.Endpoint, &o.P256dh, &o.Auth, &o.KeyID, &o.Origin, clock{&o.ExpiresAt}, &o.userID); err != nil {
			return err
		}
		found = append(found, o)
		return nil
	})
	return found, err
}

func subscriptionsOfUsers(ctx context.Context, q queryer, userIDs []string) (map[string][]outbox.Subscription, error) {
	found, err := subscriptionsBy(ctx, q, "d.user_id IN (SELECT value FROM json_each(?)) ORDER BY s.id", list(userIDs))
	byUser := map[string][]outbox.Subscription{}
	for _, o := range found {
		byUser[o.userID] = append(byUser[o.userID], o.Subscription)
	}
	return byUser, err
}

// A cursor is the id of the last row seen; opaque to the caller.
func writeCursor(id int64) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(id)))
}

func readCursor(c string) (int64, error) {
	b, err := base64.RawURLEncoding.DecodeString(c)
	if err != nil || len(b) != 8 {
		return 0, watch.ErrNotFound
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}
