// Command sokone watches prices and tells shoppers when one is what they waited
// for. See `sokone --help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/sokone/sokone/internal/app"
	"github.com/sokone/sokone/internal/config"
)

type cli struct {
	config.Config `embed:""`

	Serve serve `cmd:"" help:"Run the whole service: app, API, detection and dispatch."`
	Demo  demo  `cmd:"" help:"Try it: a throw-away service with a shop whose prices move, and watches on it."`
	Quote quote `cmd:"" help:"Print what is read at the address of a product, and why; or why nothing is."`
	Run   struct {
		Detect   detect   `cmd:"" help:"Poll the listings that are due, once."`
		Dispatch dispatch `cmd:"" help:"Send what is due in the outbox, once."`
	} `cmd:"" help:"Run one pass of a job and exit. Safe beside a running server."`
	VAPID       vapid       `cmd:"" name:"vapid" help:"Make or show the keys that sign notifications."`
	Backup      backup      `cmd:"" help:"Copy the database to a new file, also while the server runs."`
	Restore     restore     `cmd:"" help:"Put a backup into an empty data directory."`
	Check       check       `cmd:"" help:"Look for damage and broken invariants in the database."`
	Migrate     migrate     `cmd:"" help:"Bring the database's schema up to date, as every start does."`
	Healthcheck healthcheck `cmd:"" help:"Ask the server on this machine whether it is ready."`
	Version     version     `cmd:"" help:"Print the version."`
}

type (
	serve struct{}
	demo  struct{}
	quote struct {
		URL string `arg:"" help:"Address of a product page."`
	}
	detect   struct{}
	dispatch struct{}
	vapid    struct {
		Private bool `help:"Print the private key too."`
	}
	backup struct {
		File string `arg:"" help:"File to write; it must not exist."`
	}
	restore struct {
		File string `arg:"" help:"Backup to read."`
	}
	check       struct{}
	migrate     struct{}
	healthcheck struct{}
	version     struct{}
)

func (serve) Run(ctx context.Context, c config.Config) error { return app.Serve(ctx, c) }
func (demo) Run(ctx context.Context, c config.Config) error {
	return app.RunDemo(ctx, c, os.Stderr, os.Stdout)
}
func (q quote) Run(ctx context.Context, c config.Config) error {
	return app.Quote(ctx, c, q.URL, os.Stdout)
}
func (detect) Run(ctx context.Context, c config.Config) error {
	return app.RunDetect(ctx, c, os.Stdout)
}
func (dispatch) Run(ctx context.Context, c config.Config) error {
	return app.RunDispatch(ctx, c, os.Stdout)
}
func (v vapid) Run(c config.Config) error { return app.VAPID(c, v.Private, os.Stdout) }
func (b backup) Run(ctx context.Context, c config.Config) error {
	return app.Backup(ctx, c, b.File, os.Stdout)
}
func (r restore) Run(ctx context.Context, c config.Config) error {
	return app.Restore(ctx, c, r.File, os.Stdout)
}
func (check) Run(ctx context.Context, c config.Config) error   { return app.Check(ctx, c, os.Stdout) }
func (migrate) Run(ctx context.Context, c config.Config) error { return app.Migrate(ctx, c, os.Stdout) }
func (healthcheck) Run(ctx context.Context, c config.Config) error {
	return app.Healthcheck(ctx, c)
}
func (version) Run() error {
	_, err := fmt.Println("sokone", app.Version())
	return err
}

// Exit statuses: 1 for a command that failed, 2 for one that was asked wrongly.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	var c cli
	k := kong.Must(&c, kong.Name("sokone"), kong.UsageOnError(),
		kong.Description("Sokone watches prices: an alert is true when it is sent, comes once, and is never lost."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	parsed, err := k.Parse(os.Args[1:])
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "sokone:", nameVariable(k, err))
		os.Exit(exitUsage)
	}
	// The first signal stops in order; a second one kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	parsed.BindTo(ctx, (*context.Context)(nil))
	err = parsed.Run(c.Config)
	var wrong *app.ConfigError
	switch {
	case err == nil:
		return
	case errors.Is(err, app.ErrSaid):
		os.Exit(exitFailed)
	case errors.As(err, &wrong):
		_, _ = fmt.Fprintln(os.Stderr, "sokone:", err)
		os.Exit(exitUsage)
	}
	_, _ = fmt.Fprintln(os.Stderr, "sokone:", err)
	os.Exit(exitFailed)
}

// nameVariable adds the environment variable to an error that names a flag: the
// operator may have set either.
func nameVariable(k *kong.Kong, err error) string {
	message := err.Error()
	for _, f := range k.Model.Flags {
		if len(f.Envs) > 0 && strings.HasPrefix(message, "--"+f.Name+":") {
			return f.Envs[0] + " (" + message + ")"
		}
	}
	return message
}
