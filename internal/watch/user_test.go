package watch_test

import (
	"testing"
	"time"

	"github.com/sokone/sokone/internal/watch"
)

func TestQuietHours(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tc := range []struct{ name, zone, from, to, now, until string }{
		{"over midnight, in the evening", "Asia/Tokyo", "22:00", "07:00", "2026-10-01T23:30:00+09:00", "2026-10-02T07:00:00+09:00"},
		{"over midnight, in the morning", "Asia/Tokyo", "22:00", "07:00", "2026-10-02T06:59:59+09:00", "2026-10-02T07:00:00+09:00"},
		{"at their end", "Asia/Tokyo", "22:00", "07:00", "2026-10-02T07:00:00+09:00", ""},
		{"at their beginning", "Asia/Tokyo", "22:00", "07:00", "2026-10-01T22:00:00+09:00", "2026-10-02T07:00:00+09:00"},
		{"a second before", "Asia/Tokyo", "22:00", "07:00", "2026-10-01T21:59:59+09:00", ""},
		{"within a day", "UTC", "13:00", "15:00", "2026-10-01T14:00:00Z", "2026-10-01T15:00:00Z"},
		{"the zone counts", "America/New_York", "22:00", "07:00", "2026-10-01T14:00:00Z", ""},
		{"the night the clocks go forward", "Europe/Berlin", "22:00", "07:00", "2027-03-27T23:30:00+01:00", "2027-03-28T07:00:00+02:00"},
		{"the night the clocks go back", "Europe/Berlin", "22:00", "07:00", "2026-10-25T02:30:00+01:00", "2026-10-25T07:00:00+01:00"},
		{"none", "UTC", "", "", "2026-10-01T14:00:00Z", ""},
		{"an unknown zone is UTC", "No/Where", "13:00", "15:00", "2026-10-01T14:00:00Z", "2026-10-01T15:00:00Z"},
	} {
		u := watch.User{Timezone: tc.zone, QuietFrom: tc.from, QuietTo: tc.to}
		until, quiet := u.QuietUntil(at(tc.now))
		if quiet != (tc.until != "") || quiet && !until.Equal(at(tc.until)) {
			t.Errorf("%s: until %s, %t; want %q", tc.name, until, quiet, tc.until)
		}
	}
}
