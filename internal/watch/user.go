package watch

import "time"

// User is the anonymous owner of one or more linked devices.
type User struct {
	ID       string
	Timezone string // IANA name, "UTC" where none was given
	Locale   string // BCP 47: "ja", "en-GB"
	// QuietFrom and QuietTo are local times of day "22:00"; both empty for no quiet hours.
	QuietFrom, QuietTo string
	CreatedAt          time.Time
}

// Device is a browser that holds a device token.
type Device struct {
	ID        string
	UserID    string
	CreatedAt time.Time
}
