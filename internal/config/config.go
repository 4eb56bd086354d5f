// Package config holds every option of Sokone: its name, its default, its unit
// and its check, in one place. Each is a flag and an environment variable.
package config

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/sokone/sokone/internal/push"
)

// Config is what the operator sets. The tags are those of kong.
type Config struct {
	Listen    string `env:"SOKONE_LISTEN" default:":8080" help:"Address of the app and API."`
	Data      string `env:"SOKONE_DATA" default:"./data" help:"Directory of the database and the keys."`
	PublicURL string `env:"SOKONE_PUBLIC_URL" name:"public-url" help:"The address people open, as in https://sokone.example. Used in notifications; without it, the address of each request."`
	Contact   string `env:"SOKONE_CONTACT" help:"mailto: or https: address of the operator, told to shops and push services."`

	VAPIDPublicKey  string `env:"SOKONE_VAPID_PUBLIC_KEY" name:"vapid-public-key" help:"VAPID public key, base64url. Made at first start if not given."`
	VAPIDPrivateKey string `env:"SOKONE_VAPID_PRIVATE_KEY" name:"vapid-private-key" help:"VAPID private key, base64url."`

	DetectCron   string        `env:"SOKONE_DETECT_CRON" default:"* * * * *" help:"When due listings are looked for; off for never."`
	DispatchCron string        `env:"SOKONE_DISPATCH_CRON" default:"* * * * *" help:"When the outbox is sent; off for never."`
	PollInterval time.Duration `env:"SOKONE_POLL_INTERVAL" default:"30m" help:"How often one listing is polled, give or take a tenth; 0s makes every listing due at every pass."`
	PollFastest  time.Duration `env:"SOKONE_POLL_FASTEST" help:"The least between two polls of a listing whose price moves; half of SOKONE_POLL_INTERVAL if not given."`
	PollSlowest  time.Duration `env:"SOKONE_POLL_SLOWEST" help:"The most between two polls of a listing whose price never moves; four times SOKONE_POLL_INTERVAL if not given."`
	PollRate     string        `env:"SOKONE_POLL_RATE" default:"12000/m" help:"Polls of all shops together, per s, m or h; off for no limit."`
	HostInterval time.Duration `env:"SOKONE_HOST_INTERVAL" default:"2s" help:"Least time between two requests to one shop."`
	Robots       string        `env:"SOKONE_ROBOTS" default:"respect" help:"respect or ignore what shops ask of programs in robots.txt."`
	MaxRetry     int           `env:"SOKONE_OUTBOX_MAX_RETRY,OUTBOX_MAX_RETRY" name:"outbox-max-retry" default:"8" help:"Attempts before an alert fails."`
	Lease        time.Duration `env:"SOKONE_LEASE" default:"2m" help:"How long a claimed alert belongs to one dispatcher."`
	PushTTL      time.Duration `env:"SOKONE_PUSH_TTL" name:"push-ttl" default:"1h" help:"How long a push service may hold an alert; an hour at most."`
	PushHosts    []string      `env:"SOKONE_PUSH_HOSTS" name:"push-hosts" help:"Push services to allow beside the browsers' own, separated by commas; .example.org for all below."`

	RateLimit      string   `env:"SOKONE_RATE_LIMIT" default:"120/m" help:"API requests per address and per device, per s, m or h; off for no limit."`
	MaxWatches     int      `env:"SOKONE_MAX_WATCHES" default:"200" help:"Watches per user."`
	AllowNetworks  []string `env:"SOKONE_ALLOW_NETWORKS" help:"Networks (CIDR, separated by commas) inside which shops and push services may lie, by http too. For tests and home networks."`
	TrustedProxies []string `env:"SOKONE_TRUSTED_PROXIES" help:"Networks (CIDR, separated by commas) of reverse proxies whose X-Forwarded-For is believed."`
	AdminToken     string   `env:"SOKONE_ADMIN_TOKEN" help:"Opens /metrics to 'Authorization: Bearer <token>'."`

	RakutenApplicationID string `env:"SOKONE_RAKUTEN_APPLICATION_ID" name:"rakuten-application-id" help:"Rakuten application id. With the access key, Rakuten Ichiba is read by its API."`
	RakutenAccessKey     string `env:"SOKONE_RAKUTEN_ACCESS_KEY" name:"rakuten-access-key" help:"Rakuten access key."`
	RakutenSiteURL       string `env:"SOKONE_RAKUTEN_SITE_URL" name:"rakuten-site-url" help:"The website that the Rakuten key is registered for, if it is."`
	RakutenEndpoint      string `env:"SOKONE_RAKUTEN_ENDPOINT" name:"rakuten-endpoint" help:"Another address of Rakuten's item search."`
	YahooAppID           string `env:"SOKONE_YAHOO_APP_ID" name:"yahoo-app-id" help:"Yahoo! Japan application id. With it, Yahoo! Shopping is read by its API."`
	YahooEndpoint        string `env:"SOKONE_YAHOO_ENDPOINT" name:"yahoo-endpoint" help:"Another address of Yahoo's item search."`

	RakutenRetention time.Duration `env:"SOKONE_RAKUTEN_RETENTION" name:"rakuten-retention" help:"How long past prices of Rakuten are kept, where its terms ask for less than SOKONE_RETENTION; 0s for that."`

	Retention time.Duration `env:"SOKONE_RETENTION" default:"9600h" help:"How long past prices and finished alerts are kept; 0s for ever."`
	ShopsFile string        `env:"SOKONE_SHOPS_FILE" help:"File (YAML) that describes more shops: where on their pages the price stands."`

	LogFormat string `env:"SOKONE_LOG_FORMAT" default:"text" help:"text or json."`
	LogLevel  string `env:"SOKONE_LOG_LEVEL" default:"info" help:"debug, info, warn or error."`
}

