package shop

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// Registry finds the adapter for an address. The first adapter that matches wins,
// so the particular ones come before the general "page".
type Registry struct {
	adapters []Adapter
}

// NewRegistry takes the adapters in the order in which they are asked.
func NewRegistry(adapters ...Adapter) *Registry { return &Registry{adapters} }

// maxURL is longer than any product page's address; browsers and servers stop near it too.
const maxURL = 2048

// shared finds the address in what phones share: "Tea tin https://shop.example/1".
var shared = regexp.MustCompile(`(?i)\bhttps?://[^\s<>"]+`)

// Resolve turns what a person pasted into a Ref: an address, or a text that holds
// one. It does no I/O.
func (r *Registry) Resolve(raw string) (Ref, error) {
	raw = strings.TrimSpace(raw)
	if strings.ContainsFunc(raw, unicode.IsSpace) {
		raw = shared.FindString(raw)
	}
	if len(raw) > maxURL {
		return Ref{}, refused("The address is longer than %d characters.", maxURL)
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return Ref{}, refused("This is not the address of a web page: it must begin with https://.")
	}
	if u.User != nil {
		return Ref{}, refused("The address must not hold a user name or password.")
	}
	if err := plain(u); err != nil {
		return Ref{}, refused("The name of the shop in this address is none.")
	}
	for _, a := range r.adapters {
		if ref, ok := a.Match(u); ok {
			return ref, nil
		}
	}
	return Ref{}, refused("No adapter of this server reads this shop.")
}

// hostNames maps as browsers do (UTS 46). It lets underscores pass, which some
// shops have in their names.
var hostNames = idna.New(idna.MapForLookup(), idna.StrictDomainName(false))

// plain writes the host of an address in its one form: ASCII (UTS 46), lower case,
// without a dot at the end or the scheme's own port. A fragment is for browsers.
func plain(u *url.URL) error {
	host, port := strings.TrimSuffix(u.Hostname(), "."), u.Port()
	if strings.Contains(host, "..") || strings.HasPrefix(host, ".") || strings.HasSuffix(host, ".") {
		return fmt.Errorf("an empty label in %.100q", host)
	}
	if !strings.Contains(host, ":") {
		ascii, err := hostNames.ToASCII(host)
		if err != nil {
			return err
		}
		host = ascii
	} else {
		host = "[" + strings.ToLower(host) + "]"
	}
	if u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		port = ""
	}
	if u.Host = host; port != "" {
		u.Host += ":" + port
	}
	u.Fragment, u.RawFragment = "", ""
	return nil
}

// Quote asks the adapter that ref names; where the address led to an item of a
// more particular adapter, as short links do, that one. A page that makes an
// adapter panic is a page that cannot be read, and no more than that.
func (r *Registry) Quote(ctx context.Context, ref Ref) (q Quote, err error) {
	defer func() {
		if p := recover(); p != nil {
			q, err = Quote{}, &Error{Kind: KindParse, Message: "This page could not be read.", Cause: fmt.Errorf("panic: %v", p)}
		}
	}()
	for _, a := range r.adapters {
		if a.Name() == ref.Adapter {
			q, err = a.Quote(ctx, ref)
			if other, to := r.elsewhere(a, ref, q.URL); other != nil {
				return other.Quote(ctx, to)
			}
			return q, err
		}
	}
	return Quote{}, &Error{Kind: KindRefused, Message: fmt.Sprintf("This server has no adapter %q.", ref.Adapter)}
}

// elsewhere is the adapter that is asked before a, and matches what a was led to.
func (r *Registry) elsewhere(a Adapter, ref Ref, address string) (Adapter, Ref) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || address == ref.URL {
		return nil, Ref{}
	}
	for _, other := range r.adapters {
		if other == a {
			break
		}
		if to, ok := other.Match(u); ok {
			return other, to
		}
	}
	return nil, Ref{}
}

func refused(format string, args ...any) *Error {
	return &Error{Kind: KindRefused, Message: fmt.Sprintf(format, args...)}
}
