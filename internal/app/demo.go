package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/sokone/sokone/internal/api"
	"github.com/sokone/sokone/internal/config"
	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/push/pushtest"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/shop/demo"
	"github.com/sokone/sokone/internal/shop/page"
	"github.com/sokone/sokone/internal/watch"
)

// demoCode joins a browser to the demo's user. It is no secret: what it opens
// are watches on a shop that is made up.
const demoCode = "DEMO"

// demoFor is how long the code is renewed ahead.
const demoFor = time.Minute

// RunDemo serves a throw-away Sokone with a shop whose prices move, watches on
// it, and a phone that receives what is sent: all of it real, and nothing from
// outside. say gets the addresses to open.
func RunDemo(ctx context.Context, c config.Config, log, say io.Writer) error {
	dir, err := os.MkdirTemp("", "sokone-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer os.RemoveAll(dir)
	goods := demo.New(uint64(time.Now().UnixNano()))
	phone, err := pushtest.Listen(pushtest.Options{Keep: 50})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer phone.Close()
	shopListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	base := "http://" + shopListener.Addr().String()
	shopServer := &http.Server{Handler: goods.Handler(func() []demo.Received { return received(phone) }), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = shopServer.Serve(shopListener) }() // ends with Close
	defer shopServer.Close()

	c.Data, c.PollInterval, c.HostInterval = dir, 0, 0
	c.DetectCron, c.DispatchCron = "@every 10s", "@every 10s"
	c.AllowNetworks = append(c.AllowNetworks, "127.0.0.0/8")
	values, err := c.Parse()
	if err != nil {
		return &ConfigError{err}
	}
	if c.Contact == "" {
		c.Contact = "mailto:demo@sokone.example"
	}
	listener, note, err := demoListener(c.Listen)
	if err != nil {
		return err
	}
	client := fetch.New(fetch.Options{Guard: fetch.NewGuard(values.AllowNetworks), UserAgent: userAgent(values), Now: time.Now})
	adapter := demo.NewAdapter(base, page.New(client, time.Now))
	a, err := New(ctx, c, Options{Log: log, Listener: listener, Adapters: []shop.Adapter{adapter}, Ready: func(string) {
		_, port, _ := net.SplitHostPort(listener.Addr().String()) // it is of that form
		_, _ = fmt.Fprintf(say, "\nSokone's demo is running.%s\n\n  the app    http://localhost:%s/?link=%s\n  the shop   %s/          (prices move every minute; set one by hand)\n  the phone  %s/phone     (what was sent, decrypted)\n\nStop it with Ctrl-C; nothing is kept.\n\n", note, port, demoCode, base, base)
	}})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	user, err := a.furnish(ctx, adapter, phone, base)
	if err != nil {
		return errors.Join(fmt.Errorf("demo: %w", err), a.Close())
	}
	go goods.Run(stop, time.Minute)
	go a.keepCode(stop, user)
	return errors.Join(a.Run(ctx), a.Close())
}

// demoListener takes another port where the usual one is taken.
func demoListener(address string) (net.Listener, string, error) {
	if host, port, err := net.SplitHostPort(address); err == nil && host == "" {
		address = net.JoinHostPort("127.0.0.1", port) // it may ask this machine's own addresses, so nobody else may ask it
	}
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, "", nil
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return nil, "", &ConfigError{fmt.Errorf("SOKONE_LISTEN is %q: %w", address, err)}
	}
	l, other := net.Listen("tcp", "127.0.0.1:0")
	if other != nil {
		return nil, "", &ConfigError{fmt.Errorf("SOKONE_LISTEN is %q: %w", address, err)}
	}
	return l, fmt.Sprintf(" (%s is taken, so it uses another port)", address), nil
}

// furnish makes the demo's user, phone and watches.
func (a *App) furnish(ctx context.Context, adapter *demo.Adapter, phone *pushtest.Service, base string) (string, error) {
	now := time.Now()
	u := watch.User{ID: rand.Text(), Timezone: "Asia/Tokyo", Locale: "ja", CreatedAt: now}
	d := watch.Device{ID: rand.Text(), UserID: u.ID, CreatedAt: now}
	if err := a.Store.CreateUser(ctx, u, d, []byte(rand.Text())); err != nil { // nobody holds its token
		return "", err
	}
	made, err := phone.Subscribe(a.Sender.PublicKey())
	if err != nil {
		return "", err
	}
	s, err := a.Sender.CheckSubscription(made.Endpoint, made.Keys.P256dh, made.Keys.Auth)
	if err != nil {
		return "", err
	}
	s.ID, s.DeviceID, s.Origin = rand.Text(), d.ID, "http://localhost"
	if err := a.Store.PutSubscription(ctx, s); err != nil {
		return "", err
	}
	for _, w := range []struct {
		code    string
		trigger watch.Trigger
	}{
		{"dish-soap", watch.Trigger{Type: watch.PriceDrop, Percent: "0"}},
		{"toilet-paper", watch.Trigger{Type: watch.PriceDrop, Percent: "10"}},
		{"water", watch.Trigger{Type: watch.LowestInDays, Days: watch.DefaultDays}},
	} {
		ref, err := a.Shops.Resolve(base + "/products/" + w.code)
		if err != nil {
			return "", err
		}
		q, err := adapter.Quote(ctx, ref)
		if err != nil {
			return "", err
		}
		o := watch.Observe(q)
		made := watch.New(watch.Watch{ID: rand.Text(), UserID: u.ID, Basis: watch.BasisPrice, CreatedAt: now,
			Triggers: []watch.Trigger{w.trigger, {Type: watch.BackInStock}}}, o)
		if _, err := a.Store.CreateWatch(ctx, made, watch.Listing{ID: rand.Text(), Ref: q.Ref, Name: q.Name, ImageURL: q.ImageURL}, o, a.Config.MaxWatches); err != nil {
			return "", err
		}
	}
	return u.ID, nil
}

// keepCode renews the code, so that the address works in every browser.
func (a *App) keepCode(ctx context.Context, userID string) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := a.Store.CreateLinkCode(ctx, userID, api.HashLinkCode(demoCode), time.Now().Add(demoFor)); err != nil && ctx.Err() == nil {
			a.Logger.Error("demo: link code", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// received are the notifications on the demo's phone, the newest first.
func received(phone *pushtest.Service) []demo.Received {
	shown := phone.Shown()
	out := make([]demo.Received, 0, len(shown))
	for i := len(shown) - 1; i >= 0; i-- {
		out = append(out, demo.Received{At: shown[i].At, Title: shown[i].Title, Body: shown[i].Body})
	}
	return out
}
