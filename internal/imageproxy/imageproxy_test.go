package imageproxy

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
