package push_test

import (
	"encoding/base64"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/push"
)

// A browser's keys, as any browser makes them.
const (
	p256dh = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
	auth   = "BTBZMqHH6r4Tts7J_aSIgg"
)

func production(t testing.TB, change ...func(*push.Options)) *push.Sender {
	t.Helper()
	return newRig(t, append([]func(*push.Options){func(o *push.Options) { o.AllowNetworks = nil }}, change...)...).Sender
}

func TestEndpointsOfRealPushServices(t *testing.T) {
	s := production(t, func(o *push.Options) { o.Hosts = []string{"Push.example.org", ".up.example.net"} })
	for in, want := range map[string]string{
		"https://fcm.googleapis.com/fcm/send/abc:DEF-_1":              "https://fcm.googleapis.com/fcm/send/abc:DEF-_1",
		"https://updates.push.services.mozilla.com/wpush/v2/gAAAAA":   "https://updates.push.services.mozilla.com/wpush/v2/gAAAAA",
		"https://web.push.apple.com/QGuQyavXutnMH":                    "https://web.push.apple.com/QGuQyavXutnMH",
		"https://wns2-par02p.notify.windows.com/w/?token=BQYAAA%2b%3": "",
		"https://wns2-par02p.notify.windows.com/w/?token=BQYAAA%2b":   "https://wns2-par02p.notify.windows.com/w/?token=BQYAAA%2b",
		"HTTPS://FCM.GoogleAPIs.com:443/fcm/send/Ab":                  "https://fcm.googleapis.com/fcm/send/Ab",
		"https://fcm.googleapis.com./fcm/send/Ab":                     "https://fcm.googleapis.com/fcm/send/Ab",
		"https://fcm.googleapis.com.:443/fcm/send/Ab":                 "https://fcm.googleapis.com/fcm/send/Ab",
		"https://fcm.googleapis.com:0443/fcm/send/Ab":                 "https://fcm.googleapis.com/fcm/send/Ab",
		"https://fcm.googleapis.com:/fcm/send/Ab":                     "https://fcm.googleapis.com/fcm/send/Ab",
		"https://push.example.org/x":                                  "https://push.example.org/x",
		"https://a.up.example.net/x":                                  "https://a.up.example.net/x",
		"https://fcm.googleapis.com":                                  "https://fcm.googleapis.com/",
	} {
		got, err := s.CheckSubscription(in, p256dh, auth)
		if want == "" {
			want = in
		}
		if err != nil || got.Endpoint != want || got.KeyID != s.KeyID() {
			t.Errorf("%s: %q, %v", in, got.Endpoint, err)
		}
	}
}

// hostile are endpoints that must be refused by a server without networks of
// its own.
func hostile() []string {
	return []string{
		"", " ", "x", "//fcm.googleapis.com/x", "/fcm", "https:fcm.googleapis.com", "https://", "https:///x", "https://:443/x",
		"http://fcm.googleapis.com/x", "http://fcm.googleapis.com:443/x", "ftp://fcm.googleapis.com/x", "file:///etc/passwd", "gopher://127.0.0.1:25/",
		"javascript:alert(1)", "data:,x",
		"https://127.0.0.1/x", "https://10.0.0.1/x", "https://192.168.1.1/x", "https://169.254.169.254/latest/meta-data/", "https://[::1]/x",
		"https://[::ffff:127.0.0.1]/x", "https://[::ffff:7f00:1]/x", "https://[64:ff9b::7f00:1]/x", "https://[fe80::1%25eth0]/x", "https://[fd00::1]/x",
		"https://100.64.0.1/x", "https://2130706433/x", "https://0177.0.0.1/x", "https://0x7f.0.0.1/x", "https://0x7f000001/x", "https://127.1/x", "https://0/x",
		"https://8.8.8.8/x", "https://localhost/x", "https://metadata.google.internal/x",
		"https://example.org/fcm.googleapis.com", "https://example.org/?fcm.googleapis.com", "https://fcm.googleapis.com@example.org/x",
		"https://fcm.googleapis.com:443@example.org/x", "https://user@fcm.googleapis.com/x", "https://user:pw@fcm.googleapis.com/x", "https://@fcm.googleapis.com/x",
		"https://fcm.googleapis.com.evil/x", "https://fcm.googleapis.com.example.org/x", "https://evilfcm.googleapis.com/x", "https://x.fcm.googleapis.com/x",
		"https://push.apple.com/x", "https://.push.apple.com/x", "https://evilpush.apple.com/x", "https://push.apple.com.evil/x", "https://notify.windows.com/x",
		"https://fcm.googleapis.com..//x", "https://web..push.apple.com/x", "https://-/x",
		"https://fcm.googleapis.com:80/x", "https://fcm.googleapis.com:8443/x", "https://fcm.googleapis.com:0/x", "https://fcm.googleapis.com:4430/x",
		"https://fcm.googleapis.com:65979/x", "https://fcm.googleapis.com:99999999999999999999/x", "https://fcm.googleapis.com:-1/x", "https://fcm.googleapis.com:https/x",
		"https://fcm.googleapis.com/x#y", "https://fcm.googleapis.com/#", "https://fcm.googleapis.com\\@example.org/x", "https://example.org\\.fcm.googleapis.com/x",
		"https://fcm.googleapis.com\t/x", "https://fcm.googleapis.com/x\r\nHost: y", " https://fcm.googleapis.com/x", "https://fcm.googleapis.com/x\x00", "https://fcm.googleapis.com/é",
		"https://fcm。googleapis。com/x", "https://fcm%2egoogleapis.com/x", "https://fcm.googleapis.com%00.example.org/x", "https://ｆcm.googleapis.com/x",
		"https://permanently-removed.invalid/fcm/send/x", "https://fcm.googleapis.com/" + strings.Repeat("x", 2048),
	}
}

