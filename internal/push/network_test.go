package push_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/push"
	"github.com/sokone/sokone/internal/push/pushtest"
)

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var followed atomic.Int32
	trap := listen(t, func(c net.Conn) { followed.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		r := newRig(t)
		r.service.Script("", pushtest.Answer{Status: status, Header: http.Header{"Location": {"http://" + trap + "/"}}})
		if d := r.send(t, r.subscribe(t), outbox.Server); d.Status != status {
			t.Errorf("status %d", d.Status)
		}
		r.requests(t, 1)
	}
	if followed.Load() != 0 {
		t.Error("followed")
	}
}

func TestNoProxyIsUsed(t *testing.T) {
	var asked atomic.Int32
	proxy := listen(t, func(net.Conn) { asked.Add(1) })
	t.Setenv("HTTP_PROXY", "http://"+proxy)
	t.Setenv("http_proxy", "http://"+proxy)
	// By name: the addresses of this machine would never be asked of a proxy.
	r := newRig(t, func(o *push.Options) { o.Resolver = resolver(t, [4]byte{127, 0, 0, 1}) })
	s := r.subscribe(t)
	_, port, _ := net.SplitHostPort(raw(t, created))
	s.Endpoint = "http://push.home.arpa:" + port + "/push/x"
	r.send(t, s, outbox.Accepted)
	if asked.Load() != 0 {
		t.Error("a proxy was asked")
	}
}

func created(w io.Writer) {
	_, _ = io.WriteString(w, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
}

// The body arrived and no answer came: it may have been delivered, so it is
// sent again, and shown once.
func TestAResetAfterTheBodyIsTriedAgainAndShownOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s, m := r.subscribe(t), message()
	r.service.Script("", pushtest.Answer{Reset: true, Deliver: true})
	d := r.Send(ctx(t), s, m)
	if d.Outcome != outbox.Network || d.Status != 0 || d.Detail == "" {
		t.Fatalf("%+v", d)
	}
	r.requests(t, 1) // not repeated behind our back
	if d := r.Send(ctx(t), s, m); d.Outcome != outbox.Accepted {
		t.Fatalf("%+v", d)
	}
	if got, shown := len(r.service.Messages()), len(r.service.Shown()); got != 2 || shown != 1 {
		t.Errorf("arrived %d times, shown %d times", got, shown)
	}
}

func TestASilentServiceIsNotWaitedForForever(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if r.Timeout() != 15*time.Second {
		t.Errorf("waits for %s", r.Timeout())
	}
	r.SetTimeout(50 * time.Millisecond)
	r.service.Script("", pushtest.Answer{Hang: true})
	r.send(t, r.subscribe(t), outbox.Network)
}

func TestWhenTheCallerLeavesItMayHaveArrived(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.subscribe(t)
	r.service.Script("", pushtest.Answer{Hang: true})
	c, cancel := context.WithCancel(t.Context())
	go func() {
		if err := r.service.WaitForRequests(ctx(t), 1); err != nil {
			t.Error(err)
		}
		cancel()
	}()
	if d := r.Send(c, s, message()); d.Outcome != outbox.Network {
		t.Errorf("%+v", d)
	}
}

func TestAClosedPort(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.subscribe(t)
	r.service.Close()
	d := r.send(t, s, outbox.Network)
	if d.RetryAfter != 0 {
		t.Errorf("%+v", d)
	}
}

// raw answers every request on a connection with the bytes that write gives.
func raw(t *testing.T, write func(io.Writer)) string {
	return listen(t, func(c net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		write(c)
	})
}

func listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); handle(c) }()
		}
	}()
	return l.Addr().String()
}

func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	endless := func(w io.Writer, chunk string) {
		for range 64 << 20 / len(chunk) { // far more than fits between us
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
		t.Error("64 MiB of an answer were read")
	}
	for name, tc := range map[string]struct {
		write func(io.Writer)
		want  outbox.Outcome
	}{
		"endless body of an acceptance": {func(w io.Writer) {
			_, _ = io.WriteString(w, "HTTP/1.1 201 Created\r\n\r\n")
			endless(w, strings.Repeat("x", 4096))
		}, outbox.Accepted},
		"endless body of a refusal": {func(w io.Writer) {
			_, _ = io.WriteString(w, "HTTP/1.1 410 Gone\r\n\r\n")
			endless(w, strings.Repeat("x", 4096))
		}, outbox.Gone},
		"endless headers": {func(w io.Writer) {
			_, _ = io.WriteString(w, "HTTP/1.1 201 Created\r\n")
			endless(w, "X-A: "+strings.Repeat("b", 1000)+"\r\n")
		}, outbox.Network},
		"one huge header": {func(w io.Writer) {
			fmt.Fprintf(w, "HTTP/1.1 201 Created\r\nX-A: %s\r\n\r\n", strings.Repeat("b", 1<<20))
		}, outbox.Network},
		"no HTTP":        {func(w io.Writer) { _, _ = io.WriteString(w, "220 mail.example.org ESMTP\r\n") }, outbox.Network},
		"closed at once": {func(io.Writer) {}, outbox.Network},
		"body cut short": {func(w io.Writer) { _, _ = io.WriteString(w, "HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nx") }, outbox.Accepted},
		"a bomb in gzip": {func(w io.Writer) {
			_, _ = io.WriteString(w, "HTTP/1.1 503 X\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00")
		}, outbox.Server},
		"only a 103 answer": {func(w io.Writer) { _, _ = io.WriteString(w, "HTTP/1.1 103 Early Hints\r\n\r\n") }, outbox.Network},
		"status of 1000":    {func(w io.Writer) { _, _ = io.WriteString(w, "HTTP/1.1 1000 X\r\n\r\n") }, outbox.Network},
		"garbage in headers": {func(w io.Writer) {
			_, _ = io.WriteString(w, "HTTP/1.1 429 X\r\nRetry-After: \xff\xfe\r\nDate: never\r\nContent-Length: 0\r\n\r\n")
		}, outbox.RateLimited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := r.subscribe(t)
			s.Endpoint = "http://" + raw(t, tc.write) + "/push/x"
			d := r.send(t, s, tc.want)
			if len(d.Detail) > 1024 {
				t.Errorf("%d bytes kept", len(d.Detail))
			}
		})
	}
}