// Off is the word that turns a job or a limit off.
const Off = "off"

// longestPoll is the longest that two polls of a listing may lie apart: what is
// told of a price a week late helps nobody.
const longestPoll = 7 * 24 * time.Hour

// leastRetention is a day: an alert is told once a day, by what is kept of it,
// and no shop's terms ask for less.
const leastRetention = 24 * time.Hour

// Values are the options that need parsing, parsed.
type Values struct {
	AllowNetworks  []netip.Prefix
	TrustedProxies []netip.Prefix
	RateRequests   int           // 0 for no limit
	RatePer        time.Duration // the span that RateRequests counts in
	Polls          int           // of all shops together; 0 for no limit
	PollsPer       time.Duration // the span that Polls counts in
	PollFastest    time.Duration // the bounds of the pace of one listing
	PollSlowest    time.Duration
	Contact        string // as push services take it; "" for none
	PublicURL      string // without a slash at the end
	LogLevel       slog.Level
}

// Parse checks all options. The error names the variable at fault and what to
// set instead.
func (c *Config) Parse() (Values, error) {
	var v Values
	var err error
	if v.PublicURL, err = publicURL(c.PublicURL); err != nil {
		return v, fault("SOKONE_PUBLIC_URL", c.PublicURL, err)
	}
	if v.Contact, err = contact(c.Contact, v.PublicURL); err != nil {
		return v, fault("SOKONE_CONTACT", c.Contact, err)
	}
	if (c.VAPIDPublicKey == "") != (c.VAPIDPrivateKey == "") {
		return v, fmt.Errorf("SOKONE_VAPID_PUBLIC_KEY and SOKONE_VAPID_PRIVATE_KEY go together: set both or neither")
	}
	for name, spec := range map[string]string{"SOKONE_DETECT_CRON": c.DetectCron, "SOKONE_DISPATCH_CRON": c.DispatchCron} {
		if spec != Off {
			if err := schedule(spec); err != nil {
				return v, fault(name, spec, fmt.Errorf("use five fields as in \"*/5 * * * *\", \"@every 1m\", or \"off\" (%w)", err))
			}
		}
	}
	for _, d := range []struct {
		name     string
		value    time.Duration
		min, max time.Duration
	}{
		{"SOKONE_POLL_INTERVAL", c.PollInterval, 0, longestPoll},
		{"SOKONE_HOST_INTERVAL", c.HostInterval, 0, time.Hour},
		{"SOKONE_LEASE", c.Lease, time.Second, time.Hour},
		{"SOKONE_PUSH_TTL", c.PushTTL, time.Second, time.Hour},
	} {
		if d.value < d.min || d.value > d.max {
			return v, fault(d.name, d.value.String(), fmt.Errorf("use %s to %s", d.min, d.max))
		}
	}
	for name, kept := range map[string]time.Duration{"SOKONE_RETENTION": c.Retention, "SOKONE_RAKUTEN_RETENTION": c.RakutenRetention} {
		if kept != 0 && kept < leastRetention {
			return v, fault(name, kept.String(), fmt.Errorf("use %s or more, or 0s", leastRetention))
		}
	}
	if c.MaxRetry < 1 || c.MaxRetry > 100 {
		return v, fault("SOKONE_OUTBOX_MAX_RETRY", strconv.Itoa(c.MaxRetry), fmt.Errorf("use 1 to 100"))
	}
	if c.MaxWatches < 1 {
		return v, fault("SOKONE_MAX_WATCHES", strconv.Itoa(c.MaxWatches), fmt.Errorf("use 1 or more"))
	}
	if v.RateRequests, v.RatePer, err = rate(c.RateLimit); err != nil {
		return v, fault("SOKONE_RATE_LIMIT", c.RateLimit, err)
	}
	if v.Polls, v.PollsPer, err = rate(c.PollRate); err != nil {
		return v, fault("SOKONE_POLL_RATE", c.PollRate, err)
	}
	if v.PollFastest = cmp.Or(c.PollFastest, c.PollInterval/2); v.PollFastest > c.PollInterval || v.PollFastest < 0 {
		return v, fault("SOKONE_POLL_FASTEST", c.PollFastest.String(), fmt.Errorf("use at most SOKONE_POLL_INTERVAL, which is %s", c.PollInterval))
	}
	if v.PollSlowest = cmp.Or(c.PollSlowest, min(4*c.PollInterval, longestPoll)); v.PollSlowest < c.PollInterval || v.PollSlowest > longestPoll {
		return v, fault("SOKONE_POLL_SLOWEST", c.PollSlowest.String(), fmt.Errorf("use at least SOKONE_POLL_INTERVAL, which is %s, and at most %s", c.PollInterval, longestPoll))
	}
	if v.AllowNetworks, err = networks(c.AllowNetworks); err != nil {
		return v, fault("SOKONE_ALLOW_NETWORKS", strings.Join(c.AllowNetworks, ","), err)
	}
	if v.TrustedProxies, err = networks(c.TrustedProxies); err != nil {
		return v, fault("SOKONE_TRUSTED_PROXIES", strings.Join(c.TrustedProxies, ","), err)
	}
	if (c.RakutenApplicationID == "") != (c.RakutenAccessKey == "") {
		return v, fmt.Errorf("SOKONE_RAKUTEN_APPLICATION_ID and SOKONE_RAKUTEN_ACCESS_KEY go together: set both or neither")
	}
	if err := hosts(c.PushHosts); err != nil {
		return v, fault("SOKONE_PUSH_HOSTS", strings.Join(c.PushHosts, ","), err)
	}
	for name, address := range map[string]string{"SOKONE_RAKUTEN_ENDPOINT": c.RakutenEndpoint, "SOKONE_RAKUTEN_SITE_URL": c.RakutenSiteURL, "SOKONE_YAHOO_ENDPOINT": c.YahooEndpoint} {
		if err := endpoint(address); err != nil {
			return v, fault(name, address, err)
		}
	}
	if c.Data == "" {
		return v, fmt.Errorf("SOKONE_DATA is empty: name a directory")
	}
	if c.Robots != "respect" && c.Robots != "ignore" {
		return v, fault("SOKONE_ROBOTS", c.Robots, fmt.Errorf("use respect or ignore"))
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		return v, fault("SOKONE_LOG_FORMAT", c.LogFormat, fmt.Errorf("use text or json"))
	}
	if err := v.LogLevel.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return v, fault("SOKONE_LOG_LEVEL", c.LogLevel, fmt.Errorf("use debug, info, warn or error"))
	}
	return v, nil
}

