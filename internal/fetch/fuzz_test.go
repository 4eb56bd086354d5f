package fetch

import (
	"net/http"
	"net/url"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/temoto/robotstxt"
)

func FuzzDecode(f *testing.F) {
	f.Add([]byte("<meta charset=shift_jis><p>\x93\xfa\x96\x7b</p>"), "text/html; charset=euc-jp")
	f.Add([]byte("\x1b$B%F\x1b(B"), "")
	f.Add([]byte("\xff\xfea\x00"), "text/html")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		text, name := Decode(body, contentType)
		if !utf8.ValidString(text) || name == "" {
			t.Errorf("%q of %q", text, name)
		}
	})
}

func FuzzRobots(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nCrawl-delay: 1e9"), "https://shop.example/a?b=%2F")
	f.Add([]byte("Disallow: /\nUser-agent: Sokone\nAllow: /p/"), "https://shop.example")
	f.Fuzz(func(t *testing.T, body []byte, address string) {
		u, err := url.Parse(address)
		if err != nil {
			return
		}
		data, err := robotstxt.FromBytes(affordable(body))
		if err != nil {
			return
		}
		r := rules{group: data.FindGroup(robotsName)}
		r.allow(u)
		if p := r.pause(); p < 0 || p > maxCrawlDelay {
			t.Errorf("a pause of %s", p)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120")
	f.Add("Thu, 01 Oct 2026 00:10:00 GMT")
	now := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string) {
		if d := RetryAfter(http.Header{"Retry-After": {value}}, now); d < 0 || d > maxHold {
			t.Errorf("%q is %s", value, d)
		}
	})
}
