package pushtest

import (
	"crypto/ecdh"
	"encoding/base64"
	"strings"
	"testing"
)

func decode(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The example of RFC 8291 section 5.
func TestDecryptTheExampleOfTheRFC(t *testing.T) {
	key, err := ecdh.P256().NewPrivateKey(decode(t, "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
	if err != nil {
		t.Fatal(err)
	}
	auth := decode(t, "BTBZMqHH6r4Tts7J_aSIgg")
	body := decode(t, "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml"+
		"mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"+
		"pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
	got, err := decrypt(key, auth, body)
	if err != nil || string(got) != "When I grow up, I want to be a watermelon" {
		t.Fatalf("%q, %v", got, err)
	}
	for i := range body { // every byte matters but those of the record size
		if i >= 16 && i < 20 {
			continue
		}
		broken := append([]byte(nil), body...)
		broken[i] ^= 1
		if _, err := decrypt(key, auth, broken); err == nil {
			t.Errorf("byte %d may be anything", i)
		}
	}
	for n := range body {
		if _, err := decrypt(key, auth, body[:n]); err == nil {
			t.Errorf("%d bytes are enough", n)
		}
	}
	small := []byte(string(body[:16]) + "\x00\x00\x00\x14" + string(body[20:]))
	if _, err := decrypt(key, auth, small); err == nil || !strings.Contains(err.Error(), "one record") {
		t.Errorf("several records: %v", err)
	}
}
