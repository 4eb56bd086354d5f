package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/watch"
)

// subscriptionLimit is more than a browser's PushSubscription takes.
const subscriptionLimit = 8 << 10

// Subscription is a browser's PushSubscription.toJSON(), as it is. Members that
// a browser adds one day are let pass.
type Subscription struct {
	_              struct{} `additionalProperties:"true"`
	Endpoint       string   `json:"endpoint" doc:"Who holds it can push, so it is never shown again."`
	ExpirationTime *float64 `json:"expirationTime,omitempty" doc:"Milliseconds since 1970, or null."`
	Keys           struct {
		_      struct{} `additionalProperties:"true"`
		P256dh string   `json:"p256dh"`
		Auth   string   `json:"auth"`
	} `json:"keys"`
	ApplicationServerKey *string `json:"applicationServerKey,omitempty" doc:"The key it was made under, where the page knows it: another than GET /push/key gives is refused."`
}

type putSubscription struct {
	Body   Subscription
	Origin string `header:"Origin"`

	request *http.Request
}

// Resolve keeps the request: where a click leads depends on how it came.
func (p *putSubscription) Resolve(ctx huma.Context) []error {
	p.request, _ = requestOf(ctx)
	return nil
}

type keyAnswer struct {
	Body struct {
		PublicKey string `json:"public_key" doc:"VAPID, base64url: the applicationServerKey to subscribe with."`
	}
}

type testAnswer struct {
	Body struct {
		Outcome string `json:"outcome" enum:"accepted,gone,refused,rate_limited,server,network,auth"`
		Status  int    `json:"status" doc:"HTTP status of the push service; 0 for no answer."`
		Detail  string `json:"detail" doc:"What that means."`
	}
}

func (a *API) pushRoutes(h huma.API) {
	put := a.private(h, http.MethodPut, "/push/subscription", "put-subscription", "Store this device's push subscription", http.StatusNoContent)
	put.MaxBodyBytes = subscriptionLimit
	put.Errors = append(put.Errors, http.StatusConflict)
	huma.Register(h, put, a.putSubscription)
	huma.Register(h, a.private(h, http.MethodDelete, "/push/subscription", "delete-subscription", "Forget this device's push subscription", http.StatusNoContent), a.deleteSubscription)
	huma.Register(h, public(http.MethodGet, "/push/key", "get-push-key", "The key to subscribe with", http.StatusOK), a.pushKey)
	test := a.private(h, http.MethodPost, "/push/test", "test-push", "Send a test notification to this device now", http.StatusOK)
	test.Errors = append(test.Errors, http.StatusConflict)
	huma.Register(h, test, a.testPush)
}

func (a *API) pushKey(context.Context, *struct{}) (*keyAnswer, error) {
	out := &keyAnswer{}
	out.Body.PublicKey = a.Push.PublicKey()
	return out, nil
}

func (a *API) putSubscription(ctx context.Context, in *putSubscription) (*struct{}, error) {
	if k := in.Body.ApplicationServerKey; k != nil && strings.TrimRight(*k, "=") != a.Push.PublicKey() {
		return nil, problem(http.StatusConflict, "This subscription was made under another server key. Subscribe again with the key of GET "+base+"/push/key.",
			Field{"body.applicationServerKey", "is not this server's key"})
	}
	sub, err := a.Push.CheckSubscription(in.Body.Endpoint, in.Body.Keys.P256dh, in.Body.Keys.Auth)
	if err != nil {
		return nil, subscriptionFault(err)
	}
	if sub.ExpiresAt, err = a.Push.CheckExpiration(in.Body.ExpirationTime); err != nil {
		return nil, subscriptionFault(err)
	}
	sub.ID, sub.DeviceID, sub.Origin = rand.Text(), callerOf(ctx).device.ID, a.originOf(in)
	err = a.Store.PutSubscription(ctx, sub)
	if errors.Is(err, watch.ErrConflict) {
		return nil, problem(http.StatusConflict, "This endpoint belongs to another user. Unsubscribe in the browser and subscribe again.", Field{"body.endpoint", "belongs to another user"})
	}
	return nil, a.fault(ctx, err)
}

// subscriptionFault names the member at fault.
func subscriptionFault(err error) error {
	var f interface {
		Field() string
		Fault() string
	}
	if errors.As(err, &f) {
		return field("body."+f.Field(), "%s %s", f.Field(), f.Fault())
	}
	return field("body", "%s", err)
}

// originOf is the app's own address: what the page says, if it is served under
// that name, else what the request says.
func (a *API) originOf(in *putSubscription) string {
	if a.PublicURL == "" && in.request != nil {
		if u, err := url.Parse(in.Origin); err == nil && u.Host == in.request.Host && (u.Scheme == "https" || u.Scheme == "http") {
			return u.Scheme + "://" + u.Host
		}
	}
	if in.request == nil {
		return a.PublicURL
	}
	return a.origin(in.request)
}

func (a *API) deleteSubscription(ctx context.Context, _ *struct{}) (*struct{}, error) {
	return nil, a.fault(ctx, a.Store.DeleteSubscription(ctx, callerOf(ctx).device.ID))
}

func (a *API) testPush(ctx context.Context, _ *struct{}) (*testAnswer, error) {
	c := callerOf(ctx)
	sub, err := a.Store.Subscription(ctx, c.device.ID)
	if errors.Is(err, watch.ErrNotFound) {
		return nil, problem(http.StatusConflict, "This device has no push subscription. Turn notifications on first.")
	}
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	title, body := "Sokone", "Notifications work. This is a test."
	lang := "en"
	if strings.HasPrefix(c.user.Locale, "ja") {
		lang, body = "ja", "通知は届きます。これはテストです。"
	}
	id := outbox.NewEventID()
	message, err := json.Marshal(map[string]any{"web_push": 8030, "notification": map[string]any{
		"title": title, "body": body, "lang": lang, "tag": id, "navigate": sub.Origin + "/settings",
		"data": map[string]any{"event_id": id, "watch_id": "", "price": nil, "checked_at": a.Now().UTC().Truncate(time.Second)},
	}})
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	d := a.Push.Send(ctx, sub, outbox.Message{EventID: id, Body: message, TTL: time.Minute})
	if d.Outcome == outbox.Gone {
		if err := a.Store.DeleteSubscription(ctx, c.device.ID); err != nil {
			return nil, a.fault(ctx, err)
		}
	}
	out := &testAnswer{}
	out.Body.Outcome, out.Body.Status, out.Body.Detail = string(d.Outcome), d.Status, outcomeWords[d.Outcome]
	return out, nil
}

// outcomeWords say what the push service answered. Its own words stay in the
// log: an endpoint may lie in the operator's network, and its answers are not
// the shopper's to read.
var outcomeWords = map[outbox.Outcome]string{
	outbox.Accepted:    "The push service has taken it; it should appear at once.",
	outbox.Gone:        "The push service no longer knows this subscription. Turn notifications off and on again.",
	outbox.Refused:     "The push service does not take this notification.",
	outbox.RateLimited: "The push service asks us to wait. Try again in a few minutes.",
	outbox.Server:      "The push service has a fault of its own. Try again later.",
	outbox.Network:     "The push service could not be reached. Try again later.",
	outbox.Auth:        "The push service does not accept this server's key. The operator has been told.",
}
