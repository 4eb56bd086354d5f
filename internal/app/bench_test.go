package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/SherClockHolmes/webpush-go"
	"golang.org/x/net/html"

	"github.com/sokone/sokone/internal/config"
	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/push/pushtest"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// Each benchmark measures its floor, the least that the same work costs without
// Sokone around it, in the same run, and reports the ratio: what the floor takes
// divided by what Sokone takes. 1 is as good as the floor.

// bench is an App with a shop and push services on this machine.
type bench struct {
	*App
	hosts []string // base addresses of one shop on many loopback addresses
	price func(int)
}

func newBench(b *testing.B, hosts int) *bench {
	b.Helper()
	var mu sync.Mutex
	price := 1000
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		p := price
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, benchPage, r.URL.Path, p)
	})
	be := &bench{price: func(p int) { mu.Lock(); defer mu.Unlock(); price = p }}
	for i := range hosts {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", i+1))
		if err != nil {
			b.Fatal(err)
		}
		s := &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}}
		s.Start()
		b.Cleanup(s.Close)
		be.hosts = append(be.hosts, s.URL)
	}
	c := config.Config{Listen: "127.0.0.1:0", Data: b.TempDir(), Contact: "mailto:op@shop-watch.example.com", DetectCron: config.Off, DispatchCron: config.Off,
		MaxRetry: 8, Lease: 2 * time.Minute, PushTTL: time.Hour, RateLimit: config.Off, PollRate: config.Off, MaxWatches: 1 << 30, AllowNetworks: []string{"127.0.0.0/8"}, Robots: "respect", LogFormat: "text", LogLevel: "error"}
	a, err := New(context.Background(), c, Options{Log: io.Discard})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Close() })
	a.Detector.Budget = 0
	be.App = a
	return be
}

// benchPage is a page of some 20 KB, as light pages are.
var benchPage = `<!doctype html><html lang="ja"><head><meta charset="utf-8"><title>商品</title><script type="application/ld+json">
{"@context":"https://schema.org","@type":"Product","name":"商品 %s","offers":{"@type":"Offer","price":"%d","priceCurrency":"JPY","availability":"https://schema.org/InStock"}}
</script></head><body><h1>商品</h1>` + strings.Repeat(`<div class="row"><a href="/somewhere"><img src="/i.png" alt=""><span>説明の文がここに続きます。</span></a></div>`, 160) + `</body></html>`

// watches makes n watches of ¥900, spread over so many listings, each with a
// user, a device and a subscription made by subscribe.
func (be *bench) watches(b *testing.B, n, listings int, subscribe func() pushtest.Subscription) {
	b.Helper()
	ctx := context.Background()
	now := time.Now()
	observed := watch.Observation{At: now, Price: amount(1000), Availability: shop.InStock}
	var all sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			u, d := rand.Text(), rand.Text()
			if err := be.Store.CreateUser(ctx, watch.User{ID: u, Timezone: "UTC", Locale: "ja", CreatedAt: now}, watch.Device{ID: d, UserID: u, CreatedAt: now}, []byte(d)); err != nil {
				b.Error(err)
				return
			}
			if subscribe != nil {
				made := subscribe()
				s, err := be.Sender.CheckSubscription(made.Endpoint, made.Keys.P256dh, made.Keys.Auth)
				if err != nil {
					b.Error(err)
					return
				}
				s.ID, s.DeviceID, s.Origin = rand.Text(), d, "http://localhost"
				if err := be.Store.PutSubscription(ctx, s); err != nil {
					b.Error(err)
					return
				}
			}
			item := i % listings
			address := fmt.Sprintf("%s/p/%d", be.hosts[item%len(be.hosts)], item)
			w := watch.New(watch.Watch{ID: rand.Text(), UserID: u, Basis: watch.BasisPrice, CreatedAt: now, Triggers: []watch.Trigger{{Type: watch.TargetPrice, Target: amount(900)}}}, observed)
			l := watch.Listing{ID: rand.Text(), Ref: shop.Ref{Adapter: "page", ItemCode: address, URL: address}, Name: "商品"}
			if _, err := be.Store.CreateWatch(ctx, w, l, observed, 1<<30); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
}

func amount(yen int64) money.Amount {
	a, err := money.FromMinor(yen, "JPY")
	if err != nil {
		panic(err)
	}
	return a
}

// mute is a push service that reads the body and accepts, no more: the least
// that both sides can be measured against.
func mute(b *testing.B) *httptest.Server {
	b.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
	}))
	b.Cleanup(s.Close)
	return s
}

const benchSends = 64 // as many deliveries at once as the dispatcher has

// BenchmarkDispatch: alerts per second through claim, re-fetch, re-check, send
// and record, against a bare loop over webpush-go with the same concurrency.
func BenchmarkDispatch(b *testing.B) {
	const alerts, listings = 2000, 20
	service := mute(b)
	keys, err := pushtest.Listen(pushtest.Options{}) // only to make subscriptions
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(keys.Close)
	subscribe := func() pushtest.Subscription {
		s, err := keys.Subscribe("")
		if err != nil {
			b.Fatal(err)
		}
		s.Endpoint = service.URL + "/push/" + rand.Text()
		return s
	}
	var all rounds
	for b.Loop() {
		b.StopTimer()
		be := newBench(b, 4)
		be.watches(b, alerts, listings, subscribe)
		be.price(850)
		if c, err := be.Detector.Run(context.Background()); err != nil || c.Enqueued != alerts {
			b.Fatalf("detect: %+v %v", c, err)
		}
		subs := make([]pushtest.Subscription, alerts)
		for i := range subs {
			subs[i] = subscribe()
		}
		floor := barePush(b, subs)
		runtime.GC()
		b.StartTimer()
		began := time.Now()
		c, err := be.Dispatch.Run(context.Background())
		took := time.Since(began)
		if err != nil || c.Sent != alerts {
			b.Fatalf("dispatch: %+v %v", c, err)
		}
		all.add(alerts, took, floor)
	}
	all.report(b, "alerts")
}