func fault(name, value string, err error) error {
	return fmt.Errorf("%s is %q: %w", name, value, err)
}

// schedule checks a cron specification. Times are UTC, so it names no zone (the
// parser would panic on one without fields), and it must come round.
func schedule(spec string) error {
	if strings.Contains(spec, "TZ=") {
		return fmt.Errorf("times are UTC; name no zone")
	}
	s, err := cron.ParseStandard(spec)
	if err == nil && s.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		err = fmt.Errorf("there is no such day")
	}
	return err
}

// hosts checks names of push services.
func hosts(names []string) error {
	for _, n := range names {
		if u, err := url.Parse("https://" + strings.TrimPrefix(n, ".") + "/"); err != nil || u.Hostname() != strings.TrimPrefix(n, ".") || !strings.Contains(u.Hostname(), ".") {
			return fmt.Errorf("use host names as in push.example.org or .example.org (%q is none)", n)
		}
	}
	return nil
}

// endpoint checks another address of an interface; "" is the usual one.
func endpoint(s string) error {
	if u, err := url.Parse(s); s != "" && (err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("use an address that begins with https://")
	}
	return nil
}

func publicURL(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(strings.TrimSuffix(s, "/"))
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.Path != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf("use the address that people open, as in https://sokone.example, without a path")
	}
	return u.String(), nil
}

// contact falls back to the public address where that is https: it too leads to
// the operator.
func contact(s, publicURL string) (string, error) {
	if s == "" {
		if fallback, err := push.CheckContact(publicURL); err == nil && strings.HasPrefix(publicURL, "https://") {
			return fallback, nil
		}
		return "", nil
	}
	return push.CheckContact(s)
}

func rate(s string) (int, time.Duration, error) {
	if s == Off {
		return 0, 0, nil
	}
	count, per, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(count)
	span, known := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[per]
	if err != nil || n < 1 || !known {
		return 0, 0, fmt.Errorf("use a number per s, m or h, as in 120/m, or off")
	}
	return n, span, nil
}

func networks(texts []string) ([]netip.Prefix, error) {
	var ps []netip.Prefix
	for _, t := range texts {
		if t = strings.TrimSpace(t); t == "" {
			continue
		}
		p, err := netip.ParsePrefix(t)
		if err != nil {
			a, addrErr := netip.ParseAddr(t)
			if addrErr != nil {
				return nil, fmt.Errorf("use networks as in 192.168.0.0/16,fd00::/8 (%q is none)", t)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		ps = append(ps, p.Masked())
	}
	return ps, nil
}
