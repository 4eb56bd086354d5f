package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"sort"
	"strings"
	"time"
)

// Cache rules: what carries a content hash in its name never changes, all else
// is asked for again each time, which costs a 304.
const (
	forEver    = "public, max-age=31536000, immutable"
	revalidate = "no-cache"
)

// types are stated rather than asked of the system, whose table differs from
// machine to machine; browsers refuse a module that is not served as JavaScript.
var types = map[string]string{
	".html":        "text/html; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".mjs":         "text/javascript; charset=utf-8",
	".json":        "application/json",
	".webmanifest": "application/manifest+json",
	".svg":         "image/svg+xml",
	".png":         "image/png",
	".txt":         "text/plain; charset=utf-8",
}

// hashed is the name of a file whose content can never change.
var hashed = regexp.MustCompile(`\.[0-9a-f]{10}\.mjs$`)

// screen is an address inside the app: the page draws it.
var screen = regexp.MustCompile(`^/(alerts|settings|add|watches/[^/]+)?$`)

// shellPath names the script that tells the service worker what to keep for
// offline use. It changes with any file, which is what makes browsers update.
const shellPath = "/shell.js"

// asset is one file, ready to be sent.
type asset struct {
	kind, cache   string
	etag, gzipTag string
	plain, gzip   []byte // gzip is nil where it gains nothing
}

// Handler serves the app: its files, and index.html for the addresses of its
// screens. Security headers are the caller's.
func Handler() http.Handler {
	assets := load(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path
		if screen.MatchString(name) {
			name = "/index.html"
		}
		a, ok := assets[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		a.serve(w, r)
	})
}

func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", a.cache)
	body, tag := a.plain, a.etag
	if a.gzip != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Get("Accept-Encoding")) {
			body, tag = a.gzip, a.gzipTag
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("ETag", tag)
	// No modification time: the ETag says all, and a build has no honest one.
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// acceptsGzip reads Accept-Encoding (RFC 9110 section 12.5.3) as far as it
// matters here: gzip named, and not with a weight of zero.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			q, isQ := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
			return !isQ || strings.Trim(q, "0.") != ""
		}
	}
	return false
}

// load reads every file once, at start.
func load(tree fs.FS) map[string]asset {
	assets := map[string]asset{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		assets["/"+name] = newAsset(name, content)
		return err
	})
	if err != nil {
		panic(err) // embedded files can always be read
	}
	assets[shellPath] = newAsset(shellPath, shell(assets))
	return assets
}

func newAsset(name string, content []byte) asset {
	sum := sha256.Sum256(content)
	tag := hex.EncodeToString(sum[:10])
	a := asset{
		kind: types[path.Ext(name)], cache: revalidate, plain: content,
		etag: `"` + tag + `"`, gzipTag: `"` + tag + `-gzip"`,
	}
	if hashed.MatchString(name) {
		a.cache = forEver
	}
	if path.Ext(name) == ".png" {
		return a
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is a constant of that package
	}
	w.Write(content) //nolint:errcheck // a bytes.Buffer takes everything
	w.Close()        //nolint:errcheck // likewise
	if packed.Len() < len(content) {
		a.gzip = packed.Bytes()
	}
	return a
}

// shell is the list of what the app needs to open without a network, as a
// script, with a version that stands for the content of all of it.
func shell(assets map[string]asset) []byte {
	paths := []string{}
	for name := range assets {
		switch {
		case name == "/sw.js", name == "/robots.txt", strings.HasSuffix(name, ".txt"), strings.HasSuffix(name, "/README.md"):
		case strings.HasPrefix(name, "/icons/") && name != "/icons/icon.svg" && name != "/icons/icon-192.png":
		case strings.HasPrefix(name, "/screenshots/"):
		case name == "/index.html":
		default:
			paths = append(paths, name)
		}
	}
	sort.Strings(paths)
	version := sha256.New()
	version.Write(assets["/index.html"].plain)
	version.Write(assets["/sw.js"].plain)
	for _, name := range paths {
		version.Write([]byte(name + assets[name].etag))
	}
	list, err := json.Marshal(map[string]any{"version": hex.EncodeToString(version.Sum(nil)[:8]), "files": append([]string{"/"}, paths...)})
	if err != nil {
		panic(err) // strings always encode
	}
	return []byte("self.SHELL = " + string(list) + ";\n")
}
