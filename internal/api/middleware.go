package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/httprate"

	"github.com/sokone/sokone/internal/watch"
)

// caller is who a private call comes from.
type caller struct {
	user   watch.User
	device watch.Device
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// hash is how secrets are kept: 256 random bits need no salt and no stretching.
func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

func bearer(header string) (string, bool) {
	scheme, token, ok := strings.Cut(header, " ")
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}

// authenticate finds the device by the hash of its token, so that no comparison
// of secrets takes place at all.
func (a *API) authenticate(h huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		token, ok := bearer(ctx.Header("Authorization"))
		if !ok || len(token) > 256 {
			a.unauthorized(h, ctx, "Send the device token as 'Authorization: Bearer …'. POST "+base+"/devices makes one.")
			return
		}
		user, device, err := a.Store.Authenticate(ctx.Context(), hash(token))
		switch {
		case errors.Is(err, watch.ErrNotFound):
			a.unauthorized(h, ctx, "This device token is not known. POST "+base+"/devices makes a new one.")
		case err != nil:
			_ = huma.WriteErr(h, ctx, a.fault(ctx.Context(), err).(*Problem).Status, "")
		default:
			next(huma.WithValue(ctx, callerKey{}, caller{user, device}))
		}
	}
}

func (a *API) unauthorized(h huma.API, ctx huma.Context, detail string) {
	ctx.SetHeader("WWW-Authenticate", "Bearer")
	_ = huma.WriteErr(h, ctx, http.StatusUnauthorized, detail)
}

// admin lets the operator in. Without a token set there is no such page.
func (a *API) admin(next http.Handler) http.Handler {
	want := hash(a.AdminToken)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.AdminToken == "" || a.Metrics == nil {
			a.problem(w, http.StatusNotFound, "Set SOKONE_ADMIN_TOKEN to open this page.")
			return
		}
		token, _ := bearer(r.Header.Get("Authorization"))
		if subtle.ConstantTimeCompare(hash(token), want) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			a.problem(w, http.StatusUnauthorized, "Send the operator's token as 'Authorization: Bearer …'.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// clientAddress notes who is asking: the peer, or behind a trusted proxy whom
// it names.
func (a *API) clientAddress(next http.Handler) http.Handler {
	if len(a.TrustedProxies) == 0 {
		return middleware.ClientIPFromRemoteAddr(next)
	}
	trusted := make([]string, len(a.TrustedProxies))
	for i, p := range a.TrustedProxies {
		trusted[i] = p.String()
	}
	return middleware.ClientIPFromXFF(trusted...)(next)
}

// addressKey is what one address is counted by: an IPv6 customer holds a whole
// /64, so the rest of the address is theirs to vary.
func addressKey(r *http.Request) (string, error) {
	a, err := netip.ParseAddr(middleware.GetClientIP(r.Context()))
	if err != nil {
		return r.RemoteAddr, nil
	}
	if a = a.Unmap(); a.Is6() {
		p, err := a.WithZone("").Prefix(64)
		return p.String(), err
	}
	return a.String(), nil
}

// deviceKey is what one device is counted by; requests without a token share
// the count of their address.
func deviceKey(r *http.Request) (string, error) {
	if token, ok := bearer(r.Header.Get("Authorization")); ok {
		return hex.EncodeToString(hash(token)), nil
	}
	return addressKey(r)
}

// limit counts requests per address and per device.
func (a *API) limit(r chi.Router) {
	if a.RateLimit.Requests <= 0 {
		return
	}
	tooMany := httprate.WithLimitHandler(func(w http.ResponseWriter, r *http.Request) {
		a.problem(w, http.StatusTooManyRequests, "Too many requests. Wait for as long as Retry-After says.")
	})
	r.Use(httprate.LimitBy(a.RateLimit.Requests, a.RateLimit.Per, addressKey, tooMany))
	r.Use(httprate.LimitBy(a.RateLimit.Requests, a.RateLimit.Per, deviceKey, tooMany))
}

// secure sets headers that keep a page of ours from being made to do another's
// bidding. The policy allows no inline code at all.
func (a *API) secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
			"manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if a.https(r) {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if strings.HasPrefix(r.URL.Path, "/api/") {
			h.Set("Cache-Control", "no-store")
		}
		next.ServeHTTP(w, r)
	})
}

func (a *API) https(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(a.PublicURL, "https://") || a.trusted(r) && r.Header.Get("X-Forwarded-Proto") == "https"
}

// trusted reports whether the peer is a proxy of the operator's.
func (a *API) trusted(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	for _, p := range a.TrustedProxies {
		if p.Contains(peer.Addr().Unmap()) {
			return true
		}
	}
	return false
}

// origin is the address under which the app was opened: where a click on a
// notification leads.
func (a *API) origin(r *http.Request) string {
	if a.PublicURL != "" {
		return a.PublicURL
	}
	if a.https(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func requestID(ctx context.Context) string { return middleware.GetReqID(ctx) }

// log writes one line a request: never a token, a query or a body.
func (a *API) log(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := a.Now()
		out := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() {
			a.Logger.DebugContext(r.Context(), "api: request", "method", r.Method, "route", route(r), "status", out.Status(),
				"bytes", out.BytesWritten(), "duration", a.Now().Sub(began), "request_id", requestID(r.Context()))
		}()
		next.ServeHTTP(out, r)
	})
}

// route is the pattern, so that ids stay out of the log.
func route(r *http.Request) string {
	if c := chi.RouteContext(r.Context()); c != nil {
		return c.RoutePattern()
	}
	return ""
}

// recover turns a panic into a 500 without a word of it outside.
func (a *API) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			a.Logger.ErrorContext(r.Context(), "api: panic", "panic", fmt.Sprint(v), "stack", string(debug.Stack()), "request_id", requestID(r.Context()))
			a.problem(w, http.StatusInternalServerError, "Something went wrong on this server. It has been noted.")
		}()
		next.ServeHTTP(w, r)
	})
}

// ready answers 200 when every part is well, else 503 with the names of those that are not.
func (a *API) ready(w http.ResponseWriter, r *http.Request) {
	status, checks := http.StatusOK, map[string]string{}
	for name, err := range a.Health.Ready(r.Context()) {
		checks[name] = "ok"
		if err != nil {
			status, checks[name] = http.StatusServiceUnavailable, "failing"
			a.Logger.ErrorContext(r.Context(), "api: not ready", "check", name, "error", err)
		}
	}
	writeJSON(w, status, map[string]any{"status": map[bool]string{true: "ok", false: "failing"}[status == http.StatusOK], "checks": checks})
}

func (a *API) metrics(w http.ResponseWriter, r *http.Request) { a.Metrics.ServeHTTP(w, r) }

// requestOf is the plain request beneath huma's.
func requestOf(ctx huma.Context) (*http.Request, http.ResponseWriter) { return humachi.Unwrap(ctx) }
