package push_test

import (
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sokone/sokone/internal/outbox"
)

// secure is a push service by https and HTTP/2, as the real ones are.
func secure(t *testing.T, connections *atomic.Int32) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.ProtoMajor != 2 {
			w.WriteHeader(http.StatusHTTPVersionNotSupported)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func TestManyMessagesShareAConnection(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	server := secure(t, &connections)
	r := newRig(t)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	r.TrustRoots(roots)
	s := r.subscribe(t)
	s.Endpoint = server.URL + "/push/x"
	r.send(t, s, outbox.Accepted)
	var sends sync.WaitGroup
	for range 100 {
		sends.Go(func() {
			if d := r.Send(ctx(t), s, message()); d.Outcome != outbox.Accepted {
				t.Errorf("%+v", d)
			}
		})
	}
	sends.Wait()
	if n := connections.Load(); n > 2 {
		t.Errorf("%d connections for 101 messages", n)
	}
}

func TestACertificateOfNobodyIsNotTrusted(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	r := newRig(t)
	s := r.subscribe(t)
	s.Endpoint = secure(t, &connections).URL + "/push/x"
	r.send(t, s, outbox.Network)
}
