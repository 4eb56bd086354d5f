// Package pushtest is a push service and the browsers behind it, for tests and
// for the demo's phone. It is as strict as the strictest real service: it
// verifies VAPID (RFC 8292), the headers of RFC 8030 and Apple's rules for them,
// and decrypts RFC 8291 by itself with the standard library. It answers by
// script where a test wants another answer than 201.
package pushtest

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options of a Service.
type Options struct {
	// BaseURL is where the handler is reached; endpoints begin with it. Listen sets it.
	BaseURL string
	// Keep is how many messages and refusals are remembered, the newest; 0 for all.
	Keep int
	// Now is the service's clock, for tokens and the Date header; default time.Now.
	Now func() time.Time
}

// Service is a push service: an http.Handler, and with Listen a server. It is
// safe for concurrent use.
type Service struct {
	base   string
	keep   int
	now    func() time.Time
	server *http.Server

	mu       sync.Mutex
	phones   map[string]*phone // by the last segment of the endpoint
	script   []Answer          // for all subscriptions
	requests int
	accepted int
	messages []Message
	refusals []Refusal
	shown    []Message
	seen     map[string]bool // phone and event id that were shown
	changed  chan struct{}   // closed and replaced when something happened
}

// phone is the browser's side of a subscription.
type phone struct {
	key    *ecdh.PrivateKey
	auth   []byte
	server string // applicationServerKey; "" for any
	gone   bool
	script []Answer
}

// Subscription is what a browser's PushSubscription.toJSON() gives.
type Subscription struct {
	Endpoint       string `json:"endpoint"`
	ExpirationTime *int64 `json:"expirationTime"`
	Keys           Keys   `json:"keys"`
}

// Keys are the browser's, in base64url.
type Keys struct {
	P256dh string `json:"p256dh"`
	Auth   string `json:"auth"`
}

// NewService makes a handler, to be served at o.BaseURL.
func NewService(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Service{
		base: strings.TrimSuffix(o.BaseURL, "/"), keep: o.Keep, now: o.Now,
		phones: map[string]*phone{}, seen: map[string]bool{}, changed: make(chan struct{}),
	}
}

// Listen makes a service and serves it by plain http on a free port of 127.0.0.1.
func Listen(o Options) (*Service, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("pushtest: %w", err)
	}
	o.BaseURL = "http://" + listener.Addr().String()
	s := NewService(o)
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // ends with Close
	return s, nil
}

// URL is the base of all endpoints.
func (s *Service) URL() string { return s.base }

// Close ends the server and all connections to it.
func (s *Service) Close() {
	if s.server != nil {
		_ = s.server.Close()
	}
}

// Subscribe makes a subscription as a browser does for a page that names this
// applicationServerKey. Messages of any other key are refused as real services
// do; "" takes every key.
func (s *Service) Subscribe(applicationServerKey string) (Subscription, error) {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return Subscription{}, fmt.Errorf("pushtest: %w", err)
	}
	auth := make([]byte, 16)
	_, _ = rand.Read(auth) // never fails
	id := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phones[id] = &phone{key: key, auth: auth, server: strings.TrimRight(applicationServerKey, "=")}
	return Subscription{
		Endpoint: s.base + "/push/" + id,
		Keys: Keys{
			P256dh: base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes()),
			Auth:   base64.RawURLEncoding.EncodeToString(auth),
		},
	}, nil
}

// Unsubscribe makes the service answer 410 for an endpoint from now on.
func (s *Service) Unsubscribe(endpoint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.phones[last(endpoint)]; p != nil {
		p.gone = true
	}
}

// Message is one that was accepted and decrypted.
type Message struct {
	Endpoint  string
	Plaintext []byte
	Header    http.Header // of the request
	Size      int         // of the body as sent
	At        time.Time
	Notification
}

// Refusal is a request that broke a rule of the specifications or of a real
// service. A correct sender causes none.
type Refusal struct {
	Endpoint string
	Status   int
	Fault    string
	Header   http.Header
}

// Messages are all that were accepted, in order of arrival, copies included.
func (s *Service) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.messages...)
}

// Shown are the notifications that people saw, in order: a receiver shows an
// event id once, and further copies of it replace the first in silence.
func (s *Service) Shown() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.shown...)
}

// Refusals are the requests that broke a rule.
func (s *Service) Refusals() []Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Refusal(nil), s.refusals...)
}

// Requests counts all requests, however they were answered.
func (s *Service) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// WaitFor waits until at least n messages were accepted since the start.
func (s *Service) WaitFor(ctx context.Context, n int) error {
	return s.wait(ctx, func() (bool, string) {
		return s.accepted >= n, fmt.Sprintf("%d of %d messages accepted, %d requests", s.accepted, n, s.requests)
	})
}

// WaitForRequests waits until at least n requests came in.
func (s *Service) WaitForRequests(ctx context.Context, n int) error {
	return s.wait(ctx, func() (bool, string) {
		return s.requests >= n, fmt.Sprintf("%d of %d requests", s.requests, n)
	})
}

func (s *Service) wait(ctx context.Context, done func() (bool, string)) error {
	for {
		s.mu.Lock()
		ok, state := done()
		changed := s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("pushtest: %s", state), ctx.Err())
		}
	}
}

// happened wakes those who wait, with the lock held.
func (s *Service) happened() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// accept records a message, with the lock held.
func (s *Service) accept(m Message) {
	s.accepted++
	s.messages = s.bounded(append(s.messages, m))
	if id := m.Endpoint + "\n" + m.EventID; m.EventID == "" || !s.seen[id] {
		s.seen[id] = true
		s.shown = s.bounded(append(s.shown, m))
	}
	s.happened()
}

func (s *Service) bounded(ms []Message) []Message {
	if s.keep > 0 && len(ms) > s.keep {
		return append(ms[:0:0], ms[len(ms)-s.keep:]...)
	}
	return ms
}

func last(endpoint string) string { return endpoint[strings.LastIndexByte(endpoint, '/')+1:] }
