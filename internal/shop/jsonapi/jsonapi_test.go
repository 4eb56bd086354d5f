package jsonapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/jsonapi"
)

func TestAnswersThatAreNoData(t *testing.T) {
	for name, tc := range map[string]struct {
		contentType, body string
		want              shop.Kind
	}{
		"a wall with status 200": {"text/html", "<h1>robot?</h1>", shop.KindBlocked},
		"half of it":             {"application/json", `{"a":`, shop.KindParse},
		"nothing":                {"application/json", ``, shop.KindParse},
		"too much":               {"application/json", `{"a":"` + strings.Repeat("x", 3<<20) + `"}`, shop.KindParse},
		"too deep":               {"application/json", strings.Repeat("[", 1<<20), shop.KindParse},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tc.contentType)
			_, _ = w.Write([]byte(tc.body))
		}))
		client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now})
		var v any
		_, err := jsonapi.Get(context.Background(), client, fetch.Request{URL: s.URL}, &v)
		if e := shop.AsError(err); e == nil || e.Kind != tc.want {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
		s.Close()
	}
}

func TestAKeyInAnAddressIsNotInTheError(t *testing.T) {
	client := fetch.New(fetch.Options{Guard: fetch.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "test", Now: time.Now})
	var v any
	_, err := jsonapi.Get(context.Background(), client, fetch.Request{URL: "http://127.0.0.1:1/?appid=SECRET"}, &v)
	if err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("%v", err)
	}
}
