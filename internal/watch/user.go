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

// QuietUntil reports whether now falls into the user's quiet hours, and when
// they end. They are times of the local day, and may run over midnight; on the
// days when clocks change, the clock on the wall counts.
func (u User) QuietUntil(now time.Time) (time.Time, bool) {
	from, err1 := time.Parse("15:04", u.QuietFrom)
	to, err2 := time.Parse("15:04", u.QuietTo)
	if err1 != nil || err2 != nil {
		return time.Time{}, false
	}
	zone, err := time.LoadLocation(u.Timezone)
	if err != nil {
		zone = time.UTC
	}
	local := now.In(zone)
	// The quiet hours that began yesterday may still run; those of today may have begun.
	for _, day := range []int{-1, 0} {
		at := func(clock time.Time, days int) time.Time {
			return time.Date(local.Year(), local.Month(), local.Day()+day+days, clock.Hour(), clock.Minute(), 0, 0, zone)
		}
		begin, end := at(from, 0), at(to, 0)
		if !to.After(from) {
			end = at(to, 1)
		}
		if !now.Before(begin) && now.Before(end) {
			return end.UTC(), true
		}
	}
	return time.Time{}, false
}
