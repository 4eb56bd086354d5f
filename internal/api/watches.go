package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

type newWatch struct {
	Body struct {
		URL      string    `json:"url" minLength:"1" maxLength:"4096" doc:"The address of a product page."`
		Triggers []Trigger `json:"triggers" maxItems:"5" doc:"What to wait for; one of each type."`
		Basis    string    `json:"basis,omitempty" enum:"price,total,effective" doc:"What is compared; price if not given."`
		Note     string    `json:"note,omitempty" maxLength:"500"`
	}
}

type watchChange struct {
	ID   string `path:"id"`
	Body struct {
		Triggers *[]Trigger       `json:"triggers,omitempty" maxItems:"5"`
		Basis    *string          `json:"basis,omitempty" enum:"price,total,effective"`
		Note     *string          `json:"note,omitempty" maxLength:"500"`
		Paused   *bool            `json:"paused,omitempty" doc:"Pauses or resumes. Resuming also looks again for a product that was gone."`
		Quantity Change[Quantity] `json:"quantity,omitempty" doc:"Corrects what the package holds; null goes back to the shop's word."`
	}
}

type watchID struct {
	ID string `path:"id"`
}

type (
	watchAnswer   struct{ Body Watch }
	watchesAnswer struct {
		Body struct {
			Watches []Watch `json:"watches"`
		}
	}
)

type historyRequest struct {
	ID   string `path:"id"`
	Days int    `query:"days" minimum:"1" maximum:"730" default:"90"`
}

type historyAnswer struct {
	Body struct {
		Points []Point  `json:"points" doc:"Changes, the oldest first; the first may have begun before the window."`
		Alerts []Moment `json:"alerts"`
	}
}

// Point is a price from At on.
type Point struct {
	At           time.Time       `json:"at"`
	Price        Nullable[Money] `json:"price"`
	Availability string          `json:"availability"`
	FoundBy      string          `json:"found_by" required:"false" doc:"The rule that found the price; empty where that was not kept."`
	Evidence     string          `json:"evidence" required:"false" doc:"The piece of the page that it stood in."`
}

// pointsSince are the points in force at some time since.
func pointsSince(h watch.History, since time.Time) []Point {
	points := []Point{}
	for _, p := range h.Points {
		if !p.ConfirmedAt.Before(since) {
			points = append(points, pointOf(p))
		}
	}
	return points
}

func pointOf(p watch.Point) Point {
	return Point{p.At.UTC(), moneyOf(p.Price), availability(p.Availability), p.FoundBy, p.Evidence}
}

// Moment is when an alert was sent.
type Moment struct {
	At      time.Time `json:"at"`
	EventID string    `json:"event_id"`
}

func (a *API) watchRoutes(h huma.API) {
	create := a.private(h, http.MethodPost, "/watches", "make-watch", "Watch a product", http.StatusCreated)
	create.Errors = append(create.Errors, http.StatusConflict, http.StatusBadGateway)
	huma.Register(h, create, a.makeWatch)
	huma.Register(h, a.private(h, http.MethodGet, "/watches", "list-watches", "All watches, the newest first", http.StatusOK), a.listWatches)
	huma.Register(h, a.private(h, http.MethodGet, "/watches/{id}", "get-watch", "A watch", http.StatusOK), a.getWatch)
	huma.Register(h, a.private(h, http.MethodPatch, "/watches/{id}", "change-watch", "Pause, resume or change a watch", http.StatusOK), a.changeWatch)
	huma.Register(h, a.private(h, http.MethodDelete, "/watches/{id}", "remove-watch", "Remove a watch", http.StatusNoContent), a.removeWatch)
	huma.Register(h, a.private(h, http.MethodPost, "/watches/{id}/restore", "restore-watch", "Undo a removal of the last day", http.StatusOK), a.restoreWatch)
	accept := a.private(h, http.MethodPost, "/watches/{id}/accept", "accept-product", "Watch what the page shows now, where it shows another product or currency", http.StatusOK)
	accept.Errors = append(accept.Errors, http.StatusConflict)
	huma.Register(h, accept, a.acceptProduct)
	huma.Register(h, a.private(h, http.MethodGet, "/watches/{id}/history", "watch-history", "Price points for a chart, and when alerts were sent", http.StatusOK), a.history)
}

