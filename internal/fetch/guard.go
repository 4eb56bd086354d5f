// Package fetch is the one guarded door outwards. A page is asked for through
// it politely (one request at a time per host), within limits of time and size,
// and never from an address inside. The same guard serves the push sender.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/idna"
)

// ErrForbidden is the guard's answer; its text says what is wrong with the address.
var ErrForbidden = errors.New("address not allowed")

// special are the networks that are not the public internet: the IANA registries
// of special-purpose addresses (RFC 6890 and its successors), and the ones that
// carry an IPv4 address inside an IPv6 one, by which a guard can be fooled. Of
// IPv6 only what lies in unicast need be named.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

func prefixes(texts ...string) []netip.Prefix {
	ps := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		ps[i] = netip.MustParsePrefix(t)
	}
	return ps
}

// Guard says which addresses may be dialled: the public internet by https on
// port 443, and anything inside the networks that the operator allows.
type Guard struct {
	allow    []netip.Prefix
	resolver *net.Resolver
}

// NewGuard allows the given networks beside the public internet.
func NewGuard(allow []netip.Prefix) *Guard {
	return &Guard{allow: allow, resolver: net.DefaultResolver}
}

// Allowed reports whether the operator allows this inside address.
func (g *Guard) Allowed(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, p := range g.allow {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// unicast is all that IANA has opened of IPv6. Mesh networks live outside it
// (0200::/7), and translators' addresses (::ffff:0:a.b.c.d, RFC 2765).
var unicast = netip.MustParsePrefix("2000::/3")

// Public reports whether the address is on the public internet.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsValid() || a.Is6() && !unicast.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// Control is for net.Dialer: it sees the address that is really dialled, after
// names are resolved, so that a name that changes its mind is caught.
func (g *Guard) Control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrForbidden, address)
	}
	switch {
	case g.Allowed(ap.Addr()):
		return nil
	case !Public(ap.Addr()):
		// Which address is not for the shopper to know; net.OpError tells the log.
		return fmt.Errorf("%w: it leads to an address that is not on the public internet", ErrForbidden)
	case ap.Port() != 443:
		return fmt.Errorf("%w: port %d", ErrForbidden, ap.Port())
	}
	return nil
}

// Check says whether a URL may be asked for at all, before any connection:
// http or https, no user name, and outside the allowed networks https on port
// 443 only. The dial is checked again by Control. An error that is not
// ErrForbidden is one of the look-up: the address may be allowed.
func (g *Guard) Check(ctx context.Context, u *url.URL) error {
	host := hostOf(u)
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%w: it must begin with https://", ErrForbidden)
	case u.User != nil:
		return fmt.Errorf("%w: it must not hold a user name or password", ErrForbidden)
	case host == "" || strings.ContainsAny(host, "%\\"):
		return fmt.Errorf("%w: it names no host", ErrForbidden)
	}
	a, err := netip.ParseAddr(host)
	switch {
	case err == nil && g.Allowed(a):
		return nil
	case err == nil && !Public(a):
		return fmt.Errorf("%w: %s is not on the public internet", ErrForbidden, a)
	case err != nil && endsInNumber(host):
		return fmt.Errorf("%w: %s is no way to write an address", ErrForbidden, host)
	}
	inside, lookup := g.inside(ctx, host)
	switch {
	case inside:
		return nil
	case err != nil && !strings.Contains(host, "."):
		return fmt.Errorf("%w: %s is not the name of a public host", ErrForbidden, host)
	case u.Scheme == "https" && (u.Port() == "" || u.Port() == "443"):
		return nil
	case lookup != nil:
		return lookup
	}
	return fmt.Errorf("%w: only https on port 443 is", ErrForbidden)
}

// hostOf is the host as the network knows it: in ASCII and lower case, without
// the root's dot.
func hostOf(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	return strings.TrimSuffix(host, ".")
}

// endsInNumber reports a host that browsers and getaddrinfo take for an IPv4
// address in one of its old forms: 127.1, 0177.0.0.1, 2130706433, 0x7f.1 (WHATWG
// URL, "ends in a number").
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// inside reports whether the host has an address in the allowed networks. One is
// enough ("localhost" is ::1 too): which address is dialled, Control decides.
func (g *Guard) inside(ctx context.Context, host string) (bool, error) {
	if len(g.allow) == 0 {
		return false, nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return g.Allowed(a), nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	addrs, err := g.resolver.LookupNetIP(ctx, "ip", host)
	return slices.ContainsFunc(addrs, g.Allowed), err
}

// Upgrade makes http:// of a public host https://, so that an old link works and
// nothing travels in the clear. Where the host cannot be looked up it changes
// nothing, and Check tells.
func (g *Guard) Upgrade(ctx context.Context, u *url.URL) *url.URL {
	if u.Scheme != "http" {
		return u
	}
	if inside, err := g.inside(ctx, hostOf(u)); inside || err != nil {
		return u
	}
	secure := *u
	secure.Scheme = "https"
	if secure.Port() == "80" {
		secure.Host = strings.TrimSuffix(secure.Host, ":80")
	}
	return &secure
}

// Transport dials through the guard: no proxy, bounded headers, bounded waits.
// perHost bounds the connections kept to one host.
func (g *Guard) Transport(perHost int) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: g.Control, Resolver: g.resolver}
	return &http.Transport{
		Proxy:                  nil, // a proxy would dial for us, past the guard
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  20 * time.Second,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        60 * time.Second,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    perHost,
		MaxResponseHeaderBytes: 64 << 10,
	}
}
