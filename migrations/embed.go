// Package migrations holds the schema of the database, step by step, for goose.
package migrations

import "embed"

// FS holds the SQL files; their numbers are the schema's versions.
//
//go:embed *.sql
var FS embed.FS