// rounds adds up what the rounds of a benchmark took, so that the ratio is that
// of all of them.
type rounds struct {
	n           float64
	took, floor time.Duration
}

func (r *rounds) add(n int, took, floor time.Duration) {
	r.n, r.took, r.floor = r.n+float64(n), r.took+took, r.floor+floor
}

func (r *rounds) report(b *testing.B, what string) {
	b.ReportMetric(r.n/r.took.Seconds(), what+"/s")
	b.ReportMetric(r.n/r.floor.Seconds(), "floor-"+what+"/s")
	b.ReportMetric(r.floor.Seconds()/r.took.Seconds(), "ratio")
}

// barePush is the floor: webpush-go in a loop, with a sensible client.
func barePush(b *testing.B, subs []pushtest.Subscription) time.Duration {
	b.Helper()
	private, public, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		b.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchSends}, Timeout: 15 * time.Second}
	body := []byte(`{"web_push":8030,"notification":{"title":"￥850 商品 /p/1","body":"目標の￥900以下になりました。","navigate":"http://localhost/watches/ABCDEFGHIJKLMNOPQRSTUVWXYZ","lang":"ja"}}`)
	began := time.Now()
	var all sync.WaitGroup
	work := make(chan pushtest.Subscription)
	for range benchSends {
		all.Go(func() {
			for s := range work {
				res, err := webpush.SendNotification(append([]byte(nil), body...), &webpush.Subscription{Endpoint: s.Endpoint, Keys: webpush.Keys{P256dh: s.Keys.P256dh, Auth: s.Keys.Auth}},
					&webpush.Options{HTTPClient: client, Subscriber: "op@shop-watch.example.com", VAPIDPublicKey: public, VAPIDPrivateKey: private, TTL: 3600, RecordSize: 512})
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		})
	}
	for _, s := range subs {
		work <- s
	}
	close(work)
	all.Wait()
	return time.Since(began)
}

// BenchmarkDetect: listings per second through a whole pass, against fetching and
// tokenizing the same pages with as many workers.
func BenchmarkDetect(b *testing.B) {
	const listings, hosts = 10_000, 32
	var all rounds
	for b.Loop() {
		b.StopTimer()
		be := newBench(b, hosts)
		be.watches(b, listings, listings, nil)
		var addresses [][]string
		for h := range hosts {
			var of []string
			for i := h; i < listings; i += hosts {
				of = append(of, fmt.Sprintf("%s/p/%d", be.hosts[h], i))
			}
			addresses = append(addresses, of)
		}
		floor := bareFetch(b, addresses)
		runtime.GC()
		b.StartTimer()
		began := time.Now()
		c, err := be.Detector.Run(context.Background())
		took := time.Since(began)
		if err != nil || c.Read != listings {
			b.Fatalf("detect: %+v %v", c, err)
		}
		all.add(listings, took, floor)
	}
	all.report(b, "listings")
}

func bareFetch(b *testing.B, hosts [][]string) time.Duration {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}, Timeout: 30 * time.Second}
	began := time.Now()
	var all sync.WaitGroup
	for _, addresses := range hosts {
		all.Go(func() {
			for _, a := range addresses {
				res, err := client.Get(a)
				if err != nil {
					b.Error(err)
					return
				}
				body, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if err != nil {
					b.Error(err)
					return
				}
				text, _ := fetch.Decode(body, res.Header.Get("Content-Type"))
				for z := html.NewTokenizer(strings.NewReader(text)); z.Next() != html.ErrorToken; {
					z.Token()
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// BenchmarkProcess starts the real binary on a database of 10 000 watches: the
// time until it says that it is ready, and the memory it holds after a pass.
// Aims: 300 ms, 100 MB.
func BenchmarkProcess(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "sokone")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/sokone/sokone/cmd/sokone").CombinedOutput(); err != nil {
		b.Fatalf("%v %s", err, out)
	}
	be := newBench(b, 32)
	be.watches(b, 10_000, 10_000, nil)
	for b.Loop() {
		cmd := exec.Command(binary, "serve")
		cmd.Env = []string{"SOKONE_LISTEN=127.0.0.1:0", "SOKONE_DATA=" + be.Config.Data, "SOKONE_ALLOW_NETWORKS=127.0.0.0/8", "SOKONE_HOST_INTERVAL=0s", "SOKONE_POLL_INTERVAL=0s",
			"SOKONE_DETECT_CRON=@every 1s", "SOKONE_CONTACT=mailto:op@shop-watch.example.com"}
		stderr, err := cmd.StderrPipe()
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		var log bytes.Buffer
		wait := func(words string) {
			buffer := make([]byte, 4096)
			for !strings.Contains(log.String(), words) {
				n, err := stderr.Read(buffer)
				if err != nil {
					b.Fatalf("%v\n%s", err, log.String())
				}
				log.Write(buffer[:n])
			}
		}
		wait("app: serving")
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ready-ms")
		wait("read=")
		b.ReportMetric(resident(b, cmd.Process.Pid, "VmRSS"), "MB")
		b.ReportMetric(resident(b, cmd.Process.Pid, "VmHWM"), "peak-MB")
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// resident reads a line of /proc/<pid>/status, in MB.
func resident(b *testing.B, pid int, field string) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kb / 1024
		}
	}
	b.Fatalf("no %s in /proc", field)
	return 0
}
