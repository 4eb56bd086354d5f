package demo

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
)

//go:embed pages.html shop.css
var files embed.FS

// Received is a notification that the demo's phone has shown.
type Received struct {
	At          time.Time
	Title, Body string
}

// Handler serves the shop. phone lists what the demo's phone has received; nil
// for no phone.
func (s *Shop) Handler(phone func() []Received) http.Handler {
	pages := template.Must(template.New("").Funcs(template.FuncMap{"yen": price, "decimal": decimal}).ParseFS(files, "pages.html"))
	show := func(w http.ResponseWriter, status int, name string, data any) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_ = pages.ExecuteTemplate(w, name, data) // the visitor is gone, if anything
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { show(w, http.StatusOK, "home", s.all()) })
	mux.HandleFunc("GET /products/{code}", func(w http.ResponseWriter, r *http.Request) {
		p, ok := s.product(r.PathValue("code"))
		if !ok {
			show(w, http.StatusNotFound, "missing", nil)
			return
		}
		base := "http://" + r.Host
		show(w, http.StatusOK, "product", map[string]any{"P": p, "LD": p.jsonLD(base), "Base": base})
	})
	mux.HandleFunc("POST /products/{code}", func(w http.ResponseWriter, r *http.Request) {
		p, ok := s.product(r.PathValue("code"))
		amount, err := minorUnits(r.PostFormValue("price"), p.Currency)
		if !ok || err != nil {
			http.Error(w, "Set a price above zero, as in 1298.", http.StatusBadRequest)
			return
		}
		s.set(p.Code, amount, r.PostFormValue("stock") != "")
		http.Redirect(w, r, r.URL.Path, http.StatusSeeOther)
	})
	mux.HandleFunc("GET /img/{name}", func(w http.ResponseWriter, r *http.Request) {
		p, ok := s.product(strings.TrimSuffix(r.PathValue("name"), ".svg"))
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = fmt.Fprintf(w, picture, p.Colour, string([]rune(p.Maker)[:1]))
	})
	mux.HandleFunc("GET /phone", func(w http.ResponseWriter, _ *http.Request) {
		var received []Received
		if phone != nil {
			received = phone()
		}
		show(w, http.StatusOK, "phone", received)
	})
	mux.Handle("GET /shop.css", http.FileServerFS(files))
	return http.NewCrossOriginProtection().Handler(mux)
}

const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 240"><rect width="240" height="240" fill="#f4f1ea"/>
<rect x="70" y="54" width="100" height="140" rx="18" fill="%s"/><rect x="96" y="32" width="48" height="30" rx="8" fill="#d9d2c3"/>
<circle cx="120" cy="124" r="34" fill="#fff"/><text x="120" y="138" font-size="38" text-anchor="middle" font-family="sans-serif" fill="#444">%s</text></svg>`

// jsonLD is the product as shops write it for search engines.
func (p product) jsonLD(base string) template.JS {
	if p.Markup != "json-ld" {
		return ""
	}
	encoded, err := json.Marshal(map[string]any{
		"@context": "https://schema.org", "@type": "Product", "name": p.Name, "brand": map[string]string{"@type": "Brand", "name": p.Maker},
		"image": base + "/img/" + p.Code + ".svg", "url": base + "/products/" + p.Code,
		"offers": map[string]any{"@type": "Offer", "price": decimal(p.Price, p.Currency), "priceCurrency": p.Currency, "availability": "https://schema.org/" + p.Stock()},
	})
	if err != nil {
		panic(err) // strings always encode
	}
	return template.JS(encoded) // encoding/json escapes what would end the script
}

// Stock is the word of schema.org.
func (p product) Stock() string {
	if p.InStock {
		return "InStock"
	}
	return "OutOfStock"
}

// Sale reports whether the price is below the regular one.
func (p product) Sale() bool { return p.Price < p.Regular }

func decimal(minor int, currency string) string {
	if currency == "JPY" {
		return strconv.Itoa(minor)
	}
	return fmt.Sprintf("%d.%02d", minor/100, minor%100)
}

func minorUnits(s, currency string) (int, error) {
	whole, frac, dotted := strings.Cut(strings.TrimSpace(s), ".")
	if currency == "JPY" && dotted || len(frac) > 2 {
		return 0, strconv.ErrSyntax
	}
	if currency != "JPY" {
		whole += (frac + "00")[:2]
	}
	n, err := strconv.Atoi(whole)
	if err == nil && (n <= 0 || n > 1e9) {
		err = strconv.ErrRange
	}
	return n, err
}

func price(minor int, currency string) string {
	if currency == "JPY" {
		s := strconv.Itoa(minor)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return "¥" + s
	}
	return "€" + decimal(minor, currency)
}
