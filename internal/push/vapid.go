package push

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
)

const (
	tokenLife = 12 * time.Hour // RFC 8292 section 2 allows 24 h; half of it leaves room for a wrong clock
	tokenKept = time.Hour      // Apple asks not to sign anew more often
)

// authorization makes the Authorization header of RFC 8292 section 3 for one
// origin: a JWT signed with ES256, and the public key that it is checked with.
func (k Keys) authorization(origin, contact string, now time.Time) (string, error) {
	claims, err := json.Marshal(struct {
		Audience string `json:"aud"`
		Expires  int64  `json:"exp"`
		Subject  string `json:"sub"`
	}{origin, now.Add(tokenLife).Unix(), contact})
	if err != nil {
		return "", fmt.Errorf("push: VAPID claims: %w", err)
	}
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." +
		base64.RawURLEncoding.EncodeToString(claims)
	digest := sha256.Sum256([]byte(unsigned))
	r, s, err := ecdsa.Sign(rand.Reader, k.signer, digest[:])
	if err != nil {
		return "", fmt.Errorf("push: sign VAPID token: %w", err)
	}
	signature := make([]byte, 64) // RFC 7518 section 3.4: r and s, 32 bytes each
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return "vapid t=" + unsigned + "." + base64.RawURLEncoding.EncodeToString(signature) + ", k=" + k.public, nil
}
