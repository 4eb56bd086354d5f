package outbox

import (
	"time"

	"github.com/sokone/sokone/internal/watch"
)

// Guard says whether a claimed entry has nobody to tell or nothing to tell,
// before any shop is asked; "" if the re-check may go on.
func Guard(j Job, now time.Time) Reason {
	switch {
	case j.Watch.ID == "" || j.Watch.Removed:
		return WatchRemoved
	case j.Watch.Paused:
		return WatchPaused
	case j.Listing.Paused && j.Entry.Trigger != watch.Unreadable:
		return ListingPaused
	case len(j.Owed) == 0:
		return NoSubscription
	case !now.Before(j.Entry.DetectedAt.Add(Lifetime)):
		return Expired
	}
	return ""
}

// Ending is where an attempt leaves an entry.
type Ending struct {
	To         Status
	Reason     Reason
	Retry      Schedule
	RetryCount int
}

// Withhold ends an entry whose alert is not to be sent. Where one device has it
// already, the shopper was told, and only the others are spared: it is sent.
func Withhold(j Job, reason Reason) Ending {
	if j.Accepted > 0 {
		return Ending{To: Sent, RetryCount: j.Entry.RetryCount}
	}
	return Ending{To: Dropped, Reason: reason, RetryCount: j.Entry.RetryCount}
}

// Wait is the ending of an entry whose shopper has quiet hours now: it is due,
// and checked again, when they end.
func Wait(e Entry, until time.Time) Ending {
	return Ending{To: Retry, Reason: QuietHours, RetryCount: e.RetryCount,
		Retry: Schedule{NextAttemptAt: until, LastError: string(QuietHours), Attempts: e.RetryCount}}
}

// TryLater is the ending after something passing went wrong: a retry, or the
// end at the cap of attempts.
func TryLater(e Entry, accepted int, reason Reason, detail string, retryAfter time.Duration, maxRetry int, now time.Time) Ending {
	attempts := e.RetryCount + 1
	if attempts >= maxRetry {
		if accepted > 0 {
			return Ending{To: Sent, RetryCount: attempts}
		}
		return Ending{To: Failed, Reason: MaxRetry, RetryCount: attempts,
			Retry: Schedule{LastError: lastError(reason, detail), Attempts: attempts}}
	}
	return Ending{To: Retry, Reason: reason, RetryCount: attempts, Retry: Schedule{
		NextAttemptAt: now.Add(Backoff(e.RetryCount, retryAfter)),
		LastError:     lastError(reason, detail),
		Attempts:      attempts,
	}}
}

// Delivered is the ending after every owed subscription was tried.
func Delivered(j Job, deliveries []Delivery, maxRetry int, now time.Time) Ending {
	accepted, gone := j.Accepted, 0
	var owed *Delivery
	var wait time.Duration
	for i, d := range deliveries {
		switch {
		case d.Outcome == Accepted:
			accepted++
		case d.Outcome == Gone:
			gone++
		case !d.Outcome.Final():
			owed = &deliveries[i]
			wait = max(wait, d.RetryAfter)
		}
	}
	switch {
	case owed != nil:
		return TryLater(j.Entry, accepted, Push(owed.Outcome), owed.Detail, wait, maxRetry, now)
	case accepted > 0:
		return Ending{To: Sent, RetryCount: j.Entry.RetryCount}
	case gone == len(deliveries):
		return Ending{To: Dropped, Reason: SubscriptionGone, RetryCount: j.Entry.RetryCount}
	}
	return Ending{To: Failed, Reason: Rejected, RetryCount: j.Entry.RetryCount + 1}
}

func lastError(reason Reason, detail string) string {
	if detail == "" {
		return string(reason)
	}
	return string(reason) + ": " + detail
}
