package push

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	maxEndpoint   = 2048 // bytes
	lookupTimeout = 5 * time.Second
)

// knownHosts are the push services of today's browsers: Chrome, Edge on other
// systems and all of Chromium; Firefox; Safari; Edge on Windows. A name that
// begins with a dot stands for all names below it.
func knownHosts() []string {
	return []string{"fcm.googleapis.com", "updates.push.services.mozilla.com", ".push.apple.com", ".notify.windows.com"}
}

// destinations decides where messages may go. An endpoint comes from whoever
// has a device token, so it is an address that a stranger makes us call.
type destinations struct {
	hosts    []string // lower case
	networks []netip.Prefix
	resolver *net.Resolver
}

func newDestinations(hosts []string, networks []netip.Prefix, resolver *net.Resolver) *destinations {
	d := &destinations{hosts: knownHosts(), networks: networks, resolver: resolver}
	for _, h := range hosts {
		if h = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(h), ".")); h != "" {
			d.hosts = append(d.hosts, h)
		}
	}
	return d
}

// listed reports whether a lower-case host is on the list, by whole labels.
func (d *destinations) listed(host string) bool {
	return slices.ContainsFunc(d.hosts, func(h string) bool {
		if strings.HasPrefix(h, ".") {
			return strings.HasSuffix(host, h) // and a name never begins with a dot
		}
		return host == h
	})
}

// within reports whether an address lies in the operator's networks.
func (d *destinations) within(ip netip.Addr) bool {
	return slices.ContainsFunc(d.networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// target is a checked endpoint.
type target struct {
	endpoint string // canonical
	origin   string // scheme://host[:port], the "aud" of VAPID
	host     string // without port
	listed   bool   // on the list of push hosts; else it must lie in the operator's networks
}

// parse checks an endpoint but for what its name resolves to, and brings it to
// one spelling: the same subscription must be the same row.
func (d *destinations) parse(raw string) (target, error) {
	u, port, err := splitEndpoint(raw)
	if err != nil {
		return target{}, err
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, ipErr := netip.ParseAddr(host)
	if ipErr != nil && !plainName(host) {
		return target{}, errors.New("has a host that is no name; send what the browser's push manager gave")
	}
	t := target{host: host, listed: ipErr != nil && u.Scheme == "https" && port == "443" && d.listed(host)}
	if !t.listed {
		if err := d.refuseUnlisted(u.Scheme, port, host, ip); err != nil {
			return target{}, err
		}
	}
	t.origin = u.Scheme + "://" + originHost(u.Scheme, host, port, ip.Is6())
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.ForceQuery || u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	t.endpoint = t.origin + path
	if len(t.endpoint) > maxEndpoint { // escaping made it longer
		return target{}, errTooLong
	}
	return t, nil
}

var errTooLong = errors.New("is longer than 2048 bytes; send what the browser's push manager gave")

// splitEndpoint parses what is common to all endpoints and gives the port.
func splitEndpoint(raw string) (*url.URL, string, error) {
	switch {
	case raw == "":
		return nil, "", errors.New("is missing; send the browser's PushSubscription as it is")
	case len(raw) > maxEndpoint:
		return nil, "", errTooLong
	case strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }):
		return nil, "", errors.New("has characters that no address has; send what the browser's push manager gave")
	case strings.Contains(raw, "#"):
		return nil, "", errors.New("has a fragment; send it without the part from # on")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "" {
		return nil, "", errors.New("is no address; send what the browser's push manager gave")
	}
	if u.User != nil || strings.Contains(u.Host, "@") {
		return nil, "", errors.New("carries a user name or password; a push endpoint has none")
	}
	port := u.Port()
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, "", errors.New("is no https address; send what the browser's push manager gave")
	case port == "" && u.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	port = strings.TrimLeft(port, "0")
	if len(port) > 5 || port == "" {
		return nil, "", errors.New("has a port that does not exist; push services listen at 443")
	}
	return u, port, nil
}

// refuseUnlisted says what is wrong with an endpoint outside the list of push
// hosts, or nothing where it may lie in the operator's networks.
func (d *destinations) refuseUnlisted(scheme, port, host string, ip netip.Addr) error {
	literal := ip.IsValid()
	switch {
	case host == "permanently-removed.invalid":
		return errors.New("is that of a removed subscription; subscribe again in the browser")
	case literal && d.within(ip): // which no IPv4-mapped address and none with a zone is
		return nil
	case !literal && len(d.networks) > 0 && !d.listed(host) && !strings.HasSuffix(host, ".invalid"):
		return nil // its addresses are looked up at subscribe, and checked again at each dial
	case scheme != "https":
		return errors.New("is no https address; send what the browser's push manager gave")
	case !d.listed(host) || literal:
		return errors.New("is not at a push service that this server knows; the operator can add its host or network")
	case port != "443":
		return errors.New("names a port other than 443; send what the browser's push manager gave")
	}
	return nil
}

// resolve checks that the name of an endpoint outside the list has an address
// in the operator's networks. One is enough ("localhost" is ::1 too): no other
// is ever dialled.
func (d *destinations) resolve(ctx context.Context, t target) error {
	if t.listed {
		return nil
	}
	if _, err := netip.ParseAddr(t.host); err == nil {
		return nil // parse has seen that it lies there
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	ips, err := d.resolver.LookupNetIP(ctx, "ip", t.host)
	if err != nil || !slices.ContainsFunc(ips, func(ip netip.Addr) bool { return d.within(ip.Unmap()) }) {
		return errors.New("is not at a push service that this server knows; the operator can add its host or network")
	}
	return nil
}

// originHost is host and, where it is not the scheme's own, port.
func originHost(scheme, host, port string, v6 bool) string {
	if v6 {
		host = "[" + host + "]"
	}
	if (scheme == "https" && port == "443") || (scheme == "http" && port == "80") {
		return host
	}
	return host + ":" + port
}

// plainName reports whether a lower-case host is a DNS name, and not one of the
// other spellings of an IPv4 address that some resolvers take (2130706433,
// 0x7f.1, 0177.0.0.1).
func plainName(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	labels := strings.Split(host, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.ContainsFunc(l, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return false
		}
	}
	last := labels[len(labels)-1]
	return last[0] < '0' || last[0] > '9'
}
