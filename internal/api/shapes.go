package api

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// Money on the wire: an exact decimal and its currency.
type Money struct {
	Amount   string `json:"amount" pattern:"^-?[0-9]{1,18}([.][0-9]{1,18})?$" doc:"A decimal, as in \"1298\" or \"12.50\"." example:"1298"`
	Currency string `json:"currency" pattern:"^[A-Z]{3}$" doc:"ISO 4217." example:"JPY"`
}

// UnitPrice is a price for a normal unit.
type UnitPrice struct {
	Money
	Per string `json:"per" doc:"The unit." example:"100 g"`
}

// Nullable is T or null; huma has no word for a nullable object.
type Nullable[T any] struct {
	Value T
	Valid bool
}

func some[T any](v T) Nullable[T] { return Nullable[T]{v, true} }

// MarshalJSON writes the value or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return json.Marshal(n.Value)
}

// UnmarshalJSON reads the value or null.
func (n *Nullable[T]) UnmarshalJSON(data []byte) error {
	n.Valid = string(data) != "null"
	return json.Unmarshal(data, &n.Value)
}

// Schema is that of T, or null.
func (n Nullable[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), {Type: "null"}}}
}

// Change tells a member that is set from one that is taken away (null) and from
// one not spoken of.
type Change[T any] struct {
	Value      T
	Sent, Null bool
}

// UnmarshalJSON is called only where the member is there.
func (c *Change[T]) UnmarshalJSON(data []byte) error {
	c.Sent, c.Null = true, string(data) == "null"
	return json.Unmarshal(data, &c.Value)
}

// Schema is that of T, or null.
func (Change[T]) Schema(r huma.Registry) *huma.Schema { return Nullable[T]{}.Schema(r) }

func moneyOf(a money.Amount) Nullable[Money] {
	if !a.Known() {
		return Nullable[Money]{}
	}
	return some(Money{a.Number(), a.Currency()})
}

func unitPriceOf(price money.Amount, q shop.Quantity) Nullable[UnitPrice] {
	u, err := shop.UnitPriceOf(price, q, shop.DefaultUnit(q.Unit))
	if err != nil {
		return Nullable[UnitPrice]{}
	}
	return some(UnitPrice{Money{u.Price.Round().Number(), u.Price.Currency()}, u.Per})
}

func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Watch is a watch as its owner sees it.
type Watch struct {
	ID           string             `json:"id"`
	Listing      Listing            `json:"listing"`
	Triggers     []Trigger          `json:"triggers"`
	Basis        string             `json:"basis" enum:"price,total,effective"`
	Quantity     Nullable[Contents] `json:"quantity" doc:"What the package holds, for the unit price."`
	Note         string             `json:"note"`
	Paused       bool               `json:"paused"`
	Replaced     bool               `json:"replaced" doc:"The page shows another product or currency than this watch is on, so nothing is compared until that is accepted."`
	Product      string             `json:"product" doc:"What the watch was made for, where the page names another product now; else empty."`
	Reference    Nullable[Money]    `json:"reference" doc:"What a drop is measured from."`
	LastNotified Nullable[Notified] `json:"last_notified"`
	CreatedAt    time.Time          `json:"created_at"`
}

// Quantity is an amount of content.
type Quantity struct {
	Amount string `json:"amount" pattern:"^[0-9]{1,9}([.][0-9]{1,6})?$" doc:"A decimal above zero." example:"12000"`
	Unit   string `json:"unit" enum:"g,ml,m,piece,sheet,roll,set,pair,tablet,serving"`
}

// Contents is a quantity, and whose word it is.
type Contents struct {
	Quantity
	By string `json:"by" enum:"shop,you" doc:"Whether the shop says so, or the owner of the watch has corrected it."`
}

// Notified is the last alert that was accepted for delivery.
type Notified struct {
	At    time.Time       `json:"at"`
	Price Nullable[Money] `json:"price"`
}

// Listing is a product at a shop.
type Listing struct {
	ID           string              `json:"id"`
	Adapter      string              `json:"adapter"`
	URL          string              `json:"url"`
	Name         string              `json:"name"`
	ImageURL     string              `json:"image_url"`
	Picture      string              `json:"picture" doc:"Where this server shows the image; empty for nowhere. It may change at any time."`
	Price        Nullable[Money]     `json:"price"`
	Total        Nullable[Money]     `json:"total" doc:"With shipping; null where the shop does not state it."`
	Effective    Nullable[Money]     `json:"effective" doc:"Total less points."`
	UnitPrice    Nullable[UnitPrice] `json:"unit_price"`
	Availability string              `json:"availability" enum:"in_stock,out_of_stock,preorder,unknown"`
	CheckedAt    *time.Time          `json:"checked_at" doc:"When the price was last read."`
	NextCheckAt  *time.Time          `json:"next_check_at" doc:"When it is due again; null while it is paused."`
	Evidence     Nullable[Evidence]  `json:"evidence" doc:"Where the price was read."`
	Problem      Nullable[Issue]     `json:"problem" doc:"Why the price is not fresh, or not compared."`
	RestingUntil *time.Time          `json:"resting_until" doc:"The shop asked for peace, or failed too often, and is left alone until then."`
}

