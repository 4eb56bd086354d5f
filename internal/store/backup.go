package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"

	"github.com/sokone/sokone/migrations"
)

// Backup writes a whole, consistent copy of the database to a new file while
// the server runs. The file appears only when it is complete.
func (s *Store) Backup(ctx context.Context, file string) error {
	if _, err := os.Stat(file); err == nil {
		return fmt.Errorf("backup: %s exists already; name a new file", file)
	}
	db, err := sql.Open("sqlite", dsn(s.file, "")) // the readers may not write, not even elsewhere
	if err != nil {
		return wrap("backup", err)
	}
	return wrap("backup", errors.Join(backupInto(ctx, db, file), db.Close()))
}

func backupInto(ctx context.Context, db *sql.DB, file string) error {
	part := file + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// VACUUM INTO wants the file to be absent or empty; made here, it is ours alone.
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", part)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(part, file)
	}
	if err != nil {
		_ = os.Remove(part)
		return err
	}
	return syncDir(filepath.Dir(file))
}

// Restore puts a backup into a data directory that holds no database. It checks
// the backup first, so that a bad file changes nothing.
func Restore(ctx context.Context, file, dir string) error {
	if err := verify(ctx, file); err != nil {
		return fmt.Errorf("restore: %s is not a backup of Sokone that can be used: %w", file, err)
	}
	target := filepath.Join(dir, databaseFile)
	for _, f := range []string{target, target + "-wal"} {
		if _, err := os.Stat(f); err == nil {
			return fmt.Errorf("restore: %s exists already; move it away first, so that nothing is overwritten", f)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	part := target + ".part"
	if err := copyFile(file, part); err != nil {
		_ = os.Remove(part)
		return fmt.Errorf("restore: %w", err)
	}
	if err := os.Rename(part, target); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return wrap("restore", syncDir(dir))
}

// verify opens the file without changing it. immutable keeps SQLite from making
// files beside it.
func verify(ctx context.Context, file string) error {
	if _, err := os.Stat(file); err != nil {
		return err
	}
	if info, err := os.Stat(file + "-wal"); err == nil && info.Size() > 0 {
		return fmt.Errorf("%s-wal lies beside it, with changes that are not in it: use 'sokone backup' to make a copy of a database in use", file)
	}
	db, err := sql.Open("sqlite", dsn(file, "mode=ro&immutable=1&_pragma=query_only(1)"))
	if err != nil {
		return err
	}
	defer db.Close()
	var answer string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&answer); err != nil {
		return err
	}
	if answer != "ok" {
		return fmt.Errorf("damaged: %s", answer)
	}
	var version, newest int64
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version WHERE is_applied").Scan(&version); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('outbox', 'watches', 'listings', 'users')").Scan(&tables); err != nil {
		return err
	}
	newest, err = newestVersion()
	switch {
	case err != nil:
		return err
	case tables != 4:
		return errors.New("it is the database of another program")
	case version > newest:
		return fmt.Errorf("a newer sokone wrote it (schema version %d, this one knows up to %d)", version, newest)
	}
	var table string
	switch err := db.QueryRowContext(ctx, "SELECT \"table\" FROM pragma_foreign_key_check LIMIT 1").Scan(&table); {
	case err == nil:
		return fmt.Errorf("references in %s lead nowhere", table)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	return nil
}

// newestVersion is the schema that this binary knows.
func newestVersion() (newest int64, err error) {
	files, err := fs.Glob(migrations.FS, "*.sql")
	for _, f := range files {
		n, err := goose.NumericComponent(f)
		if err != nil {
			return 0, err
		}
		newest = max(newest, n)
	}
	return newest, err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
