package outbox

import (
	"time"

	"github.com/sokone/sokone/internal/watch"
)

// Subscription is a device's Web Push endpoint and keys. Whoever holds the
// endpoint can push to it, so it is never logged.
type Subscription struct {
	ID        string
	DeviceID  string
	Endpoint  string // canonical https address
	P256dh    string // base64url, 65 bytes
	Auth      string // base64url, 16 bytes
	KeyID     string // of the VAPID key it was made under
	Origin    string // the app's own origin when it subscribed; where a click leads
	ExpiresAt time.Time
}

// Message is what one subscription is sent, before encryption.
type Message struct {
	EventID string // Topic and tag come from it
	Body    []byte // plaintext JSON, at most 2 KB
	TTL     time.Duration
}

// Outcome of one delivery to one subscription.
type Outcome string

// The outcomes. Accepted, Gone and Refused are final for the pair; the others
// are owed another attempt.
const (
	Accepted    Outcome = "accepted"     // the push service took it
	Gone        Outcome = "gone"         // the subscription is no more, or was made under a key that is; remove it
	Refused     Outcome = "refused"      // the service will never take this message; keep the subscription
	RateLimited Outcome = "rate_limited" // told to wait
	Server      Outcome = "server"       // 5xx, 408, 3xx
	Network     Outcome = "network"      // no answer, or one cut short: it may have been accepted
	Auth        Outcome = "auth"         // VAPID refused: the origin is held, the operator is told
)

// Final reports whether the delivery is not tried again.
func (o Outcome) Final() bool { return o == Accepted || o == Gone || o == Refused }

// Delivery is what became of one entry at one subscription.
type Delivery struct {
	SubscriptionID string
	Outcome        Outcome
	Status         int           // HTTP status, 0 where there was no answer
	Detail         string        // for the operator: at most 1 KiB of the answer, no endpoint
	RetryAfter     time.Duration // asked for by the push service
	At             time.Time
}

// Job is a claimed entry with all that is needed to work on it, as it stood in
// the transaction that claimed it.
type Job struct {
	Entry    Entry
	Watch    watch.Watch // ID is empty where its row is gone
	Listing  watch.Listing
	User     watch.User
	Owed     []Subscription // the user's subscriptions without a final delivery of this entry
	Accepted int            // deliveries of this entry that were accepted before
}

// Settlement ends the work on a claimed entry: one transaction, fenced by owner.
type Settlement struct {
	EntryID    int64
	Owner      string
	From, To   Status
	Reason     Reason
	Retry      Schedule // with To == Retry
	RetryCount int
	Checked    *Checked // nil keeps what is there
	SentAt     time.Time
	Deliveries []Delivery  // upserted; subscriptions that are Gone are removed
	WatchID    string      // with Told
	Told       *watch.Told // with To == Sent: last_notified, reference and marks
}

// Detection is all that one poll of a listing changes: one transaction.
type Detection struct {
	Began    time.Time     // when the poll began: who asks for one later still gets it
	Listing  watch.Listing // its whole new state
	Observed *watch.Point  // appended to the history, or confirms its last point; nil where nothing was believed
	Changes  []watch.Change
	Entries  []Entry // enqueued where their watch is still at the revision of its Change
	Was      string  // the product that the page named before, where it now names another
}

// ClaimRequest asks for due entries.
type ClaimRequest struct {
	Owner      string // unique to this claim; every later write is fenced by it
	Now        time.Time
	LeaseUntil time.Time
	Limit      int
	MaxRetry   int // attempts before Failed, for entries whose send was cut short
}

// SendStart moves a claimed entry to Sending before the first byte leaves.
type SendStart struct {
	EntryID       int64
	Owner         string
	From          Status
	RetryCount    int // as it is
	WatchID       string
	WatchRevision int64 // the decision holds only while the watch is still at it
	LeaseUntil    time.Time
	Checked       Checked
}
