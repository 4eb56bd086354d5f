// Package push turns a message into a Web Push request and the push service's
// answer into an outcome: VAPID keys (RFC 8292), checks of what browsers
// subscribe with, encryption (RFC 8291) by webpush-go, and the rules of each
// answer. An endpoint is a secret, and an address that a stranger makes us call.
package push

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode"

	webpush "github.com/SherClockHolmes/webpush-go"

	"github.com/sokone/sokone/internal/outbox"
)

const (
	maxTTL        = time.Hour // an alert that could not be delivered within the hour should not be
	maxPlaintext  = 3993      // 4096 of the body, less 86 of header, 16 of tag, 1 of delimiter
	goodPlaintext = 2048      // what every bridge carries

	signalClock = 5 * time.Minute // clocks this far apart are worth a word to the operator
	wrongClock  = 11 * time.Hour  // and this far, our tokens (12 h) may be refused for it
)

// fallbackContact is who VAPID names where the operator has not said who they
// are. Push services want some address; this one is the software's.
const fallbackContact = "https://github.com/sokone/sokone"

// Options of a Sender. Keys are required.
type Options struct {
	Keys          Keys           // that browsers subscribe under
	Former        []Keys         // that they did before: their subscriptions are served until the page subscribes anew
	Contact       string         // of the operator, as CheckContact takes it; default the project's page
	UserAgent     string         // default "Sokone"
	Hosts         []string       // push hosts besides the known ones; ".example.org" for all below
	AllowNetworks []netip.Prefix // where endpoints may be plain http, at any port; default none
	Resolver      *net.Resolver  // default the system's
	Now           func() time.Time
	Logger        *slog.Logger
	// Observe is told of each request that was made: how it ended and how long it took.
	Observe func(outcome outbox.Outcome, took time.Duration)
}

// Sender sends messages to subscriptions. It is safe for concurrent use.
type Sender struct {
	keys      Keys
	former    map[string]Keys // by id
	contact   string
	userAgent string
	to        *destinations
	client    *http.Client
	origins   origins
	now       func() time.Time
	log       *slog.Logger
	observe   func(outbox.Outcome, time.Duration)
}

// NewSender makes a Sender. It panics without keys and with a contact that
// CheckContact refuses: both are to be checked where they are configured.
func NewSender(o Options) *Sender {
	if o.Keys.signer == nil {
		panic("push: no VAPID keys")
	}
	log := cmp.Or(o.Logger, slog.Default())
	contact, err := CheckContact(cmp.Or(o.Contact, fallbackContact))
	if err != nil {
		panic("push: " + err.Error())
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(outbox.Outcome, time.Duration) {}
	}
	to := newDestinations(o.Hosts, o.AllowNetworks, cmp.Or(o.Resolver, net.DefaultResolver))
	former := map[string]Keys{}
	for _, k := range o.Former {
		if k.signer != nil && k.ID() != o.Keys.ID() {
			former[k.ID()] = k
		}
	}
	return &Sender{
		keys: o.Keys, former: former, contact: contact, userAgent: cmp.Or(o.UserAgent, "Sokone"),
		to: to, client: newClient(to), origins: origins{of: map[string]*origin{}},
		now: o.Now, log: log, observe: o.Observe,
	}
}

// PublicKey is the key that browsers subscribe under, in base64url.
func (s *Sender) PublicKey() string { return s.keys.Public() }

// KeyID names that key; it is stored with each subscription.
func (s *Sender) KeyID() string { return s.keys.ID() }

// Close drops idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// answer is what a push service said.
type answer struct {
	status int
	header http.Header
	body   string
	skew   time.Duration // its clock ahead of ours
}

// Send sends a message to a subscription. It never fails: whatever happens is
// an outcome. Nothing leaves the machine for a subscription or message that is
// not fit to be sent, nor for an origin that is held.
func (s *Sender) Send(ctx context.Context, sub outbox.Subscription, m outbox.Message) outbox.Delivery {
	now := s.now()
	t, unfit := s.fit(sub, m, now)
	if unfit.Outcome != "" {
		return s.done(sub, t, unfit, now)
	}
	token, held, err := s.permit(t, sub.KeyID, now)
	if err != nil {
		return s.done(sub, t, outbox.Delivery{Outcome: outbox.Auth, Detail: err.Error(), RetryAfter: authHold}, now)
	}
	if held.Outcome != "" {
		held.SubscriptionID, held.At = sub.ID, now
		return held
	}
	a, err := s.post(ctx, sub, m, token)
	now, began := s.now(), now
	var d outbox.Delivery
	if err != nil {
		// It may have arrived: sent again, with the same event id and Topic.
		d = outbox.Delivery{Outcome: outbox.Network, Detail: s.detail(withoutURL(err).Error(), sub)}
	} else {
		a.skew = skew(a.header, now)
		d = outbox.Delivery{Status: a.status, Detail: s.detail(a.body, sub)}
		d.Outcome, d.RetryAfter = s.learn(t, sub.KeyID, a, now)
		s.signal(t, a, d, now)
	}
	s.observe(d.Outcome, now.Sub(began))
	return s.done(sub, t, d, now)
}