func (a *API) makeWatch(ctx context.Context, in *newWatch) (*watchAnswer, error) {
	if len(in.Body.Triggers) == 0 {
		_, err := triggers(nil, watch.Observation{})
		return nil, err
	}
	q, err := a.fresh.at(ctx, in.Body.URL)
	if err != nil {
		return nil, shopFault(err)
	}
	user := callerOf(ctx).user
	o := watch.Observe(q)
	o.At = a.Now() // the clock of this process orders history, not the adapter's
	w := watch.Watch{ID: rand.Text(), UserID: user.ID, Note: in.Body.Note, CreatedAt: a.Now()}
	if w.Triggers, err = triggers(in.Body.Triggers, o); err != nil {
		return nil, err
	}
	if w.Basis, err = basis(in.Body.Basis, o); err != nil {
		return nil, err
	}
	l := watch.Listing{ID: rand.Text(), Ref: q.Ref, Name: q.Name, ImageURL: q.ImageURL}
	made, err := a.Store.CreateWatch(ctx, watch.New(w, o), l, o, a.MaxWatches)
	if errors.Is(err, watch.ErrConflict) {
		p := problem(http.StatusConflict, "You watch this product already. Change that watch instead.", Field{"body.url", "is watched already"})
		p.WatchID = made.Watch.ID
		return nil, p
	}
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	return &watchAnswer{a.pictured(made)}, nil
}

func (a *API) listWatches(ctx context.Context, _ *struct{}) (*watchesAnswer, error) {
	ws, err := a.Store.Watches(ctx, callerOf(ctx).user.ID)
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	out := &watchesAnswer{}
	out.Body.Watches = make([]Watch, len(ws))
	for i, w := range ws {
		out.Body.Watches[i] = a.pictured(w)
	}
	return out, nil
}

// pictured is the watch with its picture as this server shows it.
func (a *API) pictured(w watch.Watched) Watch {
	out := watchOf(w)
	out.Listing.Picture = a.picture(w.Listing.ImageURL)
	return out
}

func (a *API) picture(image string) string {
	if a.Pictures == nil || image == "" {
		return ""
	}
	return a.Pictures.Name(image)
}

func (a *API) getWatch(ctx context.Context, in *watchID) (*watchAnswer, error) {
	w, err := a.Store.Watch(ctx, callerOf(ctx).user.ID, in.ID)
	return a.watchAnswer(ctx, w, err)
}

func (a *API) watchAnswer(ctx context.Context, w watch.Watched, err error) (*watchAnswer, error) {
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	return &watchAnswer{a.pictured(w)}, nil
}

func (a *API) changeWatch(ctx context.Context, in *watchChange) (*watchAnswer, error) {
	w, err := a.Store.UpdateWatch(ctx, callerOf(ctx).user.ID, in.ID, func(w *watch.Watched) error {
		last := w.Listing.Last
		if q := in.Body.Quantity; q.Sent {
			if err := correct(&w.Watch, q); err != nil {
				return err
			}
			w.Listing.NextCheckAt = a.Now()
		}
		if last.Quantity = cmp.Or(w.Watch.Quantity, last.Quantity); in.Body.Quantity.Sent && in.Body.Triggers == nil {
			if err := fits(w.Watch, last); err != nil {
				return err
			}
		}
		if b := in.Body.Basis; b != nil && watch.Basis(*b) != w.Watch.Basis {
			changed, err := basis(*b, last)
			if err != nil {
				return err
			}
			// A drop is measured in one basis, so it begins anew.
			w.Watch.Basis, w.Watch.Reference = changed, last.Amount(changed)
		}
		if t := in.Body.Triggers; t != nil {
			changed, err := triggers(*t, last)
			if err != nil {
				return err
			}
			w.Watch.Triggers = keepMarks(w.Watch.Triggers, watch.Arm(changed, last))
			w.Listing.NextCheckAt = a.Now() // one that holds already is told at once
		}
		if in.Body.Note != nil {
			w.Watch.Note = *in.Body.Note
		}
		if p := in.Body.Paused; p != nil {
			if w.Watch.Paused = *p; !*p {
				w.Listing = w.Listing.Resume(a.Now())
			}
		}
		return nil
	})
	return a.watchAnswer(ctx, w, err)
}

