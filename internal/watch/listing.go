package watch

import (
	"cmp"
	"time"

	"github.com/sokone/sokone/internal/shop"
)

// Listing is one product at one shop, shared by everyone who watches it. Only
// detection changes it, in the transaction that also stores the price point and
// the outbox entries.
type Listing struct {
	ID string
	shop.Ref
	Name, ImageURL string

	Last      Observation // the last that was believed; At is zero before the first
	CheckedAt time.Time   // the last time the shop answered with something readable
	Problem   *Problem    // what is wrong now, nil if nothing
	Suspect   *Suspect    // an observation in quarantine
	Paused    bool        // the product is gone: no polls until somebody asks again

	// Since is when the page began to show this product in this currency; zero for
	// always. Prices of before are another product's, and no decision looks at them.
	Since time.Time

	RestingUntil time.Time // the shop is left alone until then: it asked for peace, or failed too often
	Failures     int       // failed polls in a row
	GoneStrikes  int       // answers in a row that say "gone"
	NextCheckAt  time.Time // when it is due
}

// Problem is why a listing's price is not fresh.
type Problem struct {
	Kind    string    // a shop.Kind, "gone", or a Suspicion
	Since   time.Time // of the first of the failures in a row
	Message string    // a sentence that a shopper understands
}

// ProblemGone is the kind of a listing whose product is gone for good.
const ProblemGone = "gone"

// goneAfter is how many answers in a row must say "gone" before it is believed.
const goneAfter = 3

// Schedule decides when a listing is looked at again.
type Schedule struct {
	Interval time.Duration // between two polls of one listing; 0 makes it due at every pass
	Fastest  time.Duration // the least that Pace makes of it; 0 for Interval
	Slowest  time.Duration // the most that Pace makes of it; 0 for Interval
	Max      time.Duration // the longest wait after failures
}

// paceShare is which part of the usual time between two changes a poll waits:
// a change is then found after a hundredth of the time that it lasts, on average
// half of that. It is the idea of RFC 9111 section 4.2.2, where a tenth of the
// age is usual, made sharper because an alert is worth more than a cached page.
const paceShare = 100

// Pace is the interval for a listing with this history: a price that moves is
// looked at more often than one that never does. Until two weeks of history are
// there to judge by, it is the plain interval.
func (s Schedule) Pace(h History, now time.Time) time.Duration {
	if s.Interval == 0 || !h.Covers(now.Add(-ShortHistory)) {
		return s.Interval
	}
	since := now.Add(-paceWindow)
	if first := h.Points[0].At; first.After(since) {
		since = first
	}
	changes := 0
	for _, p := range h.Points[1:] {
		if p.At.After(since) {
			changes++
		}
	}
	pace := s.Slowest
	if changes > 0 {
		pace = now.Sub(since) / time.Duration(changes) / paceShare
	}
	return min(max(pace, cmp.Or(s.Fastest, s.Interval)), cmp.Or(s.Slowest, s.Interval))
}

// paceWindow is how far back changes count: how a price moved last season says
// little of this one.
const paceWindow = 30 * 24 * time.Hour

// next spreads polls over ±10 % of the interval, so that listings added together
// drift apart. spread is in [0, 1).
func (s Schedule) next(now time.Time, wait time.Duration, spread float64) time.Time {
	return now.Add(time.Duration(float64(wait) * (0.9 + 0.2*spread)))
}

// Read is the listing after an observation that is believed.
func (l Listing) Read(o Observation, s Schedule, spread float64) Listing {
	if !o.Price.Known() { // sold out without a price: the last known price stays
		soldOut := l.Last
		soldOut.Availability = o.Availability
		o.Price, o.Shipping, o.Points = soldOut.Price, soldOut.Shipping, soldOut.Points
		o.Quantity, o.FoundBy, o.Evidence = soldOut.Quantity, soldOut.FoundBy, soldOut.Evidence
	}
	l.Last, l.CheckedAt = o, o.At
	if o.Name != "" {
		l.Name = o.Name
	}
	if o.ImageURL != "" {
		l.ImageURL = o.ImageURL
	}
	l.Problem, l.Suspect, l.Failures, l.GoneStrikes, l.Paused, l.RestingUntil = nil, nil, 0, 0, false, time.Time{}
	l.NextCheckAt = s.next(o.At, s.Interval, spread)
	return l
}

// Quarantine is the listing after an observation that is not believed: the last
// price stays, and a second look comes sooner than usual.
func (l Listing) Quarantine(suspect Suspect, s Schedule, spread float64) Listing {
	at := suspect.Observation.At
	since := at
	if l.Problem != nil && l.Problem.Kind == string(suspect.Why) {
		since = l.Problem.Since
	}
	l.Suspect = &suspect
	l.Problem = &Problem{Kind: string(suspect.Why), Since: since, Message: suspicionMessage[suspect.Why]}
	l.CheckedAt, l.Failures, l.GoneStrikes, l.RestingUntil = at, 0, 0, time.Time{}
	l.NextCheckAt = s.next(at, min(s.Interval, 10*time.Minute), spread)
	return l
}

var suspicionMessage = map[Suspicion]string{
	TooGood:      "The price read last is far below the usual one. It is checked again before it counts.",
	NewCurrency:  "The shop now answers in another currency. It is checked again before it counts.",
	OtherProduct: "The page now names another product. It is checked again before it counts.",
}

// Failed is the listing after a poll that read nothing. The last good price is
// never touched. Waits double with each failure in a row; a longer wait that the
// shop asked for is honoured.
func (l Listing) Failed(e *shop.Error, now time.Time, s Schedule, spread float64) Listing {
	since := now
	if l.Problem != nil && l.Failures > 0 {
		since = l.Problem.Since
	}
	l.Failures++
	l.Problem = &Problem{Kind: string(e.Kind), Since: since, Message: e.Message}
	wait := min(s.Interval<<min(l.Failures-1, 10), max(s.Max, s.Interval))
	l.NextCheckAt, l.RestingUntil = s.next(now, wait, spread), time.Time{}
	if e.RetryAfter > 0 {
		if l.RestingUntil = now.Add(e.RetryAfter); l.RestingUntil.After(l.NextCheckAt) {
			l.NextCheckAt = l.RestingUntil
		}
	}
	if e.Kind != shop.KindEmpty {
		l.GoneStrikes = 0
		return l
	}
	l.GoneStrikes++
	if l.GoneStrikes >= goneAfter {
		l.Paused = true
		l.Problem.Kind = ProblemGone
	}
	return l
}

// Resume makes a paused listing due again, because somebody asked for it.
func (l Listing) Resume(now time.Time) Listing {
	l.Paused, l.GoneStrikes, l.NextCheckAt = false, 0, now
	return l
}

// Failing is the observation of a listing that could not be read, as of now.
func (l Listing) Failing(kind shop.Kind, now time.Time) Observation {
	f := &Failure{Kind: kind, Since: now, Gone: l.Paused}
	if l.Problem != nil && l.Failures > 0 {
		f.Since = l.Problem.Since
	}
	return Observation{At: now, Failure: f}
}