// fit checks a message and a subscription as it came from the database, which
// may be older than today's rules. An Outcome says why it is not sent.
func (s *Sender) fit(sub outbox.Subscription, m outbox.Message, now time.Time) (target, outbox.Delivery) {
	refuse := func(why string) outbox.Delivery {
		return outbox.Delivery{Outcome: outbox.Refused, Detail: "not sent: " + why}
	}
	t, err := s.to.parse(sub.Endpoint)
	if err != nil {
		return t, refuse("endpoint " + err.Error())
	}
	if _, _, err := subscriptionKeys(sub.P256dh, sub.Auth); err != nil {
		return t, refuse(err.Error())
	}
	switch {
	case !sub.ExpiresAt.IsZero() && !sub.ExpiresAt.After(now):
		return t, outbox.Delivery{Outcome: outbox.Gone, Detail: "not sent: the subscription has expired"}
	case m.TTL <= 0:
		return t, refuse("it is stale: no time is left to deliver it in")
	case len(m.Body) > maxPlaintext:
		return t, refuse("it is longer than the 3993 bytes that a push service takes")
	}
	return t, outbox.Delivery{}
}

// post encrypts and sends, and reads the answer.
func (s *Sender) post(ctx context.Context, sub outbox.Subscription, m outbox.Message, token string) (answer, error) {
	topic := sha256.Sum256([]byte(m.EventID))
	// The capacity is cut: webpush-go pads into what lies behind the message.
	body := m.Body[:len(m.Body):len(m.Body)]
	resp, err := webpush.SendNotificationWithContext(ctx, body,
		&webpush.Subscription{Endpoint: sub.Endpoint, Keys: webpush.Keys{Auth: sub.Auth, P256dh: sub.P256dh}},
		&webpush.Options{
			HTTPClient: signed{s.client, token, s.userAgent},
			RecordSize: recordSize(len(m.Body)),
			// Exactly 32 characters: Apple decodes it as base64.
			Topic:   base64.RawURLEncoding.EncodeToString(topic[:24]),
			TTL:     ttlSeconds(m.TTL),
			Urgency: webpush.UrgencyHigh,
			// It signs a token at each send, which `signed` replaces. The key 1 keeps
			// the real one out of it.
			VAPIDPrivateKey: "AQ",
		})
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	// The status is the answer. What cannot be read of the body is not missed.
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxBodyBytes))
	return answer{status: resp.StatusCode, header: resp.Header, body: string(text)}, nil
}

// signed is the client under webpush-go that puts in the Authorization header
// kept for the origin.
type signed struct {
	client           *http.Client
	token, userAgent string
}

func (c signed) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", c.token)
	r.Header.Set("User-Agent", c.userAgent)
	return c.client.Do(r)
}

// recordSize is the bucket that a plaintext is padded to, so that its length
// tells little and costs little: 86 bytes of header, 16 of tag, 1 of delimiter.
func recordSize(plaintext int) uint32 {
	const overhead = 86 + 16 + 1
	for _, size := range []int{512, 1024, 2048, 3072} {
		if plaintext <= size-overhead {
			return uint32(size)
		}
	}
	return webpush.MaxRecordSize
}

// ttlSeconds is at least 1, where webpush-go would say 0, and at most an hour.
func ttlSeconds(ttl time.Duration) int {
	return int(max(min(ttl, maxTTL)/time.Second, 1))
}

// signal tells the operator what no retry will mend. Never the endpoint.
func (s *Sender) signal(t target, a answer, d outbox.Delivery, now time.Time) {
	tell := func(message string) {
		if s.signalDue(t, message, now) {
			s.log.Error(message, "origin", t.origin, "status", a.status, "answer", d.Detail, "service_clock_ahead", a.skew.Round(time.Second).String())
		}
	}
	if a.skew.Abs() >= signalClock {
		tell("push: this server's clock and the push service's differ; set the clock")
	}
	switch {
	case d.Outcome == outbox.Auth:
		tell("push: the push service refuses this server's VAPID key, contact or clock; no subscription was removed")
	case d.Outcome == outbox.Refused:
		tell("push: the push service refuses the message as malformed")
	case a.status >= 300 && a.status < 400:
		tell("push: the push service redirects, which is not followed")
	}
}

// done completes a delivery and logs what went wrong.
func (s *Sender) done(sub outbox.Subscription, t target, d outbox.Delivery, now time.Time) outbox.Delivery {
	d.SubscriptionID, d.At = sub.ID, now
	if d.Outcome != outbox.Accepted {
		s.log.Info("push: not delivered", "subscription_id", sub.ID, "origin", t.origin,
			"outcome", string(d.Outcome), "status", d.Status, "answer", d.Detail, "retry_after", d.RetryAfter.String())
	}
	return d
}

// detail is what is kept of an answer: its first KiB as one line of text, without
// the endpoint and the keys, should it repeat them.
func (s *Sender) detail(text string, sub outbox.Subscription) string {
	if text == "" {
		return ""
	}
	secrets := []string{sub.Endpoint, "…", sub.P256dh, "…", sub.Auth, "…"}
	if u, err := url.Parse(sub.Endpoint); err == nil {
		for _, part := range []string{u.RequestURI(), u.EscapedPath(), u.RawQuery, u.EscapedPath()[strings.LastIndexByte(u.EscapedPath(), '/')+1:]} {
			if len(part) >= 8 { // "/" or "/push/" is no secret
				secrets = append(secrets, part, "…")
			}
		}
	}
	pairs := secrets[:0]
	for i := 0; i < len(secrets); i += 2 {
		if secrets[i] != "" {
			pairs = append(pairs, secrets[i], secrets[i+1])
		}
	}
	text = strings.NewReplacer(pairs...).Replace(text)
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
	text = strings.TrimSpace(text)
	if len(text) > maxDetailBytes {
		text = strings.ToValidUTF8(text[:maxDetailBytes], "")
	}
	return text
}

// withoutURL takes the address out of an error of net/http.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
