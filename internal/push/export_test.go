package push

import "time"

// SetTimeout shortens how long a push service is waited for.
func (s *Sender) SetTimeout(d time.Duration) { s.client.Timeout = d }

// Timeout is how long a push service is waited for.
func (s *Sender) Timeout() time.Duration { return s.client.Timeout }

// Origins is the number of origins remembered.
func (s *Sender) Origins() int {
	s.origins.mu.Lock()
	defer s.origins.mu.Unlock()
	return len(s.origins.of)
}
