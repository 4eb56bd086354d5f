package e2e

import (
	"database/sql"
	"path/filepath"

	_ "modernc.org/sqlite"

	_ "github.com/sokone/sokone/internal/app" // so that a change of the binary is a change of these tests' cache
)

// sql lets time pass in the database, as no test can wait a day.
func (w *world) sql(statement string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "sokone.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		w.t.Fatalf("%s: %v", statement, err)
	}
}

// hurry makes every retry due now.
func (w *world) hurry() {
	w.t.Helper()
	w.sql(`UPDATE outbox SET detected_payload_json = json_set(detected_payload_json, '$._retry.nextAttemptAt', '2000-01-01T00:00:00.000Z') WHERE status = 'retry'`)
}
