package shop

import (
	"context"
	"fmt"
	"net/url"
	"strings"
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

// Resolve turns what a person pasted into a Ref. It does no I/O.
func (r *Registry) Resolve(raw string) (Ref, error) {
	raw = strings.TrimSpace(raw)
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
	u.Fragment = ""
	for _, a := range r.adapters {
		if ref, ok := a.Match(u); ok {
			return ref, nil
		}
	}
	return Ref{}, refused("No adapter of this server reads this shop.")
}

// Quote asks the adapter that ref names. A page that makes an adapter panic is a
// page that cannot be read, and no more than that.
func (r *Registry) Quote(ctx context.Context, ref Ref) (q Quote, err error) {
	defer func() {
		if p := recover(); p != nil {
			q, err = Quote{}, &Error{Kind: KindParse, Message: "This page could not be read.", Cause: fmt.Errorf("panic: %v", p)}
		}
	}()
	for _, a := range r.adapters {
		if a.Name() == ref.Adapter {
			return a.Quote(ctx, ref)
		}
	}
	return Quote{}, &Error{Kind: KindRefused, Message: fmt.Sprintf("This server has no adapter %q.", ref.Adapter)}
}

func refused(format string, args ...any) *Error {
	return &Error{Kind: KindRefused, Message: fmt.Sprintf(format, args...)}
}
