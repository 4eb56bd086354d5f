package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// writer is the one goroutine that writes. What waits for it is done together:
// every request in a savepoint of its own, all in one transaction, answered
// after its commit. So a hundred workers share one fsync, and each still has
// all or nothing.
type writer struct {
	db       *sql.DB
	conn     *sql.Conn
	stmts    map[string]*sql.Stmt
	requests chan request
	stopped  chan struct{} // closed when the goroutine has ended
	mu       sync.RWMutex  // guards closed against sends on requests
	closed   bool
	logger   *slog.Logger
}

type request struct {
	ctx  context.Context
	do   func(*tx) error
	done chan error
}

// maxGroup bounds how much is lost, and repeated, when a commit fails.
const maxGroup = 256

var errClosed = errors.New("store: closed")

func newWriter(ctx context.Context, db *sql.DB, logger *slog.Logger) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	w := &writer{db: db, conn: conn, stmts: map[string]*sql.Stmt{}, requests: make(chan request, maxGroup), stopped: make(chan struct{}), logger: logger}
	go w.run()
	return w, nil
}

// write runs do in a transaction and returns after it is on the disk. A context
// that ends before its turn means that it is not run at all; once begun, it is
// finished.
func (s *Store) write(ctx context.Context, do func(*tx) error) error {
	return s.writes.submit(ctx, do)
}

func (w *writer) submit(ctx context.Context, do func(*tx) error) error {
	r := request{ctx, do, make(chan error, 1)}
	w.mu.RLock()
	if w.closed {
		w.mu.RUnlock()
		return errClosed
	}
	select {
	case w.requests <- r:
		w.mu.RUnlock()
	case <-ctx.Done():
		w.mu.RUnlock()
		return ctx.Err()
	}
	return <-r.done
}

func (w *writer) close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.requests)
	}
	w.mu.Unlock()
	<-w.stopped
	// Statements of a connection outlive it, and keep SQLite from closing the
	// file and writing the log back into it.
	var errs []error
	for _, s := range w.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(errors.Join(errs...), w.conn.Close(), w.db.Close())
}

func (w *writer) run() {
	defer close(w.stopped)
	for first := range w.requests {
		group := []request{first}
	drain:
		for len(group) < maxGroup {
			select {
			case r, ok := <-w.requests:
				if !ok {
					break drain
				}
				group = append(group, r)
			default:
				break drain
			}
		}
		w.commit(group)
	}
}

// commit runs a group in one transaction.
func (w *writer) commit(group []request) {
	answers := make([]error, len(group))
	err := w.transaction(group, answers)
	for i, r := range group {
		if err != nil && answers[i] == nil {
			answers[i] = err
		}
		r.done <- answers[i]
	}
}

func (w *writer) transaction(group []request, answers []error) error {
	t := &tx{w}
	if _, err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("store: begin: %w", err)
	}
	for i, r := range group {
		if err := r.ctx.Err(); err != nil {
			answers[i] = err
			continue
		}
		if _, err := t.exec("SAVEPOINT one"); err != nil {
			return w.rollback(t, err)
		}
		if answers[i] = guarded(t, r.do); answers[i] != nil {
			if _, err := t.exec("ROLLBACK TO one"); err != nil {
				// SQLite has rolled back everything by itself: a full disk, say.
				return w.rollback(t, errors.Join(answers[i], err))
			}
		}
		if _, err := t.exec("RELEASE one"); err != nil {
			return w.rollback(t, err)
		}
	}
	if _, err := t.exec("COMMIT"); err != nil {
		return w.rollback(t, err)
	}
	return nil
}

func (w *writer) rollback(t *tx, cause error) error {
	_, _ = t.exec("ROLLBACK") // fails where SQLite has done it already
	w.logger.Error("store: transaction failed", "error", cause)
	return fmt.Errorf("store: transaction: %w", cause)
}

// guarded keeps a panic of one caller from the others of its group.
func guarded(t *tx, do func(*tx) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("store: panic in a transaction: %v", r)
		}
	}()
	return do(t)
}

// tx is the transaction of the writer. Its statements are prepared once. They
// take no context: SQLite rolls back the whole transaction, and so everybody's
// work, when a statement is interrupted.
type tx struct{ w *writer }

func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if s := t.w.stmts[query]; s != nil {
		return s, nil
	}
	s, err := t.w.conn.PrepareContext(context.Background(), query)
	if err == nil {
		t.w.stmts[query] = s
	}
	return s, err
}

func (t *tx) exec(query string, args ...any) (sql.Result, error) {
	s, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.Background(), args...)
}

func (t *tx) query(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(context.Background(), args...)
}

// changed reports whether a statement changed a row.
func (t *tx) changed(query string, args ...any) (bool, error) {
	r, err := t.exec(query, args...)
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}
