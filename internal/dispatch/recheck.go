package dispatch

import (
	"time"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// verdict is what a re-check says: send what was checked, withhold it, or try later.
type verdict struct {
	checked    outbox.Checked
	also       []watch.Firing // other chosen triggers of the watch that fire: one message tells all
	withhold   outbox.Reason
	later      outbox.Reason
	detail     string
	retryAfter time.Duration
}

// recheck decides again, by the rule that detection used, on what was read now
// and on the watch as it is now. It is pure.
func recheck(j outbox.Job, r reading) verdict {
	o, v := observation(j, r)
	if v != nil {
		return *v
	}
	trigger, ok := j.Watch.Trigger(j.Entry.Trigger)
	if !ok { // the shopper took the trigger away
		return verdict{withhold: outbox.ConditionLost, checked: outbox.CheckedOf(o, watch.Why{Price: o.Amount(j.Watch.Basis)})}
	}
	d := watch.Decide(j.Watch, trigger, o, r.history.Before(j.Entry.DetectedAt))
	if !d.Why.Price.Known() {
		d.Why.Price = o.Amount(j.Watch.Basis)
	}
	checked := outbox.CheckedOf(o, d.Why)
	switch {
	case d.Fires:
		return verdict{checked: checked, also: alsoFiring(j, o, r.history.Before(j.Entry.DetectedAt))}
	case d.Holds == watch.Yes || toldSince(j, o):
		return verdict{withhold: outbox.AlreadyTold, checked: checked}
	case o.Availability == shop.OutOfStock && trigger.Type != watch.BackInStock && trigger.Type.Chosen():
		return verdict{withhold: outbox.OutOfStock, checked: checked}
	}
	return verdict{withhold: outbox.ConditionLost, checked: checked}
}

// observation is what was read, or the verdict where nothing can be decided on.
func observation(j outbox.Job, r reading) (watch.Observation, *verdict) {
	if e := r.failed; e != nil {
		switch {
		case e.SoldOut:
			return soldOut(j.Listing, r.at), nil
		case j.Entry.Trigger == watch.Unreadable:
			return j.Listing.Failing(e.Kind, r.at), nil
		case e.Kind == shop.KindEmpty:
			return soldOut(j.Listing, r.at), nil // gone: it cannot be bought
		}
		return watch.Observation{}, &verdict{later: outbox.Refetch(string(e.Kind)), detail: e.Message, retryAfter: e.RetryAfter}
	}
	o := watch.Observe(r.quote)
	o.At, o.Since = r.at, j.Listing.Since
	if !o.Price.Positive() {
		return o, &verdict{later: outbox.Refetch(string(shop.KindParse)), detail: "the price read is not above zero"}
	}
	// Another product is for detection to believe, which then tells its watches so.
	if suspect, believed := watch.Judge(j.Listing, o, r.history); !believed || suspect.Why.Replaces() {
		return o, &verdict{later: outbox.Refetch(string(shop.KindParse)), detail: "in quarantine: " + string(suspect.Why)}
	}
	return o, nil
}

// soldOut is the observation of a product that cannot be bought now: the one the
// listing was about.
func soldOut(l watch.Listing, at time.Time) watch.Observation {
	o := watch.SoldOut(at)
	o.Name, o.Since = l.Name, l.Since
	return o
}

func alsoFiring(j outbox.Job, o watch.Observation, h watch.History) (also []watch.Firing) {
	for _, t := range j.Watch.Triggers {
		if t.Type == j.Entry.Trigger || !t.Type.Chosen() || !j.Entry.Trigger.Chosen() {
			continue
		}
		if d := watch.Decide(j.Watch, t, o, h); d.Fires {
			also = append(also, watch.Firing{Trigger: t, Why: d.Why})
		}
	}
	return also
}

// toldSince reports whether another alert of the watch has told this very price
// since the entry was detected.
func toldSince(j outbox.Job, o watch.Observation) bool {
	n := j.Watch.LastNotified
	return n != nil && !n.At.Before(j.Entry.DetectedAt) && o.Price.Known() && n.Price.Equal(o.Price)
}
