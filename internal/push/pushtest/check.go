package pushtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	maxBody = 4096    // RFC 8030 section 7.2: what every service takes
	maxTTL  = 2419200 // seconds, four weeks; what FCM takes
)

// fault is a rule broken, and the answer to it.
type fault struct {
	status int
	text   string
}

func faultf(status int, format string, args ...any) *fault {
	return &fault{status, fmt.Sprintf(format, args...)}
}

var topicForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// check verifies a request and decrypts it.
func (s *Service) check(r *http.Request, p *phone, body []byte) ([]byte, *fault) {
	if r.Method != http.MethodPost {
		return nil, faultf(http.StatusMethodNotAllowed, "method %s", r.Method)
	}
	if f := s.checkVAPID(r, p); f != nil {
		return nil, f
	}
	h := r.Header
	ttl, err := strconv.Atoi(h.Get("TTL"))
	if err != nil || ttl < 1 || ttl > maxTTL {
		return nil, faultf(http.StatusBadRequest, "BadTtl: %q", h.Get("TTL"))
	}
	if topic, given := h["Topic"]; given && (len(topic) != 1 || !topicForm.MatchString(topic[0]) || len(topic[0])%4 == 1) {
		return nil, faultf(http.StatusBadRequest, "BadWebPushTopic: %q", topic)
	}
	switch h.Get("Urgency") {
	case "very-low", "low", "normal", "high":
	default:
		return nil, faultf(http.StatusBadRequest, "BadUrgency: %q", h.Get("Urgency"))
	}
	if h.Get("Content-Encoding") != "aes128gcm" {
		return nil, faultf(http.StatusUnsupportedMediaType, "content encoding %q", h.Get("Content-Encoding"))
	}
	switch {
	case len(body) > maxBody:
		return nil, faultf(http.StatusRequestEntityTooLarge, "PayloadTooLarge")
	case len(body) == 0:
		return nil, faultf(http.StatusBadRequest, "MissingPayload")
	}
	plaintext, err := decrypt(p.key, p.auth, body)
	if err != nil {
		return nil, faultf(http.StatusBadRequest, "not decrypted: %v", err)
	}
	return plaintext, nil
}

// checkVAPID verifies the Authorization header: RFC 8292 and RFC 7515.
func (s *Service) checkVAPID(r *http.Request, p *phone) *fault {
	const unauthorized, forbidden = http.StatusUnauthorized, http.StatusForbidden
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "vapid") {
		return faultf(unauthorized, "no VAPID authorization")
	}
	params := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		params[name] = value
	}
	rawKey, err := base64.RawURLEncoding.DecodeString(params["k"])
	if err != nil {
		return faultf(forbidden, "k is no base64url without padding")
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), rawKey)
	if err != nil {
		return faultf(forbidden, "k is no P-256 key")
	}
	parts := strings.Split(params["t"], ".")
	if len(parts) != 3 {
		return faultf(forbidden, "BadJwtToken: not three parts")
	}
	var header struct{ Typ, Alg string }
	var claims struct {
		Aud string   `json:"aud"`
		Exp *float64 `json:"exp"`
		Sub string   `json:"sub"`
	}
	if err := decodePart(parts[0], &header); err != nil || header.Alg != "ES256" {
		return faultf(forbidden, "BadJwtToken: header")
	}
	if err := decodePart(parts[1], &claims); err != nil || claims.Exp == nil {
		return faultf(forbidden, "BadJwtToken: claims")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return faultf(forbidden, "BadJwtToken: signature form")
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(key, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return faultf(forbidden, "BadJwtToken: signature")
	}
	if want := s.origin(r); claims.Aud != want {
		return faultf(forbidden, "BadJwtToken: aud %q, not %q", claims.Aud, want)
	}
	now := s.now()
	exp := time.Unix(int64(*claims.Exp), 0)
	if !exp.After(now) || exp.After(now.Add(24*time.Hour)) {
		return faultf(forbidden, "BadJwtToken: exp %s at %s", exp.UTC(), now.UTC())
	}
	if f := checkSubject(claims.Sub); f != nil {
		return f
	}
	if p.server != "" && params["k"] != p.server {
		return faultf(forbidden, "VapidPkHashMismatch: the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.")
	}
	return nil
}

// checkSubject is Apple's rule for sub.
func checkSubject(sub string) *fault {
	bad := faultf(http.StatusForbidden, "BadJwtToken: sub %q", sub)
	var host string
	switch {
	case strings.HasPrefix(sub, "mailto:"):
		name, domain, found := strings.Cut(strings.TrimPrefix(sub, "mailto:"), "@")
		if !found || name == "" || strings.ContainsAny(sub[len("mailto:"):], ": <>") {
			return bad
		}
		host = domain
	case strings.HasPrefix(sub, "https:"):
		u, err := url.Parse(sub)
		if err != nil {
			return bad
		}
		host = u.Hostname()
	}
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".invalid") {
		return bad
	}
	return nil
}

// origin is the service's own, which aud must name.
func (s *Service) origin(r *http.Request) string {
	u, err := url.Parse(s.base)
	if err != nil || u.Host == "" {
		return "http://" + r.Host
	}
	return u.Scheme + "://" + u.Host
}

func decodePart(part string, into any) error {
	data, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
