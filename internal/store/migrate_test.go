package store

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/sokone/sokone/migrations"
)

// A database of an older version is backed up, and brought along with all that
// is in it.
func TestADatabaseOfTheFirstVersionIsBroughtAlong(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, databaseFile)
	db, err := sql.Open("sqlite", dsn(file, ""))
	must(t, err)
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, migrations.FS, goose.WithLogger(goose.NopLogger()))
	must(t, err)
	_, err = provider.UpTo(ctx, 1)
	must(t, err)
	_, err = db.Exec(`
		INSERT INTO users (id, timezone, locale, created_at) VALUES ('u', 'UTC', 'en', '2026-10-01T09:00:00.000Z');
		INSERT INTO listings (id, adapter, item_code, url, host, name, image_url, currency, price, next_check_at)
			VALUES ('l', 'page', 'i', 'https://tea.example/p', 'tea.example', 'Tea tin', '', 'JPY', 950, '2026-10-01T10:00:00.000Z');
		INSERT INTO prices (listing_id, at, confirmed_at, currency, price, availability)
			VALUES ('l', '2026-10-01T09:00:00.000Z', '2026-10-01T09:30:00.000Z', 'JPY', 950, 'in_stock');
		INSERT INTO watches (id, user_id, listing_id, basis, currency, note, reference, created_at)
			VALUES ('w', 'u', 'l', 'price', 'JPY', 'note', 1000, '2026-10-01T09:00:00.000Z')`)
	must(t, err)
	must(t, db.Close())

	s := open(t, dir)
	w, err := s.Watch(ctx, "u", "w")
	must(t, err)
	if w.Watch.Note != "note" || w.Watch.Reference.Number() != "1000" || w.Watch.Product != "" || w.Listing.Last.Price.Number() != "950" || w.Problem() != nil {
		t.Errorf("%+v", w)
	}
	h, err := s.History(ctx, "l")
	must(t, err)
	if len(h.Points) != 1 || h.Points[0].Price.Number() != "950" {
		t.Errorf("%+v", h)
	}
	if info, err := os.Stat(file + ".before-migration"); err != nil || info.Size() == 0 {
		t.Errorf("no backup of before: %v", err)
	}
}
