// Package app wires the parts together and runs them: the same wiring in
// production, in the demo and in tests.
package app

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/sokone/sokone/internal/api"
	"github.com/sokone/sokone/internal/config"
	"github.com/sokone/sokone/internal/detect"
	"github.com/sokone/sokone/internal/dispatch"
	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/imageproxy"
	"github.com/sokone/sokone/internal/metrics"
	"github.com/sokone/sokone/internal/push"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/custom"
	"github.com/sokone/sokone/internal/shop/page"
	"github.com/sokone/sokone/internal/shop/rakuten"
	"github.com/sokone/sokone/internal/shop/shopify"
	"github.com/sokone/sokone/internal/shop/woocommerce"
	"github.com/sokone/sokone/internal/shop/yahoo"
	"github.com/sokone/sokone/internal/store"
	"github.com/sokone/sokone/internal/watch"
	"github.com/sokone/sokone/web"
)

// Options that are not the operator's. The zero value is right for production.
type Options struct {
	Now      func() time.Time // default time.Now
	Log      io.Writer        // default os.Stderr
	Adapters []shop.Adapter   // asked before the general ones
	Listener net.Listener     // default: one on Config.Listen
	Ready    func(address string)
}

// App is the service, wired and not yet running.
type App struct {
	Config   config.Config
	Values   config.Values
	Logger   *slog.Logger
	Store    *store.Store
	Shops    *shop.Registry
	Sender   *push.Sender
	Detector *detect.Detector
	Dispatch *dispatch.Dispatcher
	Metrics  *metrics.Metrics

	o          Options
	pictureKey []byte
	jobs       []*job

	readyMu   sync.Mutex // guards the last answer about readiness
	readyAt   time.Time
	readyLast map[string]error
}

// longestWait is the longest that a failing listing waits for its next poll.
const longestWait = 24 * time.Hour

// passBudget leaves room for the polls in flight before the next minute.
const passBudget = 45 * time.Second

// New checks the configuration, opens the database and wires everything.
func New(ctx context.Context, c config.Config, o Options) (*App, error) {
	values, described, err := parsed(c)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = os.Stderr
	}
	a := &App{Config: c, Values: values, o: o, Logger: NewLogger(c, values, o.Log)}
	keys, err := Keys(c)
	if err != nil {
		return nil, err
	}
	a.pictureKey = keys.Derive("pictures")
	if a.Store, err = store.Open(ctx, c.Data, store.Options{Logger: a.Logger, Now: o.Now}); err != nil {
		return nil, err
	}
	a.Metrics = metrics.New(a.Store, o.Now, a.Logger)
	client := newClient(c, values, o.Now, a.Metrics.Fetch)
	a.Metrics.Circuits(client.Open)
	a.Shops = shops(c, o, client, described)
	if values.Contact == "" {
		a.Logger.Warn("app: SOKONE_CONTACT is not set: push services may refuse this server, and shops cannot ask who it is. Set it to mailto: or https: of yours.")
	}
	a.Sender = push.NewSender(push.Options{
		Keys: keys, Former: former(c), Contact: values.Contact, UserAgent: userAgent(values), Hosts: c.PushHosts, AllowNetworks: values.AllowNetworks,
		Now: o.Now, Logger: a.Logger, Observe: a.Metrics.Push,
	})
	a.Detector = detect.New(detect.Options{
		Store: a.Store, Shops: a.Shops, Schedule: watch.Schedule{Interval: c.PollInterval, Fastest: values.PollFastest, Slowest: values.PollSlowest, Max: longestWait},
		Polls: polls(values),
		Lease: c.Lease, Budget: passBudget, Now: o.Now, Spread: spread, Logger: a.Logger,
	})
	a.Dispatch = dispatch.New(dispatch.Options{
		Store: a.Store, Shops: a.Shops, Sender: a.Sender, Lease: c.Lease, MaxRetry: c.MaxRetry, TTL: c.PushTTL,
		PublicURL: values.PublicURL, Now: o.Now, Logger: a.Logger,
	})
	return a, nil
}

// polls bounds the polls of all shops together. A whole span's worth may come at
// once: what is due together after a night off is not held up needlessly.
func polls(v config.Values) *rate.Limiter {
	if v.Polls == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Every(v.PollsPer/time.Duration(v.Polls)), v.Polls)
}

// ConfigError is a fault in what the operator has set.
type ConfigError struct{ err error }

// Error names the variable.
func (e *ConfigError) Error() string { return "configuration: " + e.err.Error() }

// Unwrap gives the cause.
func (e *ConfigError) Unwrap() error { return e.err }

// Shops makes the registry of adapters alone, for `sokone quote`: no database.
func Shops(c config.Config, o Options) (*shop.Registry, error) {
	values, described, err := parsed(c)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return shops(c, o, newClient(c, values, o.Now, nil), described), nil
}

// parsed checks all that the operator has set, the file of shops too, so that the
// faults of both are told at once.
func parsed(c config.Config) (config.Values, []custom.Shop, error) {
	values, err := c.Parse()
	var described []custom.Shop
	if c.ShopsFile != "" {
		var failed error
		if described, failed = custom.Load(c.ShopsFile); failed != nil {
			err = errors.Join(err, fmt.Errorf("SOKONE_SHOPS_FILE: %w", failed))
		}
	}
	if err != nil {
		return values, nil, &ConfigError{err}
	}
	return values, described, nil
}