// Evidence answers "why this number?".
type Evidence struct {
	FoundBy string `json:"found_by" doc:"The rule that found the price." example:"json-ld"`
	Text    string `json:"text" doc:"The piece of the page that it stood in; may be empty."`
}

// Issue is what is wrong with a listing.
type Issue struct {
	Kind    string    `json:"kind"`
	Since   time.Time `json:"since"`
	Message string    `json:"message"`
}

func listingOf(l watch.Listing) Listing {
	out := Listing{
		ID: l.ID, Adapter: l.Adapter, URL: l.URL, Name: l.Name, ImageURL: l.ImageURL,
		Price: moneyOf(l.Last.Price), Total: moneyOf(l.Last.Amount(watch.BasisTotal)), Effective: moneyOf(l.Last.Amount(watch.BasisEffective)),
		UnitPrice:    unitPriceOf(l.Last.Price, l.Last.Quantity),
		Availability: availability(l.Last.Availability), CheckedAt: timeOf(l.CheckedAt), RestingUntil: timeOf(l.RestingUntil),
	}
	if l.Last.FoundBy != "" {
		out.Evidence = some(Evidence{l.Last.FoundBy, l.Last.Evidence})
	}
	if !l.Paused {
		out.NextCheckAt = timeOf(l.NextCheckAt)
	}
	return out
}

func availability(a shop.Availability) string {
	if a == "" {
		a = shop.Unknown
	}
	return string(a)
}

func watchOf(w watch.Watched) Watch {
	out := Watch{
		ID: w.Watch.ID, Listing: listingOf(w.Listing), Triggers: []Trigger{}, Basis: string(w.Watch.Basis), Note: w.Watch.Note,
		Paused: w.Watch.Paused, Replaced: w.Watch.Mismatch(w.Listing.Last) != "", Reference: moneyOf(w.Watch.Reference), CreatedAt: w.Watch.CreatedAt.UTC(),
	}
	if w.Watch.Mismatch(w.Listing.Last) == watch.OtherProduct {
		out.Product = w.Watch.Product
	}
	if p := w.Problem(); p != nil {
		out.Listing.Problem = some(Issue{p.Kind, p.Since.UTC(), p.Message})
	}
	if q := w.Listing.Last.Quantity; q.Known() {
		out.Quantity = some(Contents{Quantity{q.Amount, q.Unit}, "shop"})
	}
	if q := w.Watch.Quantity; q.Known() {
		out.Quantity = some(Contents{Quantity{q.Amount, q.Unit}, "you"})
		out.Listing.UnitPrice = unitPriceOf(w.Listing.Last.Price, q)
	}
	for _, t := range w.Watch.Triggers {
		if t.Type.Chosen() {
			out.Triggers = append(out.Triggers, triggerOf(t))
		}
	}
	if n := w.Watch.LastNotified; n != nil {
		out.LastNotified = some(Notified{n.At.UTC(), moneyOf(n.Amount(w.Watch.Basis))})
	}
	return out
}

// Trigger is a condition. Which members it takes depends on its type.
type Trigger struct {
	Type    string   `json:"type" enum:"target_price,price_drop,lowest_in_days,unit_price,back_in_stock"`
	Target  *Money   `json:"target,omitempty" doc:"target_price and unit_price: at most this."`
	Percent *float64 `json:"percent,omitempty" minimum:"0" exclusiveMaximum:"100" doc:"price_drop: by how much; 0 for any drop."`
	Days    *int     `json:"days,omitempty" minimum:"1" maximum:"365" doc:"lowest_in_days: the window; 90 if not given."`
	Unit    *string  `json:"unit,omitempty" maxLength:"20" doc:"unit_price: the unit, as in \"100 g\"."`
}

func triggerOf(t watch.Trigger) Trigger {
	out := Trigger{Type: string(t.Type)}
	if t.Target.Known() {
		out.Target = &Money{t.Target.Number(), t.Target.Currency()}
	}
	switch t.Type {
	case watch.PriceDrop:
		p, _ := strconv.ParseFloat(t.Percent, 64) // written by us from a float
		out.Percent = &p
	case watch.LowestInDays:
		out.Days = &t.Days
	case watch.UnitPrice:
		out.Unit = &t.Unit
	}
	return out
}

