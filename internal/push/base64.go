package push

import (
	"encoding/base64"
	"errors"
	"strings"
)

var errBase64 = errors.New("not base64")

// decodeBase64 reads the four spellings of base64 that browsers and key
// generators write: url-safe or standard, padded or not. Unlike the standard
// decoder it takes no line breaks, so that equal bytes have few spellings.
func decodeBase64(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, errBase64
	}
	unpadded := strings.TrimRight(s, "=")
	if n := len(s) - len(unpadded); n > 0 && (n > 2 || len(s)%4 != 0) {
		return nil, errBase64
	}
	if strings.ContainsAny(unpadded, "+/") {
		unpadded = strings.NewReplacer("+", "-", "/", "_").Replace(unpadded)
	}
	return base64.RawURLEncoding.Strict().DecodeString(unpadded)
}
