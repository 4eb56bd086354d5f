package push

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"math"
	"time"

	"github.com/sokone/sokone/internal/outbox"
)

// FieldError is a fault in a browser's PushSubscription, in words that follow
// the field's name.
type FieldError struct {
	field, fault string
}

func (e *FieldError) Error() string { return e.field + " " + e.fault }

// Field is the path of the member at fault: "endpoint", "keys.p256dh",
// "keys.auth" or "expirationTime".
func (e *FieldError) Field() string { return e.field }

// Fault says what is wrong with it and what to do.
func (e *FieldError) Fault() string { return e.fault }

// CheckSubscription checks what a browser's PushSubscription.toJSON() holds and
// returns it in its one canonical spelling, with the id of today's VAPID key.
// Whose it is, the caller adds. Errors are *FieldError.
func (s *Sender) CheckSubscription(endpoint, p256dh, auth string) (outbox.Subscription, error) {
	t, err := s.to.parse(endpoint)
	if err == nil {
		err = s.to.resolve(context.Background(), t)
	}
	if err != nil {
		return outbox.Subscription{}, &FieldError{"endpoint", err.Error()}
	}
	public, secret, err := subscriptionKeys(p256dh, auth)
	if err != nil {
		return outbox.Subscription{}, err
	}
	return outbox.Subscription{
		Endpoint: t.endpoint,
		P256dh:   base64.RawURLEncoding.EncodeToString(public),
		Auth:     base64.RawURLEncoding.EncodeToString(secret),
		KeyID:    s.keys.ID(),
	}, nil
}

// CheckExpiration reads a PushSubscription's expirationTime: milliseconds since
// 1970, or nil, which is what nearly all browsers send. It returns the zero time
// where the subscription has no end; one in the past is an error.
func (s *Sender) CheckExpiration(ms *float64) (time.Time, error) {
	if ms == nil {
		return time.Time{}, nil
	}
	const latest = 8.64e15 // of a JavaScript Date
	if math.IsNaN(*ms) || *ms < 0 || *ms > latest {
		return time.Time{}, &FieldError{"expirationTime", "is no time; send milliseconds since 1970, or null"}
	}
	at := time.UnixMilli(int64(*ms)).UTC()
	if !at.After(s.now()) {
		return time.Time{}, &FieldError{"expirationTime", "has passed; subscribe again in the browser"}
	}
	if at.Year() > 9999 { // RFC 3339 ends there; so does every subscription
		return time.Time{}, nil
	}
	return at, nil
}

// subscriptionKeys checks the two secrets that a message is encrypted with
// (RFC 8291 section 2). The public key must be on the curve: one that is not
// would leak the private half of what it is multiplied with.
func subscriptionKeys(p256dh, auth string) (public, secret []byte, err error) {
	const longest = 128 // far more than any spelling of 65 bytes
	switch public, err = decodeBase64(p256dh); {
	case p256dh == "":
		return nil, nil, &FieldError{"keys.p256dh", "is missing; send the browser's PushSubscription as it is"}
	case err != nil || len(p256dh) > longest:
		return nil, nil, &FieldError{"keys.p256dh", "is no base64; send the browser's PushSubscription as it is"}
	case len(public) != 65 || public[0] != 4:
		return nil, nil, &FieldError{"keys.p256dh", "must be an uncompressed P-256 key of 65 bytes; send the browser's PushSubscription as it is"}
	}
	if _, err := ecdh.P256().NewPublicKey(public); err != nil {
		return nil, nil, &FieldError{"keys.p256dh", "is no point on the curve P-256; send the browser's PushSubscription as it is"}
	}
	switch secret, err = decodeBase64(auth); {
	case auth == "":
		return nil, nil, &FieldError{"keys.auth", "is missing; send the browser's PushSubscription as it is"}
	case err != nil || len(auth) > longest:
		return nil, nil, &FieldError{"keys.auth", "is no base64; send the browser's PushSubscription as it is"}
	case len(secret) != 16:
		return nil, nil, &FieldError{"keys.auth", "must be 16 bytes; send the browser's PushSubscription as it is"}
	}
	return public, secret, nil
}
