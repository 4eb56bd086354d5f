package push

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sokone/sokone/internal/outbox"
)

const (
	longestHold = 24 * time.Hour   // however long a push service asks for
	authHold    = 10 * time.Minute // of an origin that refuses our VAPID key
	defaultHold = time.Minute      // of an origin that throttles and does not say how long
)

// retryAfter reads a Retry-After header, seconds or an HTTP-date (RFC 9110
// section 10.2.3), into 0 to 24 hours. A date in the past is 0; what cannot be
// read, or is not there, is not known.
func retryAfter(h http.Header, now time.Time) (wait time.Duration, known bool) {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0, false
	}
	if strings.Trim(v, "0123456789") == "" {
		seconds, err := strconv.ParseInt(v, 10, 64)
		if err != nil || seconds > int64(longestHold/time.Second) { // more digits than an int64 holds is long, too
			return longestHold, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), longestHold), true
}

// classify says what an answer means for the delivery, before the rule about
// mismatched keys has its word on Auth.
func classify(status int, body string) outbox.Outcome {
	switch {
	case status >= 200 && status < 300:
		return outbox.Accepted
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusBadRequest && namesMismatch(body): // Apple
		return outbox.Auth
	case status == http.StatusNotFound, status == http.StatusGone:
		return outbox.Gone
	case status == http.StatusTooManyRequests, status == http.StatusNotAcceptable: // 406: Windows
		return outbox.RateLimited
	case status == http.StatusRequestTimeout, status >= 500, status < 400:
		return outbox.Server
	}
	return outbox.Refused // 400, 413 and whatever else says that asking again will not help
}

// namesMismatch reports whether a refusal says that the subscription was made
// under another key: Apple's VapidPkHashMismatch, and the sentences of FCM ("do
// not correspond to the credentials used to create the subscriptions") and
// Mozilla.
func namesMismatch(body string) bool {
	body = strings.ToLower(body)
	return strings.Contains(body, "mismatch") || strings.Contains(body, "do not correspond")
}

// skew is how far the answer's clock is ahead of ours; 0 where it does not say.
func skew(h http.Header, now time.Time) time.Duration {
	at, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return at.Sub(now)
}
