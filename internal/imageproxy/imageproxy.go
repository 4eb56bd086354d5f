// Package imageproxy fetches pictures of products for the app, so that a shop
// sees the server and never the shopper. It fetches only addresses that it named
// itself: each carries a signature.
package imageproxy

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/sokone/sokone/internal/fetch"
)

// Fetcher gets a page from a shop, guarded and bounded.
type Fetcher interface {
	Get(ctx context.Context, r fetch.Request) (*fetch.Page, error)
}

// Options of a Proxy. Fetch and Key are required.
type Options struct {
	Fetch      Fetcher
	Key        []byte // signs addresses: one that lasts keeps them right over restarts
	Prefix     string // of the addresses, default "/images/"
	CacheBytes int    // that all kept pictures may have together, default 32 MB
	MaxBytes   int    // of one picture, default 2 MB
	Parallel   int    // fetches at a time, default 4
}

// Proxy names pictures and serves them.
type Proxy struct {
	Options
	turns chan struct{}

	mu    sync.Mutex
	kept  map[string]picture
	order []string // of kept, the oldest first
	size  int
}

type picture struct {
	kind string
	body []byte
}

// kinds are those that are passed on. A picture that can hold scripts and styles
// (SVG) is too, under a policy that lets it do nothing: shown on a page it never
// runs any, and opened by itself the policy forbids them.
var kinds = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/webp": true, "image/gif": true, "image/avif": true, "image/svg+xml": true,
}

// New makes a proxy.
func New(o Options) *Proxy {
	if o.Fetch == nil || len(o.Key) < 16 {
		panic("imageproxy: an option is missing")
	}
	if o.Prefix == "" {
		o.Prefix = "/images/"
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 32 << 20
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 2 << 20
	}
	if o.Parallel == 0 {
		o.Parallel = 4
	}
	return &Proxy{Options: o, turns: make(chan struct{}, o.Parallel), kept: map[string]picture{}}
}

// Name is the address at which the picture of a shop is served; empty for one
// that cannot be.
func (p *Proxy) Name(image string) string {
	u, err := url.Parse(image)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || len(image) > 4096 {
		return ""
	}
	return p.Prefix + p.sign(image) + "?u=" + url.QueryEscape(image)
}

func (p *Proxy) sign(image string) string {
	mac := hmac.New(sha256.New, p.Key)
	mac.Write([]byte(image))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

// ServeHTTP serves a picture by the address that Name gave.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	image := r.URL.Query().Get("u")
	if !hmac.Equal([]byte(strings.TrimPrefix(r.URL.Path, p.Prefix)), []byte(p.sign(image))) {
		http.NotFound(w, r)
		return
	}
	found, ok := p.known(image)
	if !ok {
		var status int
		if found, status = p.fetch(r.Context(), image); status != 0 {
			w.Header().Set("Cache-Control", "private, max-age=300")
			http.Error(w, "no picture", status)
			return
		}
		p.keep(image, found)
	}
	h := w.Header()
	h.Set("Content-Type", found.kind)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, max-age=86400")
	if r.Method != http.MethodHead {
		_, _ = w.Write(found.body) // the reader may have gone
	}
}

// fetch gets the picture, or the status that says why there is none.
func (p *Proxy) fetch(ctx context.Context, image string) (picture, int) {
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	case <-ctx.Done():
		return picture{}, http.StatusServiceUnavailable
	}
	page, err := p.Fetch.Get(ctx, fetch.Request{URL: image, Accept: "image/avif,image/webp,image/png,image/jpeg,image/svg+xml,image/*;q=0.8"})
	if err != nil {
		return picture{}, http.StatusBadGateway
	}
	kind, _, err := mime.ParseMediaType(page.ContentType)
	if page.Status != http.StatusOK || err != nil || !kinds[kind] || len(page.Body) == 0 || len(page.Body) > p.MaxBytes {
		return picture{}, http.StatusNotFound
	}
	return picture{kind, page.Body}, 0
}

func (p *Proxy) known(image string) (picture, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.kept[image]
	return found, ok
}

// keep keeps a picture, and lets the oldest go where there are too many.
func (p *Proxy) keep(image string, found picture) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.kept[image]; ok || len(found.body) > p.CacheBytes {
		return
	}
	p.kept[image] = found
	p.order = append(p.order, image)
	p.size += len(found.body)
	for p.size > p.CacheBytes {
		oldest := p.order[0]
		p.order = p.order[1:]
		p.size -= len(p.kept[oldest].body)
		delete(p.kept, oldest)
	}
}
