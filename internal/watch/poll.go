package watch

import "time"

// Due names a listing that waits for a poll, and the host that it will ask.
type Due struct {
	ListingID string
	Host      string
}

// Poll is a leased listing with everything that its decision needs, read
// before the shop is asked.
type Poll struct {
	Listing Listing
	Watches []Watch // neither removed nor paused
	History History
}

// Watched is a watch with its listing, as a shopper sees it.
type Watched struct {
	Watch   Watch
	Listing Listing
}

// AlertMoment is when a watch was told something.
type AlertMoment struct {
	At      time.Time
	EventID string
}
