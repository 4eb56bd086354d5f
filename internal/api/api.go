// Package api is the HTTP face: routes, authentication, limits and problem
// details, with the OpenAPI document made from the same types. It decides
// nothing: rules live in watch and outbox.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// Store is what the API needs of the storage.
type Store interface {
	CreateUser(ctx context.Context, u watch.User, d watch.Device, tokenHash []byte) error
	LinkDevice(ctx context.Context, codeHash []byte, d watch.Device, tokenHash []byte, now time.Time) (watch.User, error)
	Authenticate(ctx context.Context, tokenHash []byte) (watch.User, watch.Device, error)
	UpdateUser(ctx context.Context, u watch.User) error
	DeleteDevice(ctx context.Context, deviceID string) error
	CreateLinkCode(ctx context.Context, userID string, codeHash []byte, expiresAt time.Time) error

	PutSubscription(ctx context.Context, s outbox.Subscription) error
	DeleteSubscription(ctx context.Context, deviceID string) error
	Subscription(ctx context.Context, deviceID string) (outbox.Subscription, error)

	CreateWatch(ctx context.Context, w watch.Watch, l watch.Listing, o watch.Observation, maxWatches int) (watch.Watched, error)
	Watch(ctx context.Context, userID, id string) (watch.Watched, error)
	Watches(ctx context.Context, userID string) ([]watch.Watched, error)
	UpdateWatch(ctx context.Context, userID, id string, change func(*watch.Watched) error) (watch.Watched, error)
	RemoveWatch(ctx context.Context, userID, id string, at time.Time) error
	RestoreWatch(ctx context.Context, userID, id string, maxWatches int) (watch.Watched, error)
	ImportWatches(ctx context.Context, userID string, ws []watch.Watched, maxWatches int) (imported int, err error)
	History(ctx context.Context, listingID string) (watch.History, error)
	HistoryAt(ctx context.Context, ref shop.Ref) (watch.History, error)

	Alerts(ctx context.Context, userID, cursor string, limit int) ([]outbox.Entry, string, error)
	Alert(ctx context.Context, userID, eventID string) (outbox.Job, error)
	AlertMoments(ctx context.Context, watchID string, since time.Time) ([]watch.AlertMoment, error)
}

// Shops reads listings.
type Shops interface {
	Resolve(address string) (shop.Ref, error)
	Quote(ctx context.Context, ref shop.Ref) (shop.Quote, error)
}

// Push checks subscriptions and sends test notifications.
type Push interface {
	PublicKey() string
	KeyID() string
	CheckSubscription(endpoint, p256dh, auth string) (outbox.Subscription, error)
	CheckExpiration(ms *float64) (time.Time, error)
	Send(ctx context.Context, s outbox.Subscription, m outbox.Message) outbox.Delivery
}

// Health reports on the parts of the service, by name; nil is well.
type Health interface {
	Ready(ctx context.Context) map[string]error
}

// Options of the API. Store, Shops, Push, Health, Now and Logger are required.
type Options struct {
	Store          Store
	Shops          Shops
	Push           Push
	Health         Health
	Metrics        http.Handler   // nil for none
	App            http.Handler   // the web app; nil for none
	Pictures       Pictures       // serves products' pictures; nil for none
	PublicURL      string         // "" for what the request says
	RateLimit      Rate           // requests per address and per device; zero for no limit
	MaxWatches     int            // per user
	AdminToken     string         // opens /metrics; "" keeps it shut
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed
	Version        string
	Now            func() time.Time
	Logger         *slog.Logger
}

// Pictures names and serves the pictures of shops, so that shops do not see shoppers.
type Pictures interface {
	http.Handler
	Name(image string) string // the address on this server; "" for none
}

// Rate is a number of requests in a span of time.
type Rate struct {
	Requests int
	Per      time.Duration
}

// API answers requests.
type API struct {
	Options
	fresh *quotes
}

// New makes the handler for everything the server answers.
func New(o Options) http.Handler {
	if o.Store == nil || o.Shops == nil || o.Push == nil || o.Health == nil || o.Now == nil || o.Logger == nil {
		panic("api: an option is missing")
	}
	a := &API{Options: o, fresh: newQuotes(o.Shops, o.Now)}
	r := chi.NewRouter()
	r.Use(middleware.RequestID, a.clientAddress, a.log, a.recover, a.secure)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) {
		a.problem(w, http.StatusNotFound, "There is nothing at this address.")
	})
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		a.problem(w, http.StatusMethodNotAllowed, "This address does not take "+r.Method+".")
	})
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	r.Get("/readyz", a.ready)
	r.With(a.admin).Get("/metrics", a.metrics)
	r.Group(func(r chi.Router) {
		a.limit(r)
		a.routes(r)
	})
	if o.Pictures != nil {
		r.Get("/images/*", o.Pictures.ServeHTTP)
	}
	if o.App != nil {
		r.Get("/*", a.app)
		r.Head("/*", a.app)
	}
	return r
}

// app serves the web app, which has no pages below /api.
func (a *API) app(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		a.problem(w, http.StatusNotFound, "There is nothing at this address.")
		return
	}
	a.App.ServeHTTP(w, r)
}

func (a *API) routes(r chi.Router) {
	config := huma.DefaultConfig("Sokone", a.Version)
	config.Info.Description = "A price watcher: watches on products, and alerts that are true when they are sent."
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "/api/openapi", "", ""
	config.CreateHooks = nil // no links to schemas in answers
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"device": {Type: "http", Scheme: "bearer", Description: "The device token of POST /api/v1/devices."},
	}
	h := humachi.New(r, config)
	a.deviceRoutes(h)
	a.pushRoutes(h)
	a.quoteRoutes(h)
	a.watchRoutes(h)
	a.alertRoutes(h)
	a.transferRoutes(h)
}

const base = "/api/v1"

// bodyLimit is more than any honest request holds.
const bodyLimit = 64 << 10

// public describes a call that needs no token.
func public(method, path, id, summary string, status int) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: base + path, Summary: summary, DefaultStatus: status, MaxBodyBytes: bodyLimit,
		BodyReadTimeout: 10 * time.Second,
		Errors:          []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusTooManyRequests},
	}
}

// private describes a call of a device.
func (a *API) private(h huma.API, method, path, id, summary string, status int) huma.Operation {
	op := public(method, path, id, summary, status)
	op.Security = []map[string][]string{{"device": {}}}
	op.Middlewares = huma.Middlewares{a.authenticate(h)}
	op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusNotFound)
	return op
}