func (a *API) removeWatch(ctx context.Context, in *watchID) (*struct{}, error) {
	return nil, a.fault(ctx, a.Store.RemoveWatch(ctx, callerOf(ctx).user.ID, in.ID, a.Now()))
}

func (a *API) restoreWatch(ctx context.Context, in *watchID) (*watchAnswer, error) {
	w, err := a.Store.RestoreWatch(ctx, callerOf(ctx).user.ID, in.ID, a.MaxWatches)
	return a.watchAnswer(ctx, w, err)
}

// correct sets what the package holds by its owner's word. A unit price is then
// another number, so it may be told anew.
func correct(w *watch.Watch, sent Change[Quantity]) error {
	w.Quantity = shop.Quantity{}
	if !sent.Null {
		q, err := contents("body.quantity", sent.Value)
		if err != nil {
			return err
		}
		w.Quantity = q
	}
	for i, t := range w.Triggers {
		if t.Type == watch.UnitPrice {
			w.Triggers[i].Armed = true
		}
	}
	return nil
}

var plainAmount = regexp.MustCompile(`^[0-9]{1,9}([.][0-9]{1,6})?$`)

func contents(at string, sent Quantity) (shop.Quantity, error) {
	switch {
	case !plainAmount.MatchString(sent.Amount):
		return shop.Quantity{}, field(at+".amount", "%.20q is no content. Send a decimal, as in \"500\" or \"1.5\".", sent.Amount)
	case strings.Trim(sent.Amount, "0.") == "":
		return shop.Quantity{}, field(at+".amount", "The content must be above zero.")
	case !slices.Contains(shop.BaseUnits(), sent.Unit):
		return shop.Quantity{}, field(at+".unit", "%.20q is no unit of content. Send one of %s.", sent.Unit, strings.Join(shop.BaseUnits(), ", "))
	}
	return shop.Quantity{Amount: sent.Amount, Unit: sent.Unit}, nil
}

// fits checks that a unit that is waited for can be made of the content.
func fits(w watch.Watch, o watch.Observation) error {
	if t, waits := w.Trigger(watch.UnitPrice); waits {
		if _, err := shop.UnitPriceOf(o.Price, o.Quantity, t.Unit); err != nil {
			return field("body.quantity", "This watch waits for a price per %s, which cannot be made of this content. Change that trigger first, or with it.", t.Unit)
		}
	}
	return nil
}

func (a *API) acceptProduct(ctx context.Context, in *watchID) (*watchAnswer, error) {
	w, err := a.Store.UpdateWatch(ctx, callerOf(ctx).user.ID, in.ID, func(w *watch.Watched) (err error) {
		w.Watch, err = w.Watch.Accept(w.Listing)
		w.Listing.NextCheckAt = a.Now()
		return err
	})
	if errors.Is(err, watch.ErrOtherCurrency) {
		return nil, problem(http.StatusConflict, "This watch waits for a price in another currency than the shop asks now. Change its triggers first.", Field{"body.triggers", "has a target in another currency"})
	}
	return a.watchAnswer(ctx, w, err)
}

func (a *API) history(ctx context.Context, in *historyRequest) (*historyAnswer, error) {
	w, err := a.Store.Watch(ctx, callerOf(ctx).user.ID, in.ID)
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	h, err := a.Store.History(ctx, w.Listing.ID)
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	since := a.Now().AddDate(0, 0, -in.Days)
	moments, err := a.Store.AlertMoments(ctx, in.ID, since)
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	out := &historyAnswer{}
	out.Body.Points, out.Body.Alerts = pointsSince(h, since), []Moment{}
	for _, m := range moments {
		out.Body.Alerts = append(out.Body.Alerts, Moment{m.At.UTC(), m.EventID})
	}
	return out, nil
}
