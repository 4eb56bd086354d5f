package push

import (
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
)

// CheckContact checks who a push service can turn to about this server: the
// "sub" of VAPID (RFC 8292 section 2.1), a mailto: or https: address. Apple
// refuses addresses that cannot be real: localhost, .local, .invalid, a doubled
// "mailto:". It returns the address as it is sent.
func CheckContact(contact string) (string, error) {
	contact = strings.TrimSpace(contact)
	if len(contact) > 512 || strings.ContainsFunc(contact, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>\`, r) }) {
		return "", errors.New("the contact must be one address without spaces, like mailto:you@example.org")
	}
	scheme, rest, found := strings.Cut(contact, ":")
	switch {
	case found && strings.EqualFold(scheme, "mailto"):
		return checkMail(rest)
	case found && strings.EqualFold(scheme, "https"):
		return checkPage(contact)
	case strings.Contains(contact, "@"):
		return "", fmt.Errorf("the contact needs its scheme: mailto:%s", contact)
	}
	return "", errors.New("the contact must begin with mailto: or https:, like mailto:you@example.org")
}

func checkMail(address string) (string, error) {
	if strings.HasPrefix(strings.ToLower(address), "mailto:") {
		return "", errors.New("the contact says mailto: twice; write it once")
	}
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || strings.ContainsAny(address, "?&,;") {
		return "", errors.New("the contact is no mail address; write one like mailto:you@example.org")
	}
	if err := checkRealName(address[strings.LastIndexByte(address, '@')+1:]); err != nil {
		return "", err
	}
	return "mailto:" + address, nil
}

func checkPage(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return "", errors.New("the contact is no web address; write one like https://example.org/contact")
	}
	if err := checkRealName(u.Hostname()); err != nil {
		return "", err
	}
	u.Scheme, u.Host = "https", strings.ToLower(u.Host)
	return u.String(), nil
}

func checkRealName(host string) error {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		if !ip.IsGlobalUnicast() || ip.IsPrivate() {
			return errors.New("the contact lies inside your own network; push services (Apple's) want an address that others can reach")
		}
		return nil
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case last == "localhost", last == "local", last == "invalid", last == "internal":
		return fmt.Errorf("the contact ends in %q; push services (Apple's) want an address that others can reach", last)
	case last == host, last == "":
		return errors.New("the contact has no full domain name; push services (Apple's) want an address that others can reach")
	}
	return nil
}