// Alert is an entry of the outbox as its owner sees it.
type Alert struct {
	EventID       string            `json:"event_id"`
	WatchID       string            `json:"watch_id"`
	Trigger       string            `json:"trigger"`
	Channel       string            `json:"channel"`
	State         string            `json:"state" enum:"pending,sending,retry,sent,dropped,failed"`
	Reason        *string           `json:"reason" doc:"Why it is dropped, failed or tried again."`
	DetectedAt    time.Time         `json:"detected_at"`
	Detected      Detected          `json:"detected"`
	Checked       Nullable[Checked] `json:"checked" doc:"The last re-check."`
	SentAt        *time.Time        `json:"sent_at"`
	RetryCount    int               `json:"retry_count"`
	NextAttemptAt *time.Time        `json:"next_attempt_at"`
	Why           Why               `json:"why" doc:"The numbers of the condition."`
	Name          string            `json:"name" doc:"The product, as it was called then."`
}

// Detected is what detection saw.
type Detected struct {
	Price Nullable[Money] `json:"price"`
}

// Checked is what a re-check read.
type Checked struct {
	Price Nullable[Money] `json:"price"`
	At    time.Time       `json:"at"`
}

// Why holds the numbers that belong to the trigger.
type Why struct {
	Price        *Money     `json:"price,omitempty" doc:"In the watch's basis."`
	Reference    *Money     `json:"reference,omitempty"`
	Target       *Money     `json:"target,omitempty"`
	Percent      *float64   `json:"percent,omitempty"`
	Days         *int       `json:"days,omitempty"`
	Lowest       *Money     `json:"lowest,omitempty"`
	LowestSince  *time.Time `json:"lowest_since,omitempty"`
	UnitPrice    *Money     `json:"unit_price,omitempty"`
	Unit         string     `json:"unit,omitempty"`
	Availability string     `json:"availability,omitempty"`
	FailingSince *time.Time `json:"failing_since,omitempty"`
	FailureKind  string     `json:"failure_kind,omitempty"`
}

func whyOf(w watch.Why) Why {
	m := func(a money.Amount) *Money {
		if !a.Known() {
			return nil
		}
		return &Money{a.Number(), a.Currency()}
	}
	out := Why{
		Price: m(w.Price), Reference: m(w.Reference), Target: m(w.Target), Lowest: m(w.Lowest), LowestSince: timeOf(w.LowestSince),
		UnitPrice: m(w.UnitPrice.Round()), Unit: w.Unit, Availability: string(w.Availability), FailingSince: timeOf(w.FailingSince), FailureKind: string(w.FailureKind),
	}
	if w.Percent != "" {
		p, _ := strconv.ParseFloat(w.Percent, 64) // written by us from a float
		out.Percent = &p
	}
	if w.Days > 0 {
		out.Days = &w.Days
	}
	return out
}

func alertOf(e outbox.Entry) Alert {
	a := Alert{
		EventID: e.EventID, WatchID: e.WatchID, Trigger: string(e.Trigger), Channel: e.Channel, State: string(e.Status),
		DetectedAt: e.DetectedAt.UTC(), Detected: Detected{moneyOf(e.Snapshot.Price)}, SentAt: timeOf(e.SentAt), RetryCount: e.RetryCount,
		Why: whyOf(e.Snapshot.Why), Name: e.Snapshot.Name,
	}
	if e.Reason != "" {
		reason := string(e.Reason)
		a.Reason = &reason
	}
	if c := e.Checked; c != nil {
		a.Checked = some(Checked{moneyOf(c.Price), c.At.UTC()})
	}
	if e.Status == outbox.Retry {
		a.NextAttemptAt = timeOf(e.Retry.NextAttemptAt)
	}
	return a
}

var typeOfExport = reflect.TypeFor[Export]()

// quantityFor is any quantity that a price per the unit can be made of.
func quantityFor(unit string) shop.Quantity {
	for _, base := range shop.BaseUnits() {
		q := shop.Quantity{Amount: "1", Unit: base}
		for _, u := range shop.Units() {
			if strings.EqualFold(strings.ReplaceAll(u, " ", ""), strings.ReplaceAll(unit, " ", "")) {
				if _, err := shop.UnitPriceOf(money.MustParse("1", "JPY"), q, u); err == nil {
					return q
				}
			}
		}
	}
	return shop.Quantity{}
}
