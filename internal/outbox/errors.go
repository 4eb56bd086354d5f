package outbox

import "errors"

// Errors of working on a claimed entry.
var (
	// ErrLeaseLost: the lease ended and the entry is somebody else's now, or final.
	ErrLeaseLost = errors.New("outbox: the lease of this entry is lost")
	// ErrChanged: the watch was edited, paused, removed or told since the job was loaded.
	ErrChanged = errors.New("outbox: the watch changed since it was read")
)
