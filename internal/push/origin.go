package push

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/sokone/sokone/internal/outbox"
)

const (
	maxOrigins = 256  // remembered; there are a handful of push services
	maxRefused = 4096 // subscriptions remembered per origin

	// Once an origin has taken our key, one refusal is about one subscription:
	// whoever posts a foreign endpoint must not stop the alerts of all others.
	// So many different ones in a row, without an acceptance between, are about us.
	refusalsInARow = 5

	signalEvery = 10 * time.Minute // the same operator signal about one origin
)

// origins is what is known of the push services, in memory only: after a
// restart we ask once too often, and nothing is lost.
type origins struct {
	mu sync.Mutex
	of map[string]*origin
}

// origin is one push service as it treats us.
type origin struct {
	used time.Time // last, for eviction

	tokens map[string]token // by key id

	held    time.Time // no request before
	holding outbox.Outcome
	why     string // for the operator

	accepted int             // times that today's key had a 2xx here
	good     bool            // and the last verdict on it was one
	row      map[subKey]bool // refused since the last acceptance
	refused  map[subKey]int  // refused since its own last acceptance; the value of accepted at that time

	signalled map[string]time.Time
}

// token is an Authorization header and when it was signed.
type token struct {
	header string
	at     time.Time
}

// subKey stands for an endpoint, which is not to be kept in memory at length.
type subKey [sha256.Size]byte

// at returns the state of an origin, with the lock held by the caller.
func (os *origins) at(name string, now time.Time) *origin {
	o := os.of[name]
	if o == nil {
		if len(os.of) >= maxOrigins {
			os.evict()
		}
		o = &origin{tokens: map[string]token{}, row: map[subKey]bool{}, refused: map[subKey]int{}, signalled: map[string]time.Time{}}
		os.of[name] = o
	}
	o.used = now
	return o
}

// evict forgets the origin that was not used for the longest time.
func (os *origins) evict() {
	var oldest string
	for name, o := range os.of {
		if oldest == "" || o.used.Before(os.of[oldest].used) {
			oldest = name
		}
	}
	delete(os.of, oldest)
}

// permit returns the Authorization header for an origin, under the key that the
// subscription was made with where it is at hand, or else today's; or it says for
// how long the origin is held, as what and why.
func (s *Sender) permit(t target, keyID string, now time.Time) (header string, hold outbox.Delivery, err error) {
	s.origins.mu.Lock()
	defer s.origins.mu.Unlock()
	o := s.origins.at(t.origin, now)
	if wait := o.held.Sub(now); wait > 0 {
		return "", outbox.Delivery{Outcome: o.holding, RetryAfter: min(wait, longestHold), Detail: o.why}, nil
	}
	keys, ok := s.former[keyID]
	if !ok {
		keys = s.keys
	}
	kept := o.tokens[keys.id]
	if age := now.Sub(kept.at); kept.header == "" || age >= tokenKept || age < 0 {
		if kept.header, err = keys.authorization(t.origin, s.contact, now); err != nil {
			return "", outbox.Delivery{}, err
		}
		kept.at = now
		o.tokens[keys.id] = kept
	}
	return kept.header, outbox.Delivery{}, nil
}

// learn takes an answer into the state of its origin and returns the outcome,
// which the mismatch rule may have changed.
func (s *Sender) learn(t target, keyID string, a answer, now time.Time) (outbox.Outcome, time.Duration) {
	s.origins.mu.Lock()
	defer s.origins.mu.Unlock()
	o := s.origins.at(t.origin, now)
	sub := subKey(sha256.Sum256([]byte(t.endpoint)))
	outcome := classify(a.status, a.body)
	wait, known := retryAfter(a.header, now)
	switch outcome {
	case outbox.Accepted:
		if _, former := s.former[keyID]; !former { // it says nothing of today's key
			o.accepted++
			o.good = true
			clear(o.row)
		}
		delete(o.refused, sub)
		return outcome, 0
	case outbox.RateLimited:
		if !known {
			wait = defaultHold
		}
		o.hold(now.Add(wait), outcome, fmt.Sprintf("throttled with %d", a.status))
	case outbox.Auth:
		return s.refused(o, sub, keyID, a, now)
	}
	return outcome, wait
}

// refused is the mismatch rule. A subscription is dropped only on evidence that
// it was made under another key: its row says so; or today's key is good at this
// origin, and the answer names the mismatch or comes for the second time.
// Otherwise one misconfigured key or clock would erase everybody. Good means that
// the last verdict was an acceptance, so an origin that begins to refuse all of
// us costs one subscription at the most, and its page brings it back.
func (s *Sender) refused(o *origin, sub subKey, keyID string, a answer, now time.Time) (outbox.Outcome, time.Duration) {
	clockFine := a.skew.Abs() < wrongClock
	before, again := o.refused[sub]
	good := o.good && (namesMismatch(a.body) || (again && o.accepted > before))
	if another := keyID != "" && keyID != s.keys.ID(); clockFine && (another || good) {
		o.good = o.good && !good
		delete(o.refused, sub)
		delete(o.row, sub)
		return outbox.Gone, 0
	}
	o.good = false
	if !again {
		if len(o.refused) >= maxRefused {
			clear(o.refused) // forgetting only delays a removal
		}
		o.refused[sub] = o.accepted
	}
	if len(o.row) < maxRefused {
		o.row[sub] = true
	}
	if !clockFine || o.accepted == 0 || len(o.row) >= refusalsInARow {
		clear(o.tokens) // signed anew after the pause: the clock may have been set right
		o.hold(now.Add(authHold), outbox.Auth, fmt.Sprintf("VAPID refused with %d", a.status))
	}
	return outbox.Auth, authHold
}

// hold pauses the origin; a longer pause stays.
func (o *origin) hold(until time.Time, as outbox.Outcome, why string) {
	if until.After(o.held) {
		o.held, o.holding, o.why = until, as, why
	}
}

// signalDue reports whether an operator signal about an origin is not a
// repetition.
func (s *Sender) signalDue(t target, message string, now time.Time) bool {
	s.origins.mu.Lock()
	defer s.origins.mu.Unlock()
	o := s.origins.at(t.origin, now)
	if last, ok := o.signalled[message]; ok && now.Sub(last) < signalEvery && !now.Before(last) {
		return false
	}
	o.signalled[message] = now
	return true
}