// An acceptance counts, even where the rest of the answer dribbles for ever.
func TestADribblingAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.SetTimeout(200 * time.Millisecond)
	s := r.subscribe(t)
	left := make(chan struct{})
	s.Endpoint = "http://" + raw(t, func(w io.Writer) {
		_, _ = io.WriteString(w, "HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nx")
		<-left // never the rest
	}) + "/push/x"
	r.send(t, s, outbox.Accepted)
	close(left)
}

func TestTheEndpointIsNeverToldToTheLog(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.subscribe(t)
	secret := s.Endpoint[strings.LastIndexByte(s.Endpoint, '/')+1:]
	r.service.Script("",
		pushtest.Answer{Status: 400, Body: "bad request for " + s.Endpoint + " and " + secret + " with " + s.Auth + "\r\nlevel=ERROR \x1b[31m" + strings.Repeat("é", 2000)},
		pushtest.Answer{Reset: true}, pushtest.Answer{Status: 410, Body: "/push/" + secret}, pushtest.Answer{Status: 307, Header: http.Header{"Location": {s.Endpoint}}})
	var details string
	for range 4 {
		d := r.Send(ctx(t), s, message())
		details += d.Detail + "\n"
		if len(d.Detail) > 1024 || strings.ContainsAny(d.Detail, "\r\n\x1b") {
			t.Errorf("detail %q", d.Detail)
		}
	}
	r.service.Close()
	details += r.Send(ctx(t), s, message()).Detail
	for what, text := range map[string]string{"log": r.logs.String(), "detail": details} {
		if text == "" || strings.Contains(text, secret) || strings.Contains(text, s.Auth) || strings.Contains(text, s.P256dh) {
			t.Errorf("%s: %s", what, text)
		}
	}
}

// resolver answers every name with one address, from a server of its own.
func resolver(t *testing.T, to [4]byte) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Authoritative, m.Additionals = true, true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
					Body:   &dnsmessage.AResource{A: to},
				}}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// The name of a real push service leads inwards today: nothing is connected.
func TestANameThatLeadsInwardsAtSend(t *testing.T) {
	t.Parallel()
	for _, address := range [][4]byte{{127, 0, 0, 1}, {10, 0, 0, 1}, {169, 254, 169, 254}, {100, 64, 0, 1}, {192, 168, 0, 1}} {
		r := newRig(t, func(o *push.Options) { o.AllowNetworks, o.Resolver = nil, resolver(t, address) })
		s, err := r.CheckSubscription("https://fcm.googleapis.com/fcm/send/x", p256dh, auth)
		if err != nil {
			t.Fatal(err)
		}
		d := r.send(t, s, outbox.Network)
		if !strings.Contains(d.Detail, "not allowed") {
			t.Errorf("%v: %s", address, d.Detail)
		}
	}
}

// A name that lay in the operator's network when it was stored is not followed
// out of it: plain http would leave the house.
func TestANameOfTheOperatorsThatLeadsElsewhereAtSend(t *testing.T) {
	t.Parallel()
	inside := newRig(t, func(o *push.Options) { o.Resolver = resolver(t, [4]byte{127, 0, 0, 1}) })
	address := raw(t, created)
	s, err := inside.CheckSubscription("http://"+strings.Replace(address, "127.0.0.1", "push.home.arpa", 1)+"/push/x", p256dh, auth)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range [][4]byte{{10, 0, 0, 1}, {203, 0, 113, 7}, {8, 8, 8, 8}} {
		outside := newRig(t, func(o *push.Options) { o.Resolver = resolver(t, address) })
		if d := outside.send(t, s, outbox.Network); !strings.Contains(d.Detail, "outside the networks") {
			t.Errorf("%v: %s", address, d.Detail)
		}
		if _, err := outside.CheckSubscription(s.Endpoint, p256dh, auth); err == nil {
			t.Errorf("%v: taken at subscribe", address)
		}
	}
	inside.send(t, s, outbox.Accepted)
}
