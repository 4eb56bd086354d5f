package api

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // zones are checked the same on every machine

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/text/language"

	"github.com/sokone/sokone/internal/watch"
)

// linkFor is how long a link code may be used.
const linkFor = 10 * time.Minute

// Quiet are the hours in which no alert is sent.
type Quiet struct {
	From string `json:"from" example:"22:00" doc:"Local time of day, HH:MM."`
	To   string `json:"to" example:"07:00"`
}

// Profile is what a user has set.
type Profile struct {
	UserID     string          `json:"user_id"`
	Timezone   string          `json:"timezone"`
	Locale     string          `json:"locale"`
	QuietHours Nullable[Quiet] `json:"quiet_hours"`
	Subscribed bool            `json:"subscribed" doc:"Whether this device has a push subscription."`
	CreatedAt  time.Time       `json:"created_at"`
}

type newDevice struct {
	Body *struct { // all of it may be left out, and so may the body
		Timezone string `json:"timezone,omitempty" maxLength:"64" doc:"IANA name." example:"Asia/Tokyo"`
		Locale   string `json:"locale,omitempty" maxLength:"35" doc:"BCP 47." example:"ja"`
		LinkCode string `json:"link_code,omitempty" maxLength:"64" doc:"Joins the user who made it."`
	}
	AcceptLanguage string `header:"Accept-Language"`
}

type madeDevice struct {
	Body struct {
		DeviceToken string `json:"device_token" doc:"Shown this once."`
		UserID      string `json:"user_id"`
	}
}

type profileChange struct {
	Body struct {
		Timezone   *string       `json:"timezone,omitempty" maxLength:"64"`
		Locale     *string       `json:"locale,omitempty" maxLength:"35"`
		QuietHours Change[Quiet] `json:"quiet_hours,omitempty" doc:"null for none"`
	}
}

type profileAnswer struct{ Body Profile }

type linkAnswer struct {
	Body struct {
		Code      string    `json:"code"`
		ExpiresAt time.Time `json:"expires_at"`
	}
}

func (a *API) deviceRoutes(h huma.API) {
	huma.Register(h, public(http.MethodPost, "/devices", "make-device", "Make a device, and its user unless it is linked", http.StatusCreated), a.makeDevice)
	huma.Register(h, a.private(h, http.MethodGet, "/device", "get-device", "The profile", http.StatusOK), a.getDevice)
	huma.Register(h, a.private(h, http.MethodPatch, "/device", "change-device", "Change the profile", http.StatusOK), a.changeDevice)
	huma.Register(h, a.private(h, http.MethodDelete, "/device", "delete-device", "Forget this device; with the last one, everything", http.StatusNoContent), a.deleteDevice)
	huma.Register(h, a.private(h, http.MethodPost, "/device/link", "link-device", "A code by which a second device joins", http.StatusCreated), a.linkDevice)
}

func newToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, crypto/rand documents
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func (a *API) makeDevice(ctx context.Context, in *newDevice) (*madeDevice, error) {
	var zoneName, localeName, code string
	if b := in.Body; b != nil {
		zoneName, localeName, code = b.Timezone, b.Locale, b.LinkCode
	}
	zone, err := timezone("body.timezone", zoneName)
	if err != nil {
		return nil, err
	}
	locale, err := localeOf("body.locale", localeName, in.AcceptLanguage)
	if err != nil {
		return nil, err
	}
	now, token := a.Now(), newToken()
	u := watch.User{ID: rand.Text(), Timezone: zone, Locale: locale, CreatedAt: now}
	d := watch.Device{ID: rand.Text(), UserID: u.ID, CreatedAt: now}
	if code != "" {
		u, err = a.Store.LinkDevice(ctx, HashLinkCode(code), d, hash(token), now)
		if errors.Is(err, watch.ErrNotFound) {
			return nil, field("body.link_code", "This code is not known, or was used, or is older than ten minutes. Make a new one on the other device.")
		}
	} else {
		err = a.Store.CreateUser(ctx, u, d, hash(token))
	}
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	out := &madeDevice{}
	out.Body.DeviceToken, out.Body.UserID = token, u.ID
	return out, nil
}

