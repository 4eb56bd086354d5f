package fetch

import (
	"net/url"
	"testing"

	"github.com/temoto/robotstxt"
)

func TestRobotsEscapesAndNames(t *testing.T) {
	for _, tc := range []struct {
		robots, path string
		allowed      bool
	}{
		{"User-agent: *\nDisallow: /商品/秘密", "/%E5%95%86%E5%93%81/%E7%A7%98%E5%AF%86", false},
		{"User-agent: *\nDisallow: /%e5%95%86", "/%E5%95%86%E5%93%81", false},
		{"User-agent: *\nDisallow: /~joe", "/%7Ejoe", false},
		{"User-agent: *\nDisallow: /%7Ejoe", "/~joe", false},
		{"User-agent: *\nDisallow: /secret%2Dthing # private", "/secret-thing", false},
		{"User-agent: *\nDisallow: /a%2Fb", "/a/b", true},
		{"User-agent: sok\nDisallow: /", "/p", true},
		{"User-agent: Sokone/2.0\nDisallow: /", "/p", false},
		{"user-agent: SOKONE\nDisallow: /", "/p", false},
		{"User-agent: *\nDisallow: /", "/p", false},
		{"User-agent: *\nDisallow:", "/p", true},
	} {
		data, err := robotstxt.FromBytes(affordable([]byte(tc.robots)))
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse("https://shop.example" + tc.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := (rules{group: data.FindGroup(robotsName)}).allow(u); got != tc.allowed {
			t.Errorf("%q for %s: %t", tc.robots, tc.path, got)
		}
	}
}
