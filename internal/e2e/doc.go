// Package e2e tests the real binary from outside: it builds sokone, starts it
// with SOKONE_* on a temporary directory, runs a shop and a push service for it,
// and speaks only HTTP and the command line, as DESIGN has them. It has no code
// of its own.
package e2e
