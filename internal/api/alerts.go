package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

type alertsRequest struct {
	Cursor string `query:"cursor" maxLength:"64" doc:"next_cursor of the page before."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

type alertsAnswer struct {
	Body struct {
		Alerts     []Alert `json:"alerts" doc:"The newest first; withheld ones too."`
		NextCursor *string `json:"next_cursor"`
	}
}

type alertRequest struct {
	EventID string `path:"event_id"`
}

type alertAnswer struct {
	Body struct {
		Alert
		TrueNow  *bool           `json:"true_now" doc:"Whether what was told holds now; null where the shop cannot be read."`
		PriceNow Nullable[Money] `json:"price_now"`
	}
}

func (a *API) alertRoutes(h huma.API) {
	huma.Register(h, a.private(h, http.MethodGet, "/alerts", "list-alerts", "Alerts, sent and withheld", http.StatusOK), a.listAlerts)
	huma.Register(h, a.private(h, http.MethodGet, "/alerts/{event_id}", "get-alert", "An alert, and whether it is true now", http.StatusOK), a.getAlert)
}

func (a *API) listAlerts(ctx context.Context, in *alertsRequest) (*alertsAnswer, error) {
	entries, next, err := a.Store.Alerts(ctx, callerOf(ctx).user.ID, in.Cursor, in.Limit)
	if errors.Is(err, watch.ErrNotFound) {
		return nil, field("query.cursor", "This cursor is not one of ours. Begin without one.")
	}
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	out := &alertsAnswer{}
	out.Body.Alerts = make([]Alert, len(entries))
	for i, e := range entries {
		out.Body.Alerts[i] = alertOf(e)
	}
	if next != "" {
		out.Body.NextCursor = &next
	}
	return out, nil
}

func (a *API) getAlert(ctx context.Context, in *alertRequest) (*alertAnswer, error) {
	j, err := a.Store.Alert(ctx, callerOf(ctx).user.ID, in.EventID)
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	out := &alertAnswer{}
	out.Body.Alert = alertOf(j.Entry)
	o, known := a.observe(ctx, j)
	if !known {
		return out, nil
	}
	h, err := a.Store.History(ctx, j.Listing.ID)
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	holds := j.Entry.Snapshot.Holds(o, h) == watch.Yes
	out.Body.TrueNow, out.Body.PriceNow = &holds, moneyOf(o.Price)
	return out, nil
}

// observe reads the listing now. Where the shop cannot be read, only an alert
// that says so is known to be true.
func (a *API) observe(ctx context.Context, j outbox.Job) (watch.Observation, bool) {
	told := j.Entry.DetectedAt
	if c := j.Entry.Checked; c != nil {
		told = c.At
	}
	q, err := a.fresh.lately(ctx, j.Listing.Ref, told)
	if err == nil {
		o := watch.Observe(q)
		o.Since = j.Listing.Since
		return o, true
	}
	e := shop.AsError(err)
	switch {
	case e.SoldOut:
		return watch.SoldOut(a.Now()), true
	case j.Entry.Trigger == watch.Unreadable:
		return j.Listing.Failing(e.Kind, a.Now()), true
	case e.Kind == shop.KindEmpty:
		return watch.SoldOut(a.Now()), true
	}
	return watch.Observation{}, false
}
