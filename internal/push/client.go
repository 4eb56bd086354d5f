package push

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/sokone/sokone/internal/fetch"
)

const (
	sendTimeout    = 15 * time.Second // a whole request, answer included
	maxHeaderBytes = 16 << 10         // of an answer
	maxBodyBytes   = 4 << 10          // of an answer; the rest is not read
	maxDetailBytes = 1 << 10          // of an answer; kept for the operator
	idlePerHost    = 128              // connections kept; push services on HTTP/2 need one
)

// newClient makes the HTTP client that messages leave by: no proxy, no
// redirects, no cookies, bounded in time and size.
func newClient(to *destinations) *http.Client {
	listed := &net.Dialer{Timeout: 10 * time.Second, Control: fetch.NewGuard(to.networks).Control, Resolver: to.resolver}
	local := &net.Dialer{Timeout: 10 * time.Second, Control: to.controlLocal, Resolver: to.resolver}
	return &http.Client{
		Timeout:       sendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: nil,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if host, port, err := net.SplitHostPort(address); err == nil && port == "443" && to.listed(host) {
					return listed.DialContext(ctx, network, address)
				}
				return local.DialContext(ctx, network, address)
			},
			ForceAttemptHTTP2:      true, // a dialer of one's own turns it off otherwise
			TLSHandshakeTimeout:    10 * time.Second,
			ExpectContinueTimeout:  time.Second,
			MaxResponseHeaderBytes: maxHeaderBytes,
			DisableCompression:     true,
			MaxIdleConns:           2 * idlePerHost,
			MaxIdleConnsPerHost:    idlePerHost,
			IdleConnTimeout:        90 * time.Second,
		},
	}
}

// controlLocal lets connections through to the operator's own networks only:
// that an endpoint's name pointed there when it was stored says nothing today.
func (d *destinations) controlLocal(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !d.within(a.Addr().Unmap()) {
		return fmt.Errorf("push: %s is outside the networks that endpoints may lie in", address)
	}
	return nil
}
