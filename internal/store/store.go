// Package store keeps everything in one SQLite file. It is all SQL and nothing
// but storage: what is decided is decided elsewhere. Every exported method that
// writes is one transaction; helpers take the transaction, never the database.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/sokone/sokone/migrations"
)

// Names of files in the data directory.
const (
	databaseFile = "sokone.db"
	markerFile   = ".sokone" // says that a database was here
	lockFile     = ".sokone.lock"
)

// Options of a Store. Logger and Now are required.
type Options struct {
	Logger *slog.Logger
	Now    func() time.Time
}

// Store is one open database: one writer, many readers.
type Store struct {
	Options
	dir     string
	file    string
	readers *sql.DB
	writes  *writer
	mu      sync.Mutex
	reads   map[string]*sql.Stmt
}

// Open opens or makes the database in the data directory, and brings its schema
// up to date. It refuses a database that a newer binary wrote, and a directory
// whose database has vanished.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	if o.Logger == nil || o.Now == nil {
		panic("store: an option is missing")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("store: data directory: %w", err)
	}
	file := filepath.Join(dir, databaseFile)
	alone, err := takeTurn(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer alone.giveBack()
	existed, err := prepareFile(dir, file)
	if err != nil {
		return nil, err
	}
	s := &Store{Options: o, dir: dir, file: file, reads: map[string]*sql.Stmt{}}
	write, err := sql.Open("sqlite", dsn(file, "_txlock=immediate"))
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	write.SetMaxOpenConns(1)
	if err := s.migrate(ctx, write, existed); err != nil {
		return nil, errors.Join(err, write.Close())
	}
	if s.writes, err = newWriter(ctx, write, o.Logger); err != nil {
		return nil, errors.Join(err, write.Close())
	}
	if s.readers, err = sql.Open("sqlite", dsn(file, "_pragma=query_only(1)")); err != nil {
		return nil, errors.Join(err, s.writes.close())
	}
	s.readers.SetMaxOpenConns(8)
	s.readers.SetMaxIdleConns(8)
	return s, nil
}

// Close waits for the writes under way and closes the database.
func (s *Store) Close() error {
	s.mu.Lock()
	for _, stmt := range s.reads {
		_ = stmt.Close() // the pool is closed with them
	}
	s.mu.Unlock()
	alone, err := takeTurn(context.Background(), s.dir)
	if err != nil {
		s.Logger.Warn("store: closing beside another process that begins", "error", err)
	}
	defer alone.giveBack()
	return errors.Join(s.readers.Close(), s.writes.close())
}

// turn is the right to begin or end with the database while no other process
// does. SQLite alone is not enough: two that turn a new file to WAL, or one that
// opens it while the last other closes it, get SQLITE_BUSY at once, whatever the
// busy timeout (sqlite.org/wal.html, "Sometimes Queries Return SQLITE_BUSY In
// WAL Mode"). The system takes it back from a process that dies.
type turn struct{ lock *flock.Flock }

// turnWithin is longer than bringing a large database up to date takes.
const turnWithin = 2 * time.Minute

func takeTurn(ctx context.Context, dir string) (turn, error) {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
	_, err := lock.TryLockContext(ctx, 10*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		return turn{}, fmt.Errorf("store: another sokone does not finish beginning or ending with %s: stop it first", dir)
	}
	if err != nil {
		return turn{}, fmt.Errorf("store: %w", err)
	}
	return turn{lock}, nil
}

func (t turn) giveBack() {
	if t.lock != nil {
		_ = t.lock.Unlock() // closes the file, which gives it back in any case
	}
}

// Exists reports whether a data directory holds a database.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, databaseFile))
	return err == nil
}

// Ping reads and writes, as a check of health: a full disk or a locked database
// shows here.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	if err := s.readers.QueryRowContext(ctx, "SELECT 1 FROM users LIMIT 1").Scan(&one); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("store: read: %w", err)
	}
	return s.write(ctx, func(tx *tx) error {
		_, err := tx.exec("INSERT INTO health (id, at) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET at = ?1", instant(s.Now()))
		return err
	})
}

// prepareFile makes sure that the file is ours alone, and that no database was
// lost: an empty volume in the place of a full one is noticed here.
func prepareFile(dir, file string) (existed bool, err error) {
	marker := filepath.Join(dir, markerFile)
	_, err = os.Stat(file)
	switch {
	case err == nil:
		existed = true
		if err := os.Chmod(file, 0o600); err != nil {
			return false, fmt.Errorf("store: %w", err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("store: %w", err)
	default:
		if _, err := os.Stat(marker); err == nil {
			return false, fmt.Errorf("store: %s is missing, though there was a database in %s before: "+
				"bring it back with 'sokone restore', or remove %s to begin anew", databaseFile, dir, marker)
		}
		f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return false, fmt.Errorf("store: %w", err)
		}
		if err := f.Close(); err != nil {
			return false, fmt.Errorf("store: %w", err)
		}
	}
	if err := os.WriteFile(marker, []byte("Sokone keeps its database in this directory.\n"), 0o600); err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	return existed, nil
}

// dsn carries the pragmas, so that every connection of a pool has them.
func dsn(file string, more string) string {
	q := url.Values{"_pragma": {
		"busy_timeout(10000)", // another process may be writing: `sokone run dispatch`
		"journal_mode(WAL)",   // readers go on while one writes
		"synchronous(FULL)",   // what was answered is on the disk, also when the power goes
		"foreign_keys(1)",     // off by default in SQLite
		"temp_store(MEMORY)",  // small sorts need no file
		"cache_size(-8000)",   // 8 MB a connection
		"trusted_schema(0)",   // a hostile backup file cannot call functions
		"wal_autocheckpoint(1000)",
	}}
	return "file:" + (&url.URL{Path: file}).EscapedPath() + "?" + q.Encode() + "&" + more // an empty one does no harm
}

func (s *Store) migrate(ctx context.Context, db *sql.DB, existed bool) error {
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, migrations.FS, goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("store: migrations: %w", err)
	}
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("store: schema version: %w", err)
	}
	if current > newest {
		return fmt.Errorf("store: the database has schema version %d, and this sokone knows up to %d: "+
			"use the newer sokone that wrote it, or restore a backup of before", current, newest)
	}
	if current == newest {
		return nil
	}
	if existed && current > 0 {
		if err := backupInto(ctx, db, s.file+".before-migration"); err != nil {
			return fmt.Errorf("store: backup before migration: %w", err)
		}
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("store: migrate from version %d: %w", current, err)
	}
	s.Logger.Info("store: schema migrated", "from", current, "to", newest)
	return nil
}

// SchemaVersion is the version of the open database.
func (s *Store) SchemaVersion(ctx context.Context) (v int64, err error) {
	err = s.readers.QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version WHERE is_applied").Scan(&v)
	return v, err
}

// queryer is what a reading helper needs: the pool of readers, or the transaction.
type queryer interface {
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (s *Store) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s.mu.Lock()
	stmt := s.reads[query]
	s.mu.Unlock()
	if stmt == nil {
		prepared, err := s.readers.PrepareContext(ctx, query)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		if stmt = s.reads[query]; stmt == nil {
			stmt = prepared
			s.reads[query] = prepared
			prepared = nil
		}
		s.mu.Unlock()
		if prepared != nil {
			_ = prepared.Close()
		}
	}
	return stmt.QueryContext(ctx, args...)
}

// each calls scan for every row, and closes the rows.
func each(rows *sql.Rows, err error, scan func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
