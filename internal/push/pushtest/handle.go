package pushtest

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Answer is what the service says to one request that broke no rule.
type Answer struct {
	Status int // default 201
	Header http.Header
	Body   string
	Times  int // requests that get it; default 1, negative for all that follow

	Delay   time.Duration   // before the answer
	Until   <-chan struct{} // the answer waits until it is closed, or the sender leaves
	Reset   bool            // the connection breaks after the body was read, without an answer
	Hang    bool            // no answer for as long as the sender waits
	Deliver bool            // the message arrives whatever the answer says; with 2xx it always does
}

// Script queues answers for one endpoint, or with "" for all. The answers of an
// endpoint come first; after the last one the service accepts again.
func (s *Service) Script(endpoint string, answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if endpoint == "" {
		s.script = append(s.script, answers...)
	} else if p := s.phones[last(endpoint)]; p != nil {
		p.script = append(p.script, answers...)
	}
}

// Unscript forgets all answers that are queued.
func (s *Service) Unscript() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = nil
	for _, p := range s.phones {
		p.script = nil
	}
}

// next takes the answer to give, with the lock held.
func (s *Service) next(p *phone) Answer {
	for _, queue := range []*[]Answer{&p.script, &s.script} {
		if len(*queue) == 0 {
			continue
		}
		a := (*queue)[0]
		if a.Times == 0 || a.Times == 1 {
			*queue = (*queue)[1:]
		} else if a.Times > 1 {
			rest := append([]Answer(nil), *queue...)
			rest[0].Times--
			*queue = rest
		}
		return a
	}
	return Answer{}
}

// Notification is the part of a message that a person sees.
type Notification struct {
	EventID, WatchID, Title, Body, Navigate, Tag, Lang string
}

// notification reads the declarative JSON; another plaintext has none.
func notification(plaintext []byte) Notification {
	var p struct {
		Notification struct {
			Title, Body, Navigate, Tag, Lang string
			Data                             struct {
				EventID string `json:"event_id"`
				WatchID string `json:"watch_id"`
			}
		}
	}
	if json.Unmarshal(plaintext, &p) != nil {
		return Notification{}
	}
	n := p.Notification
	return Notification{n.Data.EventID, n.Data.WatchID, n.Title, n.Body, n.Navigate, n.Tag, n.Lang}
}

// ServeHTTP takes a push message (RFC 8030 section 5).
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	id := last(r.URL.Path)
	s.mu.Lock()
	s.requests++
	s.happened()
	p := s.phones[id]
	if err != nil || p == nil || p.gone {
		s.mu.Unlock()
		switch {
		case err != nil:
			http.Error(w, "incomplete body", http.StatusBadRequest)
		case p == nil:
			http.Error(w, `{"reason":"NotFound"}`, http.StatusNotFound)
		default:
			http.Error(w, `{"reason":"Unregistered"}`, http.StatusGone)
		}
		return
	}
	s.mu.Unlock()

	endpoint := s.base + "/push/" + id
	plaintext, fault := s.check(r, p, body)
	if fault != nil {
		s.mu.Lock()
		s.refusals = append(s.refusals, Refusal{endpoint, fault.status, fault.text, r.Header.Clone()})
		if s.keep > 0 && len(s.refusals) > s.keep {
			s.refusals = s.refusals[1:]
		}
		s.mu.Unlock()
		http.Error(w, fault.text, fault.status)
		return
	}
	s.mu.Lock()
	a := s.next(p)
	if a.Status == 0 {
		a.Status = http.StatusCreated
	}
	if a.Deliver || (a.Status/100 == 2 && !a.Reset && !a.Hang) {
		s.accept(Message{
			Endpoint: endpoint, Plaintext: plaintext, Header: r.Header.Clone(), Size: len(body),
			At: s.now(), Notification: notification(plaintext),
		})
	}
	s.mu.Unlock()
	s.answer(w, r, a, endpoint)
}

// answer carries out what the script says.
func (s *Service) answer(w http.ResponseWriter, r *http.Request, a Answer, endpoint string) {
	switch {
	case a.Hang:
		<-r.Context().Done()
		return
	case a.Reset:
		reset(w)
		return
	case a.Delay > 0:
		timer := time.NewTimer(a.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	case a.Until != nil:
		select {
		case <-a.Until:
		case <-r.Context().Done():
			return
		}
	}
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	if a.Status == http.StatusCreated {
		w.Header().Set("Location", strings.Replace(endpoint, "/push/", "/message/", 1))
	}
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, a.Body)
}

// reset breaks the connection the hard way (RST).
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: ends the stream
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
