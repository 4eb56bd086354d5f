package push_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/push"
	"github.com/sokone/sokone/internal/push/pushtest"
)

var forbidden = pushtest.Answer{Status: http.StatusForbidden, Body: `{"reason":"BadJwtToken"}`}

func TestAWholeOriginThatRefusesUsLosesNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	subs := make([]outbox.Subscription, 20)
	for i := range subs {
		subs[i] = r.subscribe(t)
		r.send(t, subs[i], outbox.Accepted)
	}
	always := forbidden
	always.Times = -1
	r.service.Script("", always)
	for range 10 {
		for _, s := range subs {
			r.send(t, s, outbox.Auth)
		}
		r.clock.Add(10 * time.Minute)
	}
	if got := r.service.Requests() - len(subs); got > 5+9 {
		t.Errorf("%d requests to an origin that refuses us", got)
	}
	if r.logs.errors() == 0 {
		t.Error("the operator is not told")
	}
	r.service.Unscript()
	r.clock.Add(10 * time.Minute)
	for _, s := range subs {
		r.send(t, s, outbox.Accepted)
	}
}

func TestAnOriginThatNeverTookUsIsHeldAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.subscribe(t), r.subscribe(t)
	r.service.Script("", forbidden)
	if d := r.send(t, a, outbox.Auth); d.RetryAfter != 10*time.Minute {
		t.Errorf("%s", d.RetryAfter)
	}
	r.clock.Add(9 * time.Minute)
	if d := r.send(t, b, outbox.Auth); d.RetryAfter != time.Minute || d.Status != 0 {
		t.Errorf("%+v", d)
	}
	r.requests(t, 1)
	r.clock.Add(time.Minute)
	r.send(t, b, outbox.Accepted)
}

// Under a rotated key the rows of the old one are refused, and go.
func TestARowOfAnotherKeyIsRemovedWhenItIsRefused(t *testing.T) {
	t.Parallel()
	for _, answer := range []pushtest.Answer{
		{Status: 401}, forbidden,
		{Status: 400, Body: `{"reason":"VapidPkHashMismatch"}`},
		{Status: 403, Body: "the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.\n"},
	} {
		r := newRig(t)
		old, current := r.subscribe(t), r.subscribe(t)
		old.KeyID = "another"
		r.service.Script(old.Endpoint, answer)
		r.send(t, old, outbox.Gone)
		r.send(t, current, outbox.Accepted) // and the origin is not held
	}
}

func TestARowOfAnotherKeyThatIsTakenStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	old := r.subscribe(t)
	old.KeyID = "another"
	r.send(t, old, outbox.Accepted)
}

// The old key is still at hand: its subscriptions are served under it.
func TestARowOfAFormerKeyIsSignedWithIt(t *testing.T) {
	t.Parallel()
	former, err := push.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(o *push.Options) { o.Former = []push.Keys{former, o.Keys, {}} })
	subscribe := func(k push.Keys) outbox.Subscription {
		b, err := r.service.Subscribe(k.Public())
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.CheckSubscription(b.Endpoint, b.Keys.P256dh, b.Keys.Auth)
		if err != nil {
			t.Fatal(err)
		}
		s.KeyID = k.ID()
		return s
	}
	before, today := subscribe(former), subscribe(r.keys)
	for range 2 {
		r.send(t, before, outbox.Accepted)
		r.send(t, today, outbox.Accepted)
	}
	r.service.Script(before.Endpoint, forbidden)
	r.send(t, before, outbox.Gone)
	r.send(t, today, outbox.Accepted)
}

// That a former key is taken says nothing of today's.
func TestAFormerKeyIsNoEvidenceForTodays(t *testing.T) {
	t.Parallel()
	former, err := push.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(o *push.Options) { o.Former = []push.Keys{former} })
	old, today := r.subscribe(t), r.subscribe(t)
	old.KeyID = former.ID()
	r.service.Script(today.Endpoint, pushtest.Answer{Status: 400, Body: "VapidPkHashMismatch", Times: -1})
	for range 3 {
		r.send(t, old, outbox.Accepted)
		r.send(t, today, outbox.Auth)
		r.clock.Add(10 * time.Minute)
	}
}

func TestARowOfUnknownKeyIsNoEvidence(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.subscribe(t)
	s.KeyID = ""
	r.service.Script("", forbidden)
	r.send(t, s, outbox.Auth)
}

