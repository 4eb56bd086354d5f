package web_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/sokone/sokone/web"
)

func get(t *testing.T, h http.Handler, target string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestScreensAreThePage(t *testing.T) {
	t.Parallel()
	h := web.Handler()
	page := body(t, get(t, h, "/"))
	if !strings.Contains(page, `<div id="app">`) {
		t.Fatalf("/ is not the page: %.80q", page)
	}
	for _, target := range []string{"/alerts", "/settings", "/add", "/add?url=https%3A%2F%2Fshop.example%2F1", "/watches/ABC"} {
		if r := get(t, h, target); r.StatusCode != http.StatusOK || body(t, r) != page {
			t.Errorf("%s: %d, want the page", target, r.StatusCode)
		}
	}
	for _, target := range []string{"/watches/", "/watches/a/b", "/alerts/x", "/nothing", "/embed.go", "/third_party/refresh", "/js/", "/icons/draw"} {
		if r := get(t, h, target); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", target, r.StatusCode)
		}
	}
}

func TestTypesAndCaching(t *testing.T) {
	t.Parallel()
	h := web.Handler()
	vendored, err := os.ReadDir("third_party")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{
		"/":                     "text/html; charset=utf-8",
		"/js/main.js":           "text/javascript; charset=utf-8",
		"/sw.js":                "text/javascript; charset=utf-8",
		"/shell.js":             "text/javascript; charset=utf-8",
		"/css/base.css":         "text/css; charset=utf-8",
		"/manifest.webmanifest": "application/manifest+json",
		"/icons/icon-192.png":   "image/png",
		"/icons/icon.svg":       "image/svg+xml",
	}
	immutable := 0
	for _, f := range vendored {
		if path.Ext(f.Name()) == ".mjs" {
			kinds["/third_party/"+f.Name()] = "text/javascript; charset=utf-8"
		}
	}
	for target, kind := range kinds {
		r := get(t, h, target)
		if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != kind {
			t.Errorf("%s: %d %q, want %q", target, r.StatusCode, r.Header.Get("Content-Type"), kind)
		}
		cache := "no-cache"
		if strings.HasPrefix(target, "/third_party/") {
			cache = "public, max-age=31536000, immutable"
			immutable++
		}
		if got := r.Header.Get("Cache-Control"); got != cache {
			t.Errorf("%s: Cache-Control %q, want %q", target, got, cache)
		}
		again := get(t, h, target, "If-None-Match", r.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified || body(t, again) != "" {
			t.Errorf("%s with its own ETag: %d, want an empty 304", target, again.StatusCode)
		}
	}
	if immutable != 4 {
		t.Errorf("%d vendored modules, want 4", immutable)
	}
}

func TestGzipOnlyWhereAskedFor(t *testing.T) {
	t.Parallel()
	h := web.Handler()
	plain := get(t, h, "/js/main.js")
	want := body(t, plain)
	for _, accept := range []string{"gzip", "br, gzip;q=0.5", "GZIP"} {
		r := get(t, h, "/js/main.js", "Accept-Encoding", accept)
		if r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Vary") != "Accept-Encoding" {
			t.Fatalf("%q: headers %v", accept, r.Header)
		}
		if r.Header.Get("ETag") == plain.Header.Get("ETag") {
			t.Errorf("%q: two bodies under one strong ETag", accept)
		}
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(unpacked); err != nil || string(got) != want {
			t.Errorf("%q: another content (%v)", accept, err)
		}
	}
	for _, accept := range []string{"", "br", "gzip;q=0", "gzip; q=0.0", "x-gzip-not"} {
		if r := get(t, h, "/js/main.js", "Accept-Encoding", accept); r.Header.Get("Content-Encoding") != "" || body(t, r) != want {
			t.Errorf("%q: packed", accept)
		}
	}
}

func TestOnlyReading(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	web.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST /: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}

// The page must work under a policy without 'unsafe-inline', and must be able
// to open without a network: every module that is imported is in the shell.
func TestPageIsWholeAndWithoutInlineCode(t *testing.T) {
	t.Parallel()
	h := web.Handler()
	page := body(t, get(t, h, "/"))
	if regexp.MustCompile(`<style|\sstyle=|\son[a-z]+=|<script[^>]*>[^<]`).MatchString(page) {
		t.Error("index.html holds inline code or style")
	}
	shell := body(t, get(t, h, "/shell.js"))
	linked := regexp.MustCompile(`(?:href|src)="(/[^"]+)"`)
	for _, m := range linked.FindAllStringSubmatch(page, -1) {
		if r := get(t, h, m[1]); r.StatusCode != http.StatusOK {
			t.Errorf("index.html names %s: %d", m[1], r.StatusCode)
		}
	}
	imported := regexp.MustCompile(`(?m)^(?:import|export|\}) ?[^'"=()]*['"]([^'"]+)['"];$`)
	seen := map[string]bool{}
	var walk func(module string)
	walk = func(module string) {
		if seen[module] {
			return
		}
		seen[module] = true
		r := get(t, h, module)
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s is imported: %d", module, r.StatusCode)
			return
		}
		if !strings.Contains(shell, `"`+module+`"`) {
			t.Errorf("%s is not in the offline shell", module)
		}
		for _, m := range imported.FindAllStringSubmatch(body(t, r), -1) {
			if !strings.HasPrefix(m[1], ".") {
				t.Errorf("%s imports %q, which is no relative address", module, m[1])
				continue
			}
			walk(path.Join(path.Dir(module), m[1]))
		}
	}
	walk("/js/main.js")
	if len(seen) < 20 {
		t.Errorf("only %d modules found; has the way they are imported changed?", len(seen))
	}
}

