package watch

import "errors"

// Errors that the store returns and the API translates. Anything else is internal.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("belongs to somebody else")
	ErrLimit    = errors.New("too many watches")
)
