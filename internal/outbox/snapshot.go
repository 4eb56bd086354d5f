package outbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// snapshotSchema is the version written today. A binary reads every version up
// to its own; fields are added, never renamed or given another meaning.
const snapshotSchema = 1

// Snapshot is what detection saw when it queued an entry. It never changes.
type Snapshot struct {
	Schema int `json:"schema"`

	// The watch and the trigger as they were.
	Trigger        TriggerSnapshot `json:"trigger"`
	Basis          watch.Basis     `json:"basis"`
	Currency       string          `json:"currency"`
	Reference      money.Amount    `json:"reference"`
	WatchCreatedAt time.Time       `json:"watch_created_at"`
	Content        shop.Quantity   `json:"content,omitzero"`  // as the owner corrected it
	Product        string          `json:"product,omitempty"` // what the watch was made for, where Name is another

	// The observation.
	ObservedAt   time.Time         `json:"observed_at"`
	Price        money.Amount      `json:"price"`
	Shipping     money.Amount      `json:"shipping"`
	Points       money.Amount      `json:"points"`
	Availability shop.Availability `json:"availability,omitempty"`
	Quantity     shop.Quantity     `json:"quantity,omitzero"`
	Name         string            `json:"name,omitempty"`
	FailingSince time.Time         `json:"failing_since,omitzero"`

	Why watch.Why `json:"why"`
}

// TriggerSnapshot is a trigger's condition without its mark.
type TriggerSnapshot struct {
	Type    watch.TriggerType `json:"type"`
	Target  money.Amount      `json:"target"`
	Percent string            `json:"percent,omitempty"`
	Days    int               `json:"days,omitempty"`
	Unit    string            `json:"unit,omitempty"`
}

// NewEntry makes the pending entry for a trigger that fired, with its event id.
func NewEntry(w watch.Watch, f watch.Firing, o watch.Observation) Entry {
	s := Snapshot{
		Schema:  snapshotSchema,
		Trigger: TriggerSnapshot{f.Trigger.Type, f.Trigger.Target, f.Trigger.Percent, f.Trigger.Days, f.Trigger.Unit},
		Basis:   w.Basis, Currency: w.Currency, Reference: w.Reference, WatchCreatedAt: w.CreatedAt,
		Content: w.Quantity, Product: w.Product,
		ObservedAt: o.At, Price: o.Price, Shipping: o.Shipping, Points: o.Points,
		Availability: o.Availability, Quantity: o.Quantity, Name: o.Name,
		Why: f.Why,
	}
	if o.Failure != nil {
		s.FailingSince = o.Failure.Since
	}
	return Entry{
		EventID: NewEventID(), UserID: w.UserID, WatchID: w.ID, ListingID: w.ListingID,
		Trigger: f.Trigger.Type, Channel: WebPush, Status: Pending,
		DetectedAt: o.At, Snapshot: s,
	}
}

// Holds asks whether the condition that was detected holds on an observation
// made later: measured from what detection measured from, whether told or not.
func (s Snapshot) Holds(o watch.Observation, h watch.History) watch.Truth {
	t := watch.Trigger{Type: s.Trigger.Type, Target: s.Trigger.Target, Percent: s.Trigger.Percent, Days: s.Trigger.Days, Unit: s.Trigger.Unit, Armed: true}
	w := watch.Watch{Basis: s.Basis, Currency: s.Currency, Reference: s.Reference, CreatedAt: s.WatchCreatedAt,
		Quantity: s.Content, Product: cmp.Or(s.Product, s.Name)}
	return watch.Decide(w, t, o, h.Before(s.ObservedAt)).Holds
}

// ParseSnapshot reads detected_payload_json of any version up to today's. The
// key "_retry", which rides in the same document, is ignored here.
func ParseSnapshot(data []byte) (Snapshot, error) {
	var s Snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return Snapshot{}, fmt.Errorf("outbox: snapshot: %w", err)
	}
	if s.Schema < 1 || s.Schema > snapshotSchema {
		return Snapshot{}, fmt.Errorf("outbox: snapshot schema %d; this binary reads 1 to %d", s.Schema, snapshotSchema)
	}
	return s, nil
}