func newClient(c config.Config, v config.Values, now func() time.Time, observe func(string, time.Duration)) *fetch.Client {
	return fetch.New(fetch.Options{
		Guard: fetch.NewGuard(v.AllowNetworks), UserAgent: userAgent(v), HostInterval: c.HostInterval, IgnoreRobots: c.Robots == "ignore", Now: now, Observe: observe,
	})
}

func shops(c config.Config, o Options, client *fetch.Client, described []custom.Shop) *shop.Registry {
	pages := page.New(client, o.Now)
	adapters := o.Adapters
	for _, s := range described {
		adapters = append(adapters, custom.New(s, client, o.Now))
	}
	return shop.NewRegistry(append(adapters,
		rakuten.New(client, rakuten.Options{ApplicationID: c.RakutenApplicationID, AccessKey: c.RakutenAccessKey, SiteURL: c.RakutenSiteURL, Endpoint: c.RakutenEndpoint, Now: o.Now}),
		yahoo.New(client, yahoo.Options{AppID: c.YahooAppID, Endpoint: c.YahooEndpoint, Now: o.Now}),
		shopify.New(client, pages, o.Now),
		woocommerce.New(client, pages, o.Now),
		pages, // reads any page, so it is asked last
	)...)
}

// Keys are the VAPID keys that the operator gave, or those of the data directory.
func Keys(c config.Config) (push.Keys, error) {
	if c.VAPIDPublicKey != "" {
		keys, err := push.ParseKeys(c.VAPIDPublicKey, c.VAPIDPrivateKey)
		if err != nil {
			return keys, &ConfigError{fmt.Errorf("SOKONE_VAPID_PUBLIC_KEY and SOKONE_VAPID_PRIVATE_KEY: %w", err)}
		}
		return keys, nil
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return push.Keys{}, &ConfigError{fmt.Errorf("SOKONE_DATA is %q: %w", c.Data, err)}
	}
	return push.LoadOrCreateKeys(c.Data)
}

// former are the keys of the data directory where the operator gave others: what
// subscribed under them is signed with them until it subscribes again.
func former(c config.Config) []push.Keys {
	if c.VAPIDPublicKey == "" {
		return nil
	}
	keys, err := push.LoadKeys(c.Data)
	if err != nil {
		return nil // there were none
	}
	return []push.Keys{keys}
}

// userAgent says who asks, and whom to ask back.
func userAgent(v config.Values) string {
	if v.Contact == "" {
		return "Sokone/" + Version()
	}
	return "Sokone/" + Version() + " (+" + v.Contact + ")"
}

// Version of this binary, from the build.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

// spread is in [0, 1).
func spread() float64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, crypto/rand documents
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}

// NewLogger writes events as text or JSON.
func NewLogger(c config.Config, v config.Values, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: v.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// Close closes the database.
func (a *App) Close() error {
	a.Sender.Close()
	return a.Store.Close()
}

// handler answers everything.
func (a *App) handler() http.Handler {
	return api.New(api.Options{
		Store: a.Store, Shops: a.Shops, Push: a.Sender, Health: a, Metrics: a.Metrics.Handler(), App: web.Handler(), Pictures: a.pictures(),
		PublicURL: a.Values.PublicURL, RateLimit: api.Rate{Requests: a.Values.RateRequests, Per: a.Values.RatePer},
		MaxWatches: a.Config.MaxWatches, AdminToken: a.Config.AdminToken, TrustedProxies: a.Values.TrustedProxies,
		Version: Version(), Now: a.o.Now, Logger: a.Logger,
	})
}

// pictures has a client of its own: pictures wait for no poll, nor polls for them.
func (a *App) pictures() *imageproxy.Proxy {
	return imageproxy.New(imageproxy.Options{Key: a.pictureKey, Fetch: fetch.New(fetch.Options{
		Guard: fetch.NewGuard(a.Values.AllowNetworks), UserAgent: userAgent(a.Values), MaxBytes: 2 << 20, Timeout: 15 * time.Second, IgnoreRobots: true, Now: a.o.Now,
	})})
}

// drainFor is how long a stop waits for what is in flight.
const drainFor = 40 * time.Second

// Run serves until ctx ends. Then it takes no more requests and starts no more
// passes, finishes what is in flight, and returns. The caller closes the App.
func (a *App) Run(ctx context.Context) error {
	listener := a.o.Listener
	if listener == nil {
		l, err := net.Listen("tcp", a.Config.Listen)
		if err != nil {
			return &ConfigError{fmt.Errorf("SOKONE_LISTEN is %q: %w", a.Config.Listen, err)}
		}
		listener = l
	}
	server := &http.Server{
		Handler:           a.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      90 * time.Second, // a preview waits for its turn at the shop
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(a.Logger.Handler(), slog.LevelDebug),
	}
	stopJobs, err := a.startJobs(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	a.Logger.Info("app: serving", "address", listener.Addr().String(), "version", Version())
	if a.o.Ready != nil {
		a.o.Ready(listener.Addr().String())
	}
	select {
	case err = <-failed:
		err = fmt.Errorf("app: serve: %w", err)
	case <-ctx.Done():
		a.Logger.Info("app: stopping")
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainFor)
	defer cancel()
	if shut := server.Shutdown(drain); shut != nil {
		err = errors.Join(err, fmt.Errorf("app: requests in flight: %w", shut), server.Close())
	}
	return errors.Join(err, stopJobs(drain))
}