func TestHostileEndpoints(t *testing.T) {
	s := production(t)
	for _, in := range hostile() {
		got, err := s.CheckSubscription(in, p256dh, auth)
		if err == nil {
			t.Errorf("%q: taken as %q", in, got.Endpoint)
			continue
		}
		fault, ok := errors.AsType[*push.FieldError](err)
		if !ok || fault.Field() != "endpoint" || fault.Fault() == "" {
			t.Errorf("%q: %v does not name the field", in, err)
		}
	}
	_, err := s.CheckSubscription("https://permanently-removed.invalid/x", p256dh, auth)
	if err == nil || !strings.Contains(err.Error(), "subscribe again") {
		t.Errorf("removed subscription: %v", err)
	}
}

func TestEndpointOf2048Bytes(t *testing.T) {
	s := production(t)
	base := "https://fcm.googleapis.com/"
	if _, err := s.CheckSubscription(base+strings.Repeat("x", 2048-len(base)), p256dh, auth); err != nil {
		t.Errorf("2048 bytes: %v", err)
	}
	if _, err := s.CheckSubscription(base+strings.Repeat("x", 2049-len(base)), p256dh, auth); err == nil {
		t.Error("2049 bytes: taken")
	}
}

func TestEndpointsInNetworksOfTheOperator(t *testing.T) {
	s := newRig(t, func(o *push.Options) {
		o.AllowNetworks = append(loopback, netip.MustParsePrefix("fd00:1::/32"))
	})
	for in, want := range map[string]string{
		"http://127.0.0.1:4711/push/x":  "http://127.0.0.1:4711/push/x",
		"http://127.0.0.1:80/push/x":    "http://127.0.0.1/push/x",
		"https://127.0.0.1:443/push/x":  "https://127.0.0.1/push/x",
		"http://[FD00:1::5]:8080/x":     "http://[fd00:1::5]:8080/x",
		"http://LOCALHOST:4711/x":       "http://localhost:4711/x",
		"https://fcm.googleapis.com/xy": "https://fcm.googleapis.com/xy",
	} {
		if got, err := s.CheckSubscription(in, p256dh, auth); err != nil || got.Endpoint != want {
			t.Errorf("%s: %q, %v", in, got.Endpoint, err)
		}
	}
	for _, in := range []string{
		"http://10.0.0.1/x", "http://[::ffff:127.0.0.1]:4711/x", "http://[fd00:2::1]/x", "http://2130706433/x", "http://0x7f.1/x", "http://8.8.8.8/x",
		"http://fcm.googleapis.com/x", "https://fcm.googleapis.com:8443/x", "http://user@127.0.0.1:4711/x", "http://127.0.0.1:4711/x#y",
		"http://name.invalid/x", "https://permanently-removed.invalid/x",
	} {
		if got, err := s.CheckSubscription(in, p256dh, auth); err == nil {
			t.Errorf("%s: taken as %q", in, got.Endpoint)
		}
	}
}

