package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/sokone/sokone/internal/config"
	"github.com/sokone/sokone/internal/store"
)

// job is a pass that cron starts. One that is still running when it is due again
// is not started twice; one that panics harms no other.
type job struct {
	name     string
	schedule cron.Schedule
	run      func(ctx context.Context) (counts any, err error)

	mu       sync.Mutex
	lastDone time.Time
}

func (a *App) retention() store.Retention {
	r := store.Retention{Default: a.Config.Retention}
	if a.Config.RakutenRetention > 0 {
		r.Adapters = map[string]time.Duration{"rakuten": a.Config.RakutenRetention}
	}
	return r
}

// startJobs starts cron. The returned function stops it and waits for passes in
// flight, as long as its context lasts.
func (a *App) startJobs(ctx context.Context) (stop func(context.Context) error, err error) {
	c := cron.New(cron.WithLocation(time.UTC), cron.WithLogger(cronLog{a.Logger}), cron.WithChain(cron.SkipIfStillRunning(cronLog{a.Logger})))
	for _, j := range []struct {
		name, spec string
		run        func(ctx context.Context) (any, error)
	}{
		{"detect", a.Config.DetectCron, func(ctx context.Context) (any, error) { return a.Detector.Run(ctx) }},
		{"dispatch", a.Config.DispatchCron, func(ctx context.Context) (any, error) { return a.Dispatch.Run(ctx) }},
		{"housekeep", "17 3 * * *", func(ctx context.Context) (any, error) {
			return struct{}{}, a.Store.Housekeep(ctx, a.o.Now(), a.retention())
		}},
	} {
		if j.spec == config.Off {
			continue
		}
		schedule, err := cron.ParseStandard(j.spec)
		if err != nil {
			return nil, fmt.Errorf("app: cron of %s: %w", j.name, err)
		}
		jb := &job{name: j.name, schedule: schedule, run: j.run, lastDone: a.o.Now()}
		a.jobs = append(a.jobs, jb)
		c.Schedule(schedule, cron.FuncJob(func() { a.pass(ctx, jb) }))
	}
	c.Start()
	return func(drain context.Context) error {
		select {
		case <-c.Stop().Done():
			return nil
		case <-drain.Done():
			return errors.New("app: a pass did not end in time; what it held comes back when its lease ends")
		}
	}, nil
}

// pass runs a job once and writes its one line.
func (a *App) pass(ctx context.Context, j *job) {
	if ctx.Err() != nil {
		return
	}
	began := a.o.Now()
	defer func() {
		if r := recover(); r != nil {
			a.Metrics.Panic(j.name)
			a.Logger.Error("app: pass panicked", "job", j.name, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
		j.mu.Lock()
		j.lastDone = a.o.Now()
		j.mu.Unlock()
	}()
	counts, err := j.run(ctx)
	took := a.o.Now().Sub(began)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // asked to stop, and did
	}
	numbers := Numbers(counts)
	a.Metrics.Job(j.name, took, err, numbers)
	attrs := []any{"job", j.name, "duration", took.Round(time.Millisecond)}
	level, idle := slog.LevelInfo, true
	for _, name := range sortedKeys(numbers) {
		attrs = append(attrs, name, numbers[name])
		idle = idle && numbers[name] == 0
	}
	if idle {
		level = slog.LevelDebug // nothing to do is no news
	}
	if err != nil {
		level = slog.LevelError
		attrs = append(attrs, "error", err)
	}
	a.Logger.Log(ctx, level, "app: pass done", attrs...)
}

// Numbers are the counts of a pass by name, as its JSON has them.
func Numbers(counts any) map[string]int64 {
	encoded, err := json.Marshal(counts)
	if err != nil {
		return nil
	}
	var numbers map[string]int64
	if json.Unmarshal(encoded, &numbers) != nil {
		return nil
	}
	return numbers
}

// late reports a job that has missed several of its times: cron is dead, or a
// pass hangs.
func (j *job) late(now time.Time) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	due := j.lastDone
	for range 3 {
		due = j.schedule.Next(due)
	}
	if due.IsZero() {
		return nil
	}
	const grace = 3 * time.Minute
	if now.After(due.Add(grace)) {
		return fmt.Errorf("job %s has not ended a pass since %s", j.name, j.lastDone.UTC().Format(time.RFC3339))
	}
	return nil
}

// cronLog hands cron's words to slog.
type cronLog struct{ logger *slog.Logger }

// Info is for cron's own steps, and for passes skipped.
func (l cronLog) Info(msg string, keysAndValues ...any) {
	if msg == "skip" {
		l.logger.Warn("app: pass skipped: the one before is still running")
		return
	}
	l.logger.Debug("app: cron "+msg, keysAndValues...)
}

// Error is for panics that nobody else caught.
func (l cronLog) Error(err error, msg string, keysAndValues ...any) {
	l.logger.Error("app: cron "+msg, append(keysAndValues, "error", err)...)
}
