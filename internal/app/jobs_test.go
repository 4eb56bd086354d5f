package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/sokone/sokone/internal/config"
)

// buffer is a log that may be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func testApp(t *testing.T, log io.Writer, now func() time.Time) *App {
	t.Helper()
	c := config.Config{Listen: "127.0.0.1:0", Data: t.TempDir(), DetectCron: config.Off, DispatchCron: config.Off, MaxRetry: 8, Lease: time.Minute, PushTTL: time.Hour,
		RateLimit: config.Off, PollRate: config.Off, MaxWatches: 10, Robots: "respect", LogFormat: "text", LogLevel: "debug", Contact: "mailto:op@shop-watch.example.com"}
	a, err := New(context.Background(), c, Options{Log: log, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func every(t *testing.T, spec string) cron.Schedule {
	t.Helper()
	s, err := cron.ParseStandard(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAPassThatPanicsIsLoggedAndHarmsNoOther(t *testing.T) {
	var log buffer
	a := testApp(t, &log, time.Now)
	bad := &job{name: "detect", schedule: every(t, "* * * * *"), run: func(context.Context) (any, error) { panic("boom") }}
	ran := false
	good := &job{name: "dispatch", schedule: every(t, "* * * * *"), run: func(context.Context) (any, error) { ran = true; return map[string]int{"sent": 3}, nil }}
	a.pass(context.Background(), bad)
	a.pass(context.Background(), good)
	if !ran || !strings.Contains(log.String(), "boom") || !strings.Contains(log.String(), "sent=3") {
		t.Errorf("log: %s", log.String())
	}
	bad.run = func(context.Context) (any, error) { return nil, errors.New("disk full") }
	a.pass(context.Background(), bad)
	if !strings.Contains(log.String(), "disk full") {
		t.Errorf("log: %s", log.String())
	}
}

func TestAPassThatOverrunsIsNotStartedTwice(t *testing.T) {
	var log buffer
	a := testApp(t, &log, time.Now)
	started, release := make(chan struct{}, 8), make(chan struct{})
	chain := cron.NewChain(cron.SkipIfStillRunning(cronLog{a.Logger}))
	j := chain.Then(cron.FuncJob(func() { started <- struct{}{}; <-release }))
	var all sync.WaitGroup
	all.Go(j.Run)
	<-started
	j.Run() // due again: skipped at once
	if len(started) != 0 || !strings.Contains(log.String(), "still running") {
		t.Errorf("log: %s", log.String())
	}
	close(release)
	all.Wait()
}

func TestReadinessSeesACronThatIsDead(t *testing.T) {
	now := time.Now()
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	a := testApp(t, io.Discard, clock)
	a.jobs = []*job{{name: "detect", schedule: every(t, "* * * * *"), lastDone: clock()}}
	if err := a.check(context.Background())["cron"]; err != nil {
		t.Errorf("just started: %v", err)
	}
	mu.Lock()
	now = now.Add(10 * time.Minute)
	mu.Unlock()
	if err := a.check(context.Background())["cron"]; err == nil || !strings.Contains(err.Error(), "detect") {
		t.Errorf("ten minutes without a pass: %v", err)
	}
	if err := a.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.check(context.Background())["database"]; err == nil {
		t.Error("a closed database is ready")
	}
}

func TestAServerStopsInOrder(t *testing.T) {
	var log buffer
	a := testApp(t, &log, time.Now)
	ctx, cancel := context.WithCancel(context.Background())
	a.o.Ready = func(string) { cancel() }
	if err := a.Run(ctx); err != nil {
		t.Errorf("%v", err)
	}
	if !strings.Contains(log.String(), "app: stopping") {
		t.Errorf("log: %s", log.String())
	}
}
