package imageproxy

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/fetch"
)

// shop answers with a fixed page and counts how often it is asked.
type shop struct {
	page  fetch.Page
	err   error
	asked int
}

func (s *shop) Get(context.Context, fetch.Request) (*fetch.Page, error) {
	s.asked++
	page := s.page
	return &page, s.err
}

func get(p *Proxy, address string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
	return w
}

var key = []byte("0123456789abcdef")

const image = "https://shop.example.com/a.png?size=1&x=%20"

func TestAPictureIsFetchedOnceAndPassedOn(t *testing.T) {
	t.Parallel()
	s := &shop{page: fetch.Page{Status: 200, ContentType: "image/png", Body: []byte("png")}}
	p := New(Options{Key: key, Fetch: s})
	for range 3 {
		w := get(p, p.Name(image))
		if w.Code != 200 || w.Body.String() != "png" || w.Header().Get("Content-Type") != "image/png" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "sandbox") {
			t.Fatalf("%d %q %v", w.Code, w.Body, w.Header())
		}
	}
	if s.asked != 1 {
		t.Errorf("the shop was asked %d times", s.asked)
	}
}

func TestOnlyAddressesItNamedAreFetched(t *testing.T) {
	t.Parallel()
	s := &shop{page: fetch.Page{Status: 200, ContentType: "image/png", Body: []byte("png")}}
	p := New(Options{Key: key, Fetch: s})
	named := p.Name(image)
	for _, address := range []string{
		"/images/", "/images/?u=" + image, "/images/AAAA?u=https://shop.example.com/a.png", named + "x", strings.Replace(named, "a.png", "b.png", 1),
		strings.Replace(named, "/images/", "/images/A", 1), New(Options{Key: []byte("another key of 16"), Fetch: s}).Name(image),
	} {
		if w := get(p, address); w.Code != 404 {
			t.Errorf("%s: %d", address, w.Code)
		}
	}
	if s.asked != 0 {
		t.Errorf("the shop was asked %d times", s.asked)
	}
	for _, bad := range []string{"", "data:image/png;base64,AAAA", "/a.png", "file:///etc/passwd", "javascript:1", "https://" + strings.Repeat("a", 5000)} {
		if name := p.Name(bad); name != "" {
			t.Errorf("%.40s is named %s", bad, name)
		}
	}
}

func TestWhatIsNoPictureIsNotPassedOn(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*shop{
		"a page":    {page: fetch.Page{Status: 200, ContentType: "text/html", Body: []byte("<script>")}},
		"no type":   {page: fetch.Page{Status: 200, Body: []byte("x")}},
		"not found": {page: fetch.Page{Status: 404, ContentType: "image/png", Body: []byte("x")}},
		"empty":     {page: fetch.Page{Status: 200, ContentType: "image/png"}},
		"too big":   {page: fetch.Page{Status: 200, ContentType: "image/png", Body: make([]byte, 3<<20)}},
		"refused":   {err: errors.New("the address lies inside")},
	} {
		p := New(Options{Key: key, Fetch: s})
		if w := get(p, p.Name(image)); w.Code < 400 || bytes.Contains(w.Body.Bytes(), []byte("<script>")) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestTheOldestPictureGoesWhereThereAreTooMany(t *testing.T) {
	t.Parallel()
	s := &shop{page: fetch.Page{Status: 200, ContentType: "image/png", Body: make([]byte, 40)}}
	p := New(Options{Key: key, Fetch: s, CacheBytes: 100})
	for _, name := range []string{"a", "b", "c", "a", "c"} { // c drives a out
		get(p, p.Name("https://shop.example.com/"+name))
	}
	if s.asked != 4 || p.size > 100 || len(p.kept) != len(p.order) {
		t.Errorf("asked %d times, keeps %d bytes", s.asked, p.size)
	}
}

func TestAnAddressIsRightAsLongAsTheKey(t *testing.T) {
	t.Parallel()
	s := &shop{page: fetch.Page{Status: 200, ContentType: "image/png", Body: []byte("png")}}
	address := New(Options{Key: key, Fetch: s}).Name(image)
	if w := get(New(Options{Key: key, Fetch: s}), address); w.Code != 200 {
		t.Errorf("after a restart: %d", w.Code)
	}
	if w := get(New(Options{Key: []byte("another key of 16"), Fetch: s}), address); w.Code != 404 || s.asked != 1 {
		t.Errorf("with another key: %d, the shop was asked %d times", w.Code, s.asked)
	}
}

func TestAPictureThatHoldsScriptsCanDoNothing(t *testing.T) {
	t.Parallel()
	s := &shop{page: fetch.Page{Status: 200, ContentType: "image/svg+xml; charset=utf-8", Body: []byte("<svg><script>alert(1)</script></svg>")}}
	p := New(Options{Key: key, Fetch: s})
	w := get(p, p.Name(image))
	if policy := w.Header().Get("Content-Security-Policy"); w.Code != 200 || policy != "default-src 'none'; sandbox" {
		t.Errorf("%d, policy %q", w.Code, policy)
	}
	if w.Header().Get("Content-Type") != "image/svg+xml" {
		t.Errorf("served as %s", w.Header().Get("Content-Type"))
	}
}

// The real client, its guard included: neither an address that lies inside nor a
// redirect to one is fetched.
func TestTheGuardHoldsForPictures(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.Error("a picture was fetched from inside")
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write([]byte("secret"))
	}))
	t.Cleanup(inside.Close)
	// Another loopback address, so that one may be allowed without the other.
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("no second loopback address: %v", err)
	}
	outside := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/b.png" {
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("png"))
			return
		}
		http.Redirect(w, r, inside.URL+"/a.png", http.StatusFound)
	}))
	outside.Listener = listener
	outside.Start()
	t.Cleanup(outside.Close)
	p := New(Options{Key: key, Fetch: fetch.New(fetch.Options{
		Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}), UserAgent: "test", IgnoreRobots: true, Now: time.Now,
	})})
	if w := get(p, p.Name(outside.URL+"/b.png")); w.Code != 200 {
		t.Fatalf("what is allowed: %d", w.Code)
	}
	for _, address := range []string{inside.URL + "/a.png", outside.URL + "/a.png", "http://169.254.169.254/latest/meta-data", "http://[::ffff:127.0.0.1]/a.png"} {
		if w := get(p, p.Name(address)); w.Code < 400 || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d %s", address, w.Code, w.Body)
		}
	}
}
