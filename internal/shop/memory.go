package shop

import (
	"context"
	"sync"
	"time"
)

// Seen is what a shop answered last, and how to ask whether it still does: its
// validators of RFC 9110, section 8.8.
type Seen struct {
	ETag, LastModified string
	Quote              Quote
}

// Memory keeps what shops answered, so that an answer that has not changed is not
// sent again. The zero value is ready for use.
type Memory struct {
	mu   sync.Mutex
	seen map[string]Seen
}

const (
	// seenFor is how long a shop is believed that says that nothing has changed: some
	// say so always, and offers run out.
	seenFor = 24 * time.Hour
	// maxSeen bounds what is remembered: some ten megabytes.
	maxSeen = 10_000
)

// Before is what is remembered under a key; zero where nothing is, where it is too
// old, and where the whole answer is asked for.
func (m *Memory) Before(ctx context.Context, key string, now time.Time) Seen {
	if IsAnew(ctx) {
		return Seen{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.seen[key]
	if age := now.Sub(s.Quote.ObservedAt); age < 0 || age > seenFor {
		return Seen{}
	}
	return s
}

// Keep remembers an answer that has validators.
func (m *Memory) Keep(key string, s Seen) {
	if s.ETag == "" && s.LastModified == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil || len(m.seen) >= maxSeen {
		m.seen = map[string]Seen{}
	}
	s.Quote.Candidates = nil // for the command line, which remembers nothing
	m.seen[key] = s
}