func (a *API) getDevice(ctx context.Context, _ *struct{}) (*profileAnswer, error) {
	return a.profile(ctx, callerOf(ctx).user)
}

func (a *API) profile(ctx context.Context, u watch.User) (*profileAnswer, error) {
	_, err := a.Store.Subscription(ctx, callerOf(ctx).device.ID)
	if err != nil && !errors.Is(err, watch.ErrNotFound) {
		return nil, a.fault(ctx, err)
	}
	p := Profile{UserID: u.ID, Timezone: u.Timezone, Locale: u.Locale, Subscribed: err == nil, CreatedAt: u.CreatedAt.UTC()}
	if u.QuietFrom != "" {
		p.QuietHours = some(Quiet{u.QuietFrom, u.QuietTo})
	}
	return &profileAnswer{p}, nil
}

func (a *API) changeDevice(ctx context.Context, in *profileChange) (*profileAnswer, error) {
	u := callerOf(ctx).user
	var err error
	if z := in.Body.Timezone; z != nil {
		if u.Timezone, err = timezone("body.timezone", *z); err != nil {
			return nil, err
		}
	}
	if l := in.Body.Locale; l != nil {
		if u.Locale, err = localeOf("body.locale", *l, ""); err != nil {
			return nil, err
		}
	}
	if q := in.Body.QuietHours; q.Sent {
		if u.QuietFrom, u.QuietTo, err = quietHours(q); err != nil {
			return nil, err
		}
	}
	if err := a.Store.UpdateUser(ctx, u); err != nil {
		return nil, a.fault(ctx, err)
	}
	return a.profile(ctx, u)
}

func (a *API) deleteDevice(ctx context.Context, _ *struct{}) (*struct{}, error) {
	return nil, a.fault(ctx, a.Store.DeleteDevice(ctx, callerOf(ctx).device.ID))
}

func (a *API) linkDevice(ctx context.Context, _ *struct{}) (*linkAnswer, error) {
	code, expires := rand.Text()[:16], a.Now().Add(linkFor) // 80 bits, for ten minutes, behind the rate limit
	if err := a.Store.CreateLinkCode(ctx, callerOf(ctx).user.ID, HashLinkCode(code), expires); err != nil {
		return nil, a.fault(ctx, err)
	}
	out := &linkAnswer{}
	out.Body.Code, out.Body.ExpiresAt = code, expires.UTC().Truncate(time.Second)
	return out, nil
}

// linkCode forgives what people do to a code when they type it.
func linkCode(s string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(s))
}

// HashLinkCode is how a link code is kept.
func HashLinkCode(code string) []byte { return hash(linkCode(code)) }

// timezone accepts IANA names only: an unknown zone, stored, would fail later
// and where nobody sees it.
func timezone(location, name string) (string, error) {
	if name == "" {
		return "UTC", nil
	}
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		return "", field(location, "%.64q is not a time zone. Send an IANA name such as \"Asia/Tokyo\".", name)
	}
	return name, nil
}

func localeOf(location, name, accepted string) (string, error) {
	if name == "" {
		if tags, _, err := language.ParseAcceptLanguage(accepted); err == nil && len(tags) > 0 {
			return tags[0].String(), nil
		}
		return "en", nil
	}
	tag, err := language.Parse(name)
	if err != nil {
		return "", field(location, "%.35q is not a language. Send a BCP 47 tag such as \"ja\" or \"en-GB\".", name)
	}
	return tag.String(), nil
}

var timeOfDay = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

func quietHours(q Change[Quiet]) (from, to string, err error) {
	if q.Null {
		return "", "", nil
	}
	for _, part := range []struct{ name, value string }{{"from", q.Value.From}, {"to", q.Value.To}} {
		if !timeOfDay.MatchString(part.value) {
			return "", "", field("body.quiet_hours."+part.name, "%.10q is not a time of day. Send HH:MM, as in \"22:00\".", part.value)
		}
	}
	if q.Value.From == q.Value.To {
		return "", "", field("body.quiet_hours.to", "Quiet hours must end at another time than they begin. Send null for none.")
	}
	return q.Value.From, q.Value.To, nil
}
