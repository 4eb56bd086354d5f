package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/sokone/sokone/internal/api"
	"github.com/sokone/sokone/internal/config"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/store"
)

// ErrSaid means that the command has failed and has said so already.
var ErrSaid = errors.New("said")

// Serve runs the whole service until ctx ends.
func Serve(ctx context.Context, c config.Config) error {
	a, err := New(ctx, c, Options{})
	if err != nil {
		return err
	}
	return errors.Join(a.Run(ctx), a.Close())
}

// RunDetect makes one detection pass and prints its counts.
func RunDetect(ctx context.Context, c config.Config, out io.Writer) error {
	return once(ctx, c, out, "detect", func(a *App) (any, error) {
		a.Detector.Budget = 0 // nobody waits for the next pass
		return a.Detector.Run(ctx)
	})
}

// RunDispatch makes one dispatch pass and prints its counts.
func RunDispatch(ctx context.Context, c config.Config, out io.Writer) error {
	return once(ctx, c, out, "dispatch", func(a *App) (any, error) { return a.Dispatch.Run(ctx) })
}

func once(ctx context.Context, c config.Config, out io.Writer, job string, run func(*App) (any, error)) error {
	a, err := New(ctx, c, Options{})
	if err != nil {
		return err
	}
	began := time.Now()
	counts, err := run(a)
	line := map[string]any{"job": job, "duration_ms": time.Since(began).Milliseconds()}
	for name, n := range Numbers(counts) {
		line[name] = n
	}
	return errors.Join(err, printJSON(out, line), a.Close())
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Quote prints what the adapters read at an address, with the candidates and
// why one won; or the error, and then fails.
func Quote(ctx context.Context, c config.Config, address string, out io.Writer) error {
	shops, err := Shops(c, Options{})
	if err != nil {
		return err
	}
	var quote shop.Quote
	ref, err := shops.Resolve(address)
	if err == nil {
		quote, err = shops.Quote(shop.Anew(ctx), ref) // somebody waits, as for a preview
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err != nil {
		failed := shop.AsError(err)
		return errors.Join(e.Encode(map[string]any{"error": map[string]any{"kind": failed.Kind, "message": failed.Message}}), ErrSaid)
	}
	candidates := quote.Candidates
	if candidates == nil {
		candidates = []shop.Candidate{}
	}
	return e.Encode(struct {
		api.Quote
		Candidates []shop.Candidate `json:"candidates"`
	}{api.QuoteOf(quote), candidates})
}

// VAPID prints the keys, made if there are none. The private one is printed only
// when asked for.
func VAPID(c config.Config, private bool, out io.Writer) error {
	if _, err := c.Parse(); err != nil {
		return &ConfigError{err}
	}
	keys, err := Keys(c)
	if err != nil {
		return err
	}
	line := map[string]any{"public_key": keys.Public(), "key_id": keys.ID()}
	if private {
		line["private_key"] = keys.Private()
	}
	return printJSON(out, line)
}

// withStore opens the database for one command.
func withStore(ctx context.Context, c config.Config, do func(*store.Store) error) error {
	v, err := c.Parse()
	if err != nil {
		return &ConfigError{err}
	}
	if !store.Exists(c.Data) {
		return &ConfigError{fmt.Errorf("SOKONE_DATA is %q: there is no database in it", c.Data)}
	}
	s, err := store.Open(ctx, c.Data, store.Options{Logger: NewLogger(c, v, os.Stderr), Now: time.Now})
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

// Backup writes a copy of the database while the server runs.
func Backup(ctx context.Context, c config.Config, file string, out io.Writer) error {
	return withStore(ctx, c, func(s *store.Store) error {
		if err := s.Backup(ctx, file); err != nil {
			return err
		}
		return printJSON(out, map[string]any{"backup": file, "remember": "the VAPID keys are in vapid.json of the data directory; keep them too"})
	})
}

// Restore puts a backup into an empty data directory.
func Restore(ctx context.Context, c config.Config, file string, out io.Writer) error {
	if _, err := c.Parse(); err != nil {
		return &ConfigError{err}
	}
	if err := store.Restore(ctx, file, c.Data); err != nil {
		return err
	}
	return printJSON(out, map[string]any{"restored": file, "data": c.Data})
}

// Check looks for damage; it prints findings and fails if there are any.
func Check(ctx context.Context, c config.Config, out io.Writer) error {
	return withStore(ctx, c, func(s *store.Store) error {
		findings, err := s.Check(ctx)
		if err != nil {
			return err
		}
		if len(findings) == 0 {
			return printJSON(out, map[string]any{"ok": true, "findings": []string{}})
		}
		return errors.Join(printJSON(out, map[string]any{"ok": false, "findings": findings}), ErrSaid)
	})
}

// Migrate brings the schema up to date, or makes the database; so does every start.
func Migrate(ctx context.Context, c config.Config, out io.Writer) error {
	a, err := New(ctx, c, Options{})
	if err != nil {
		return err
	}
	v, err := a.Store.SchemaVersion(ctx)
	if err == nil {
		err = printJSON(out, map[string]any{"schema_version": v})
	}
	return errors.Join(err, a.Close())
}

// Healthcheck asks a running server whether it is ready, for containers that
// have no other program to ask with.
func Healthcheck(ctx context.Context, c config.Config) error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return &ConfigError{fmt.Errorf("SOKONE_LISTEN is %q: %w", c.Listen, err)}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // it listens everywhere
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("healthcheck: the server is not ready (status %d)", res.StatusCode)
	}
	return nil
}
