package watch

import (
	"time"

	"github.com/sokone/sokone/internal/money"
)

// Change is what an observation changes in a watch. It is applied only while
// the watch is still at Revision: a watch that was edited or told meanwhile is
// decided at the next poll.
type Change struct {
	WatchID   string
	Revision  int64
	Reference money.Amount  // the raised reference, or the first there is; unknown for no change
	Arm       []TriggerType // triggers seen not to hold
}

// Empty reports whether there is nothing to apply.
func (c Change) Empty() bool { return !c.Reference.Known() && len(c.Arm) == 0 }

// Firing is a trigger that fires, and why.
type Firing struct {
	Trigger Trigger
	Why     Why
}

// Observed applies one observation to a watch: which triggers fire, which are
// armed again, whether the reference rises.
func (w Watch) Observed(o Observation, h History) (Change, []Firing) {
	c := Change{WatchID: w.ID, Revision: w.Revision}
	if w.Paused || w.Removed {
		return c, nil
	}
	var fired []Firing
	for _, t := range w.Triggers {
		d := Decide(w, t, o, h)
		// Readable is armed by the alert that says "unreadable", not by an observation.
		if d.Holds == No && !t.Armed && t.Type != Readable {
			c.Arm = append(c.Arm, t.Type)
		}
		if d.Fires {
			fired = append(fired, Firing{t, d.Why})
		}
	}
	// A watch on what was sold out without a price has no reference yet.
	amount := o.Amount(w.Basis)
	if w.Mismatch(o) == "" && (w.Reference.Less(amount) || !w.Reference.Known() && amount.Known()) {
		c.Reference = amount
	}
	return c, fired
}

// Told is what a sent alert changes in its watch.
type Told struct {
	Notified  *Notified     // nil where the alert was about no price
	Reference money.Amount  // the notified price, or unknown for no change
	Disarm    []TriggerType // the trigger told, and every other that holds on the same observation: one event is told once
	Arm       []TriggerType
}

// Tell says what changes when the alert of trigger typ, having shown o, was
// accepted at the given time.
func (w Watch) Tell(typ TriggerType, o Observation, h History, at time.Time) Told {
	switch typ {
	case Unreadable:
		return Told{Disarm: []TriggerType{Unreadable}, Arm: []TriggerType{Readable}}
	case Readable: // says nothing of the other triggers
		return Told{Disarm: []TriggerType{Readable}}
	}
	told := Told{Disarm: []TriggerType{typ}}
	for _, t := range w.Triggers {
		if t.Type != typ && t.Type != Unreadable && Decide(w, t, o, h).Holds == Yes {
			told.Disarm = append(told.Disarm, t.Type)
		}
	}
	if o.Price.Known() {
		told.Notified = &Notified{At: at, Price: o.Price, Shipping: o.Shipping, Points: o.Points}
		told.Reference = o.Amount(w.Basis)
	}
	return told
}
