package shop_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
)

// counter is a shop whose items lie below a host; led is where its pages lead.
type counter struct{ name, host, led string }

func (c counter) Name() string { return c.name }

func (c counter) Match(u *url.URL) (shop.Ref, bool) {
	return shop.Ref{Adapter: c.name, ItemCode: u.String(), URL: u.String()}, strings.HasSuffix(u.Host, c.host)
}

func (c counter) Quote(_ context.Context, ref shop.Ref) (shop.Quote, error) {
	if c.led != "" {
		ref.URL, ref.ItemCode = c.led, c.led
	}
	if strings.Contains(ref.URL, "wall") {
		return shop.Quote{Ref: ref}, &shop.Error{Kind: shop.KindBlocked, Message: "A wall."}
	}
	return shop.Quote{Ref: ref, Price: money.MustParse("5", "EUR")}, nil
}

func TestWhatAPersonPastesIsOneAddress(t *testing.T) {
	r := shop.NewRegistry(counter{name: "page"})
	for raw, want := range map[string]string{
		"https://shop.example/p/1":                    "https://shop.example/p/1",
		"  https://shop.example/p/1\n":                "https://shop.example/p/1",
		"Tea tin 100 g https://shop.example/p/1":      "https://shop.example/p/1",
		"緑茶 100g\nhttps://shop.example/p/1?a=1 をチェック": "https://shop.example/p/1?a=1",
		"https://Shop.Example.:443/p/1#top":           "https://shop.example/p/1",
		"HTTPS://shop.example/p/1":                    "https://shop.example/p/1",
		"https://お茶.example/p":                        "https://xn--t8jy01w.example/p",
		"https://xn--t8jy01w.example/p":               "https://xn--t8jy01w.example/p",
		"https://ｓｈｏｐ．example/p":                      "https://shop.example/p",
		"https://my_shop.example/p":                   "https://my_shop.example/p",
		"http://[2001:DB8::1]:80/p":                   "http://[2001:db8::1]/p",
		"https://shop.example:8443/p":                 "https://shop.example:8443/p",
	} {
		ref, err := r.Resolve(raw)
		if err != nil || ref.URL != want {
			t.Errorf("%q is %q, %v; want %q", raw, ref.URL, err, want)
		}
	}
	for _, raw := range []string{"", "tea", "shop.example/p/1", "ftp://shop.example/", "javascript:alert(1)", "https://", "https://user:secret@shop.example/", "tea tin", "https://xn--a.example/", "https://shop.example/" + strings.Repeat("x", 2048)} {
		if ref, err := r.Resolve(raw); err == nil || shop.AsError(err).Kind != shop.KindRefused {
			t.Errorf("%.40q is %+v, %v", raw, ref, err)
		}
	}
}

// A short link is read by the adapter of the shop that it leads to, also where
// the page there cannot be read.
func TestAShortLinkEndsAtItsShopsAdapter(t *testing.T) {
	for _, led := range []string{"https://item.special.example/tea", "https://item.special.example/wall"} {
		r := shop.NewRegistry(counter{name: "special", host: "special.example", led: "https://item.special.example/tea"}, counter{name: "page", led: led})
		ref, err := r.Resolve("https://sho.rt/x")
		if err != nil || ref.Adapter != "page" {
			t.Fatal(ref, err)
		}
		q, err := r.Quote(context.Background(), ref)
		if err != nil || q.Adapter != "special" || q.ItemCode != "https://item.special.example/tea" {
			t.Errorf("led to %s: %+v %v", led, q, err)
		}
	}
	stays := shop.NewRegistry(counter{name: "special", host: "special.example"}, counter{name: "page", led: "https://other.example/wall"})
	if q, err := stays.Quote(context.Background(), shop.Ref{Adapter: "page", URL: "https://sho.rt/x"}); shop.AsError(err) == nil || q.Adapter != "page" {
		t.Errorf("%+v %v", q, err)
	}
}
