package fetch

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"testing"
)

func TestOnlyThePublicInternetIsPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "93.184.216.34": true, "2606:4700::1111": true, "2001:4860:4860::8888": true,
		"0.0.0.0": false, "10.1.2.3": false, "100.64.0.1": false, "127.0.0.1": false, "127.255.255.254": false, "169.254.169.254": false,
		"172.16.0.1": false, "172.31.255.255": false, "172.32.0.1": true, "192.168.1.1": false, "192.0.0.1": false, "192.0.2.1": false, "198.18.0.1": false,
		"198.51.100.1": false, "203.0.113.9": false, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false,
		"::": false, "::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:8.8.8.8": true, "::7f00:1": false,
		"64:ff9b::7f00:1": false, "64:ff9b::808:808": false, "64:ff9b:1::1": false, "2002:7f00:1::": false, "2001::1": false, "2001:db8::1": false,
		"fc00::1": false, "fd12::1": false, "fe80::1": false, "fe80::1%eth0": false, "ff02::1": false, "fec0::1": false, "100::1": false,
	} {
		if got := Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: public %t, want %t", address, got, want)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address at all is public")
	}
}

func TestWhatIsDialledIsChecked(t *testing.T) {
	closed := NewGuard(nil)
	home := NewGuard([]netip.Prefix{netip.MustParsePrefix("192.168.1.0/24"), netip.MustParsePrefix("127.0.0.0/8")})
	for _, tc := range []struct {
		g       *Guard
		address string
		ok      bool
	}{
		{closed, "8.8.8.8:443", true},
		{closed, "8.8.8.8:80", false},
		{closed, "8.8.8.8:22", false},
		{closed, "127.0.0.1:443", false},
		{closed, "[::1]:443", false},
		{closed, "[::ffff:127.0.0.1]:443", false},
		{closed, "169.254.169.254:80", false},
		{closed, "nonsense", false},
		{home, "127.0.0.1:8080", true},
		{home, "[::ffff:127.0.0.1]:8080", true},
		{home, "192.168.1.20:80", true},
		{home, "192.168.2.20:80", false},
		{home, "[::1]:8080", false},
		{home, "8.8.8.8:443", true},
		{home, "8.8.8.8:8080", false},
	} {
		err := tc.g.Control("tcp", tc.address, nil)
		if (err == nil) != tc.ok || err != nil && !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v, want allowed %t", tc.address, err, tc.ok)
		}
	}
}

func TestAddressesThatMayBeAskedFor(t *testing.T) {
	closed := NewGuard(nil)
	local := NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	for _, tc := range []struct {
		g       *Guard
		address string
		ok      bool
	}{
		{closed, "https://shop.example/p", true},
		{closed, "https://shop.example:443/p", true},
		{closed, "http://shop.example/p", false},
		{closed, "https://shop.example:8443/p", false},
		{closed, "https://user:pass@shop.example/p", false},
		{closed, "https://user@shop.example/p", false},
		{closed, "file:///etc/passwd", false},
		{closed, "gopher://shop.example/", false},
		{closed, "https://localhost/", false},
		{closed, "https://intranet/", false},
		{closed, "https://127.0.0.1/", false},
		{closed, "https://2130706433/", false},
		{closed, "https://0x7f000001/", false},
		{closed, "https://[::1]/", false},
		{closed, "https://[::ffff:10.0.0.1]/", false},
		{closed, "https://[fe80::1%25eth0]/", false},
		{closed, "https:///nowhere", false},
		{local, "http://127.0.0.1:8080/p", true},
		{local, "http://localhost:8080/p", true},
		{local, "http://10.0.0.1/p", false},
		{local, "https://shop.example/p", true},
	} {
		u, err := url.Parse(tc.address)
		if err == nil {
			err = tc.g.Check(context.Background(), u)
		}
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v, want allowed %t", tc.address, err, tc.ok)
		}
	}
}

func TestHTTPOfAPublicHostBecomesHTTPS(t *testing.T) {
	local := NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	for from, want := range map[string]string{
		"http://8.8.8.8/p?q=1":   "https://8.8.8.8/p?q=1",
		"http://8.8.8.8:80/p":    "https://8.8.8.8/p",
		"https://8.8.8.8/p":      "https://8.8.8.8/p",
		"http://127.0.0.1:99/p":  "http://127.0.0.1:99/p",
		"http://8.8.8.8:8080/p":  "https://8.8.8.8:8080/p", // refused by Check
		"http://127.0.0.1/p?a=b": "http://127.0.0.1/p?a=b",
	} {
		u, err := url.Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		if got := local.Upgrade(context.Background(), u).String(); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}