func TestSubscriptionKeys(t *testing.T) {
	s := production(t)
	const endpoint = "https://fcm.googleapis.com/fcm/send/x"
	raw, err := base64.RawURLEncoding.DecodeString(p256dh)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := base64.RawURLEncoding.DecodeString(auth)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		got, err := s.CheckSubscription(endpoint, e.EncodeToString(raw), e.EncodeToString(secret))
		if err != nil || got.P256dh != p256dh || got.Auth != auth {
			t.Errorf("another spelling: %+v, %v", got, err)
		}
	}
	enc := base64.RawURLEncoding.EncodeToString
	off := append([]byte(nil), raw...)
	off[64] ^= 1
	compressed := append([]byte{2}, raw[1:33]...)
	for name, tc := range map[string]struct{ p256dh, auth, field string }{
		"no key":           {"", auth, "keys.p256dh"},
		"no base64":        {"%" + p256dh[1:], auth, "keys.p256dh"},
		"line break":       {p256dh[:40] + "\n" + p256dh[40:], auth, "keys.p256dh"},
		"off the curve":    {enc(off), auth, "keys.p256dh"},
		"33 bytes":         {enc(compressed), auth, "keys.p256dh"},
		"64 bytes":         {enc(raw[:64]), auth, "keys.p256dh"},
		"66 bytes":         {enc(append(raw[:65:65], 0)), auth, "keys.p256dh"},
		"zero":             {enc(make([]byte, 65)), auth, "keys.p256dh"},
		"4 and zeros":      {enc(append([]byte{4}, make([]byte, 64)...)), auth, "keys.p256dh"},
		"a megabyte":       {strings.Repeat("A", 1<<20), auth, "keys.p256dh"},
		"no auth":          {p256dh, "", "keys.auth"},
		"auth of 15 bytes": {p256dh, enc(secret[:15]), "keys.auth"},
		"auth of 17 bytes": {p256dh, enc(append(secret[:16:16], 0)), "keys.auth"},
		"auth no base64":   {p256dh, "====", "keys.auth"},
		"too much padding": {p256dh, auth + "===", "keys.auth"},
		"auth a megabyte":  {p256dh, strings.Repeat("A", 1<<20), "keys.auth"},
	} {
		_, err := s.CheckSubscription(endpoint, tc.p256dh, tc.auth)
		fault, ok := errors.AsType[*push.FieldError](err)
		if !ok || fault.Field() != tc.field {
			t.Errorf("%s: %v, want a fault of %s", name, err, tc.field)
		}
	}
}

func TestExpirationTime(t *testing.T) {
	r := newRig(t)
	now := r.clock.Now()
	ms := func(at time.Time) *float64 { f := float64(at.UnixMilli()); return &f }
	if at, err := r.CheckExpiration(nil); err != nil || !at.IsZero() {
		t.Errorf("null: %s, %v", at, err)
	}
	if at, err := r.CheckExpiration(ms(now.Add(time.Hour))); err != nil || !at.Equal(now.Add(time.Hour)) {
		t.Errorf("in an hour: %s, %v", at, err)
	}
	far := 8e15
	if at, err := r.CheckExpiration(&far); err != nil || !at.IsZero() {
		t.Errorf("in 250 000 years: %s, %v", at, err)
	}
	nan, huge, negative := math.NaN(), 1e300, -1.0
	for name, v := range map[string]*float64{"past": ms(now.Add(-time.Second)), "now": ms(now), "NaN": &nan, "huge": &huge, "negative": &negative} {
		_, err := r.CheckExpiration(v)
		if fault, ok := errors.AsType[*push.FieldError](err); !ok || fault.Field() != "expirationTime" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzSubscription: whatever is taken is canonical (taking it again changes
// nothing), https at a known host, and of the right sizes.
func FuzzSubscription(f *testing.F) {
	for _, e := range hostile() {
		f.Add(e, p256dh, auth)
	}
	f.Add("HTTPS://FCM.googleapis.com.:443/fcm/send/%41?x=%20&y", p256dh+"==", auth+"==")
	f.Add("https://web.push.apple.com?a#b", "", "")
	s := production(f)
	f.Fuzz(func(t *testing.T, endpoint, p256dh, auth string) {
		got, err := s.CheckSubscription(endpoint, p256dh, auth)
		if err != nil {
			if _, ok := errors.AsType[*push.FieldError](err); !ok {
				t.Fatalf("%v is no FieldError", err)
			}
			return
		}
		if !strings.HasPrefix(got.Endpoint, "https://") || len(got.Endpoint) > 2048 || len(got.P256dh) != 87 || len(got.Auth) != 22 {
			t.Fatalf("%+v", got)
		}
		host, _, _ := strings.Cut(strings.TrimPrefix(got.Endpoint, "https://"), "/")
		if host != "fcm.googleapis.com" && host != "updates.push.services.mozilla.com" &&
			!strings.HasSuffix(host, ".push.apple.com") && !strings.HasSuffix(host, ".notify.windows.com") {
			t.Fatalf("host %q", host)
		}
		again, err := s.CheckSubscription(got.Endpoint, got.P256dh, got.Auth)
		if err != nil || again != got {
			t.Fatalf("%+v is taken again as %+v, %v", got, again, err)
		}
	})
}
