package push

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"time"
)

// SetTimeout shortens how long a push service is waited for.
func (s *Sender) SetTimeout(d time.Duration) { s.client.Timeout = d }

// Timeout is how long a push service is waited for.
func (s *Sender) Timeout() time.Duration { return s.client.Timeout }

// TrustRoots is for a push service with a certificate of its own.
func (s *Sender) TrustRoots(roots *x509.CertPool) {
	s.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
}

// Origins is the number of origins remembered.
func (s *Sender) Origins() int {
	s.origins.mu.Lock()
	defer s.origins.mu.Unlock()
	return len(s.origins.of)
}