// The service says that the key is another's, and has taken ours elsewhere.
func TestAnAnswerThatNamesTheMismatchIsBelievedOnceOurKeyIsKnownToBeGood(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	strange, err := push.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.service.Subscribe(strange.Public())
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := r.CheckSubscription(b.Endpoint, b.Keys.P256dh, b.Keys.Auth)
	if err != nil {
		t.Fatal(err)
	}
	r.send(t, foreign, outbox.Auth) // it may be our key that is wrong
	r.clock.Add(10 * time.Minute)
	r.send(t, r.subscribe(t), outbox.Accepted)
	r.send(t, foreign, outbox.Gone)
}

// An origin that has taken us, and then says of everybody that the key is
// another's: that is its fault and not theirs.
func TestAnOriginThatNamesAMismatchForAllLosesOneAtMost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	subs := make([]outbox.Subscription, 20)
	for i := range subs {
		subs[i] = r.subscribe(t)
		r.send(t, subs[i], outbox.Accepted)
	}
	r.service.Script("", pushtest.Answer{Status: 400, Body: "VapidPkHashMismatch", Times: -1})
	gone := 0
	for range 5 {
		for _, s := range subs {
			if r.Send(ctx(t), s, message()).Outcome == outbox.Gone {
				gone++
			}
		}
		r.clock.Add(10 * time.Minute)
	}
	if gone > 1 {
		t.Errorf("%d removed", gone)
	}
}

// Two bad hours of an origin, with a good one between.
func TestTwoOutagesLoseNobodyWhoWasServedBetween(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	subs := []outbox.Subscription{r.subscribe(t), r.subscribe(t), r.subscribe(t)}
	for range 3 {
		for _, s := range subs {
			r.send(t, s, outbox.Accepted)
		}
		r.service.Script("", pushtest.Answer{Status: 401, Times: -1})
		for _, s := range subs {
			r.send(t, s, outbox.Auth)
		}
		r.service.Unscript()
		r.clock.Add(10 * time.Minute)
	}
}

// Whoever posts an endpoint of somebody else's must not stop everybody's alerts.
func TestOneForeignEndpointDoesNotHoldAnOriginThatTakesUs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good, foreign := r.subscribe(t), r.subscribe(t)
	r.service.Script(foreign.Endpoint, pushtest.Answer{Status: 403, Times: -1}) // and does not say why
	r.send(t, good, outbox.Accepted)
	r.send(t, foreign, outbox.Auth)
	r.send(t, foreign, outbox.Auth) // nobody was accepted meanwhile: no evidence yet
	r.send(t, good, outbox.Accepted)
	r.send(t, foreign, outbox.Gone)
	r.send(t, good, outbox.Accepted)
}

func TestAClockThatIsWrongRemovesNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.subscribe(t), r.subscribe(t)
	r.send(t, a, outbox.Accepted)
	r.send(t, b, outbox.Accepted)
	b.KeyID = "another"
	// The service is a day and an hour ahead: our tokens have expired there.
	date := r.clock.Now().Add(25 * time.Hour).Format(http.TimeFormat)
	r.service.Script("", pushtest.Answer{Status: 403, Header: http.Header{"Date": {date}}, Body: "VapidPkHashMismatch", Times: -1})
	r.send(t, a, outbox.Auth)
	r.clock.Add(10 * time.Minute)
	r.send(t, b, outbox.Auth)
	if l := r.logs.String(); !strings.Contains(l, "set the clock") || r.logs.errors() == 0 {
		t.Errorf("the operator is not told of the clock: %s", l)
	}
}

// The token of before the pause is not used after it: it was signed by a clock
// that may since have been set right.
func TestAfterARefusalTheTokenIsSignedAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.subscribe(t)
	r.service.Script("", pushtest.Answer{Status: 403, Deliver: true})
	r.send(t, s, outbox.Auth)
	r.clock.Add(10 * time.Minute)
	r.send(t, s, outbox.Accepted)
	ms := r.service.Messages()
	if len(ms) != 2 || ms[0].Header.Get("Authorization") == ms[1].Header.Get("Authorization") {
		t.Error("the same token")
	}
}

func TestOneOfTwoDevicesIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gone, there := r.subscribe(t), r.subscribe(t)
	r.service.Unsubscribe(gone.Endpoint)
	r.send(t, gone, outbox.Gone)
	r.send(t, there, outbox.Accepted)
	if r.logs.errors() != 0 {
		t.Error("an everyday event is no operator signal")
	}
}