func TestVendoredFilesAreThoseOfTheSums(t *testing.T) {
	t.Parallel()
	sums, err := os.ReadFile("third_party/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(sums)), "\n") {
		sum, name, _ := strings.Cut(line, "  ./")
		content, err := os.ReadFile(path.Join("third_party", name))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := digest(content); got != sum {
			t.Errorf("%s has digest %s, SHA256SUMS says %s", name, got, sum)
		}
		if !strings.Contains(name, "."+sum[:10]+".") {
			t.Errorf("%s is cached for ever, but does not name its digest %s", name, sum[:10])
		}
	}
}

// Both languages say the same things with the same blanks.
func TestLanguagesMatch(t *testing.T) {
	t.Parallel()
	entry := regexp.MustCompile(`'([a-z][^']*)': ['"]((?:[^'\\]|\\.)*?)['"],`)
	blank := regexp.MustCompile(`\{\w+\}`)
	read := func(file string) map[string]string {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		words := map[string]string{}
		for _, m := range entry.FindAllSubmatch(content, -1) {
			words[string(m[1])] = string(m[2])
		}
		if len(words) < 150 {
			t.Fatalf("%s: only %d sentences read", file, len(words))
		}
		return words
	}
	count := func(s string) map[string]bool {
		set := map[string]bool{}
		for _, b := range blank.FindAllString(s, -1) {
			set[b] = true
		}
		return set
	}
	en, ja := read("js/words.en.js"), read("js/words.ja.js")
	for key, sentence := range en {
		other, ok := ja[key]
		if !ok {
			t.Errorf("Japanese lacks %q", key)
			continue
		}
		a, b := count(sentence), count(other)
		for name := range a {
			if !b[name] {
				t.Errorf("%q: Japanese lacks %s", key, name)
			}
		}
		if len(a) != len(b) {
			t.Errorf("%q: blanks differ: %v, %v", key, a, b)
		}
	}
	for key := range ja {
		if _, ok := en[key]; !ok {
			t.Errorf("English lacks %q", key)
		}
	}
}

// What a first visit loads must stay small: it is opened on phones, on the way.
func TestFirstLoadIsSmall(t *testing.T) {
	t.Parallel()
	h := web.Handler()
	shell := body(t, get(t, h, "/shell.js"))
	total := 0
	for _, m := range regexp.MustCompile(`"(/[^"]*)"`).FindAllStringSubmatch(shell, -1) {
		var b bytes.Buffer
		if _, err := io.Copy(&b, get(t, h, m[1], "Accept-Encoding", "gzip").Body); err != nil {
			t.Fatal(err)
		}
		total += b.Len()
	}
	if total > 150<<10 {
		t.Errorf("the shell is %d bytes compressed, more than 150 KiB", total)
	}
	t.Logf("the shell is %d bytes compressed", total)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// What an installed app needs, as the manifest promises it.
func TestManifestNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	h := web.Handler()
	var manifest struct {
		ID, Scope, Display string
		StartURL           string `json:"start_url"`
		Icons, Screenshots []struct{ Src, Sizes, Type, Purpose string }
		Shortcuts          []struct{ URL string }
		ShareTarget        struct {
			Action, Method string
			Params         map[string]string
		} `json:"share_target"`
	}
	if err := json.Unmarshal([]byte(body(t, get(t, h, "/manifest.webmanifest"))), &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.ID != "/" || manifest.Scope != "/" || manifest.StartURL != "/" || manifest.Display != "standalone" {
		t.Errorf("%+v", manifest)
	}
	purposes := map[string]int{}
	for _, p := range append(manifest.Icons, manifest.Screenshots...) {
		purposes[p.Purpose]++
		r := get(t, h, p.Src)
		picture, err := png.DecodeConfig(r.Body)
		if err != nil || r.Header.Get("Content-Type") != p.Type {
			t.Errorf("%s: %v, %s", p.Src, err, r.Header.Get("Content-Type"))
			continue
		}
		if got := fmt.Sprintf("%dx%d", picture.Width, picture.Height); got != p.Sizes {
			t.Errorf("%s is %s, the manifest says %s", p.Src, got, p.Sizes)
		}
	}
	if purposes["any"] < 2 || purposes["maskable"] < 1 || len(manifest.Screenshots) < 2 {
		t.Errorf("icons %v, %d screenshots", purposes, len(manifest.Screenshots))
	}
	addresses := []string{manifest.ShareTarget.Action}
	for _, s := range manifest.Shortcuts {
		addresses = append(addresses, s.URL)
	}
	if len(addresses) < 3 {
		t.Errorf("shortcuts %v", manifest.Shortcuts)
	}
	for _, address := range addresses {
		if r := get(t, h, address); r.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", address, r.StatusCode)
		}
	}
	if s := manifest.ShareTarget; s.Method != "GET" || s.Params["title"] != "title" || s.Params["text"] != "text" || s.Params["url"] != "url" {
		t.Errorf("share target %+v", s)
	}
}
