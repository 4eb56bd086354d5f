package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sokone/sokone/internal/config"
)

// longestDue is how long an entry may be due before something must be wrong
// with dispatch.
const longestDue = 15 * time.Minute

// readyFor is how long an answer about readiness is kept: anybody may ask, and
// each answer costs a write.
const readyFor = 2 * time.Second

// Ready checks the parts that the promise depends on, by name.
func (a *App) Ready(ctx context.Context) map[string]error {
	a.readyMu.Lock()
	defer a.readyMu.Unlock()
	if now := a.o.Now(); a.readyAt.IsZero() || now.Sub(a.readyAt).Abs() >= readyFor {
		a.readyAt, a.readyLast = now, a.check(ctx)
	}
	return a.readyLast
}

func (a *App) check(ctx context.Context) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	checks := map[string]error{"database": a.Store.Ping(ctx), "cron": nil, "outbox": nil}
	now := a.o.Now()
	for _, j := range a.jobs {
		if err := j.late(now); err != nil {
			checks["cron"] = err
		}
	}
	if a.Config.DispatchCron == config.Off {
		return checks // somebody else dispatches
	}
	due, err := a.Store.OldestDue(ctx, now)
	switch {
	case err != nil:
		checks["outbox"] = err
	case !due.IsZero() && now.Sub(due) > longestDue:
		checks["outbox"] = fmt.Errorf("an entry has been due since %s", due.UTC().Format(time.RFC3339))
	}
	return checks
}

func sortedKeys(m map[string]int64) []string { return slices.Sorted(maps.Keys(m)) }
