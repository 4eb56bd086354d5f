package page_test

import (
	"net/url"
	"testing"

	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/page"
)

// An address settled on is settled: resolving it again, as an import does, and
// asking for it, as a poll does, must lead to the same listing.
func FuzzIdentity(f *testing.F) {
	for _, s := range []string{"https://shop.example/p/1?b=2&a=1&utm_source=x#top", "https://www.amazon.co.jp/x/dp/B0ABCDEFGH/ref=1", "http://[2001:DB8::1]:80/a%2Fb", "https://お茶.example/緑茶?a=%zz", "Tea https://shop.example/%70//?"} {
		f.Add(s)
	}
	shops := shop.NewRegistry(page.New(nil, nil))
	f.Fuzz(func(t *testing.T, raw string) {
		ref, err := shops.Resolve(raw)
		if err != nil {
			return
		}
		u, err := url.Parse(ref.URL)
		if err != nil {
			t.Fatalf("%q is %q: %v", raw, ref.URL, err)
		}
		if again := page.Canonical(u); again != ref.URL {
			t.Errorf("%q is %q, then %q", raw, ref.URL, again)
		}
		if again, err := shops.Resolve(ref.URL); err == nil && again != ref {
			t.Errorf("%q is %+v, then %+v", raw, ref, again)
		}
	})
}
