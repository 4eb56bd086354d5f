// Package outbox is the intent to tell: entries, their states and the one table
// of transitions, backoff, and the format of the snapshot. It is pure; the store
// keeps entries, detect makes them, dispatch moves them.
package outbox

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// Status of an entry.
type Status string

// The states. Sent, Dropped and Failed are final.
const (
	Pending Status = "pending" // detected, to be re-checked
	Sending Status = "sending" // re-check held, a send has begun
	Retry   Status = "retry"   // something passing went wrong; due at Retry.NextAttemptAt
	Sent    Status = "sent"
	Dropped Status = "dropped" // stale, and rightly not sent
	Failed  Status = "failed"
)

// Statuses lists all states, for metrics and tests.
func Statuses() []Status { return []Status{Pending, Sending, Retry, Sent, Dropped, Failed} }

// transitions is the whole state machine. No status is written that it does not allow.
var transitions = map[Status][]Status{
	Pending: {Sending, Retry, Dropped, Failed},
	Retry:   {Sending, Retry, Dropped, Failed, Sent},
	Sending: {Sent, Retry, Dropped, Failed},
}

// Transition reports an error where the table does not allow from → to.
// Retry → Sent is for an entry that one device has, when nobody else is left to tell.
func Transition(from, to Status) error {
	for _, s := range transitions[from] {
		if s == to {
			return nil
		}
	}
	return fmt.Errorf("outbox: no transition from %q to %q", from, to)
}

// Final reports whether nothing leaves the state.
func (s Status) Final() bool { return len(transitions[s]) == 0 }

// Reason is the stable word for why an entry is where it is; "" while pending,
// sending or sent.
type Reason string

// Reasons of Dropped.
const (
	ConditionLost    Reason = "condition_lost"
	AlreadyTold      Reason = "already_told" // it holds, and another alert of this watch has said so
	OutOfStock       Reason = "out_of_stock"
	WatchRemoved     Reason = "watch_removed"
	WatchPaused      Reason = "watch_paused"
	ListingPaused    Reason = "listing_paused"
	NoSubscription   Reason = "no_subscription"
	SubscriptionGone Reason = "subscription_gone"
	Expired          Reason = "expired"
)

// Reasons of Retry; "refetch_<shop.Kind>" and "push_<outcome>" are made by Refetch and Push.
const (
	LeaseExpired Reason = "lease_expired"
	QuietHours   Reason = "quiet_hours" // the shopper sleeps; no attempt is counted
)

// Reasons of Failed.
const (
	MaxRetry Reason = "max_retry"
	Rejected Reason = "rejected" // the push service will never take it
)

// Refetch is the reason of a retry after a re-fetch that failed.
func Refetch(kind string) Reason { return Reason("refetch_" + kind) }

// Push is the reason of a retry after a delivery that failed.
func Push(o Outcome) Reason { return Reason("push_" + string(o)) }

// WebPush is the only channel today.
const WebPush = "webpush"

// Lifetime is how long after detection an entry may still be sent. An older one
// is dropped as expired; the trigger stays armed, so that detection queues it
// anew where it still holds.
const Lifetime = 24 * time.Hour

// Entry is the intent to tell one user one thing.
type Entry struct {
	ID         int64  // of the row
	EventID    string // public and permanent; the receiver removes duplicates by it
	UserID     string
	WatchID    string
	ListingID  string
	Trigger    watch.TriggerType
	Channel    string
	Status     Status
	Reason     Reason
	DetectedAt time.Time
	Snapshot   Snapshot // what detection saw; immutable
	Retry      Schedule // rides beside the snapshot
	RetryCount int      // attempts that have failed so far
	Checked    *Checked // the last re-check
	SentAt     time.Time
}

// Checked is what the last re-check read, as watch.Observation has it: the
// message said this, and what is told with it is decided on this.
type Checked struct {
	At           time.Time         `json:"at"`
	Price        money.Amount      `json:"price"`
	Shipping     money.Amount      `json:"shipping"`
	Points       money.Amount      `json:"points"`
	Availability shop.Availability `json:"availability,omitempty"`
	Quantity     shop.Quantity     `json:"quantity,omitzero"`
	Name         string            `json:"name,omitempty"`
	Why          watch.Why         `json:"why"`
}

// CheckedOf keeps what a re-check read and decided.
func CheckedOf(o watch.Observation, why watch.Why) Checked {
	return Checked{At: o.At, Price: o.Price, Shipping: o.Shipping, Points: o.Points,
		Availability: o.Availability, Quantity: o.Quantity, Name: o.Name, Why: why}
}

// Observation gives back what was read.
func (c Checked) Observation() watch.Observation {
	return watch.Observation{At: c.At, Price: c.Price, Shipping: c.Shipping, Points: c.Points,
		Availability: c.Availability, Quantity: c.Quantity, Name: c.Name}
}

// NewEventID makes an event id: 128 random bits, 26 characters of base32.
func NewEventID() string { return rand.Text() }

// Schedule is when an entry is tried again, and why it was not done yet. It is
// stored under the key "_retry" of the payload.
type Schedule struct {
	NextAttemptAt time.Time `json:"nextAttemptAt,omitzero"`
	LastError     string    `json:"lastError,omitempty"` // for the operator; never an endpoint or a key
	Attempts      int       `json:"attempts"`
}

// Backoff before the next attempt: min(2^retryCount × 30 s, 30 min), or longer
// where the other side asked for it. retryCount is the number of attempts that
// had failed before this one. There is no jitter: the dispatcher wakes by the
// minute and bounds its own rate.
func Backoff(retryCount int, retryAfter time.Duration) time.Duration {
	const base, limit = 30 * time.Second, 30 * time.Minute
	return max(min(base<<min(max(retryCount, 0), 10), limit), min(retryAfter, Lifetime))
}
