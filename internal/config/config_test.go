package config_test

import (
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/sokone/sokone/internal/config"
)

// parse reads flags as the command does, so that the defaults are the real ones.
func parse(t *testing.T, args ...string) config.Config {
	t.Helper()
	var c config.Config
	k, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c := parse(t)
	v, err := c.Parse()
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Listen: ":8080", Data: "./data", DetectCron: "* * * * *", DispatchCron: "* * * * *", PollInterval: 30 * time.Minute, HostInterval: 2 * time.Second,
		Robots: "respect", MaxRetry: 8, Lease: 2 * time.Minute, PushTTL: time.Hour, RateLimit: "120/m", PollRate: "12000/m", Retention: 9600 * time.Hour, MaxWatches: 200, LogFormat: "text", LogLevel: "info",
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("defaults %+v,\nwant %+v", c, want)
	}
	if v.RateRequests != 120 || v.RatePer != time.Minute || v.Contact != "" || v.PublicURL != "" || v.LogLevel != slog.LevelInfo || v.AllowNetworks != nil || v.TrustedProxies != nil {
		t.Errorf("values %+v", v)
	}
}

// Every option is a flag and an environment variable, says its help, and is
// named after its variable, so that who knows one knows the other.
func TestEveryOptionIsAFlagAndAVariable(t *testing.T) {
	var c config.Config
	k, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	options := 0
	for _, f := range k.Model.Flags {
		if f.Name == "help" {
			continue
		}
		options++
		if want := "SOKONE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")); len(f.Envs) == 0 || f.Envs[0] != want {
			t.Errorf("--%s is %v in the environment, want %s", f.Name, f.Envs, want)
		}
		if f.Help == "" {
			t.Errorf("--%s says nothing of itself", f.Name)
		}
	}
	if n := reflect.TypeFor[config.Config]().NumField(); options != n {
		t.Errorf("%d flags for %d options", options, n)
	}
}

func TestTheEnvironmentIsRead(t *testing.T) {
	t.Setenv("SOKONE_POLL_INTERVAL", "0s")
	t.Setenv("SOKONE_ALLOW_NETWORKS", "127.0.0.0/8,fd00::/8")
	t.Setenv("OUTBOX_MAX_RETRY", "3")
	c := parse(t)
	if c.PollInterval != 0 || !slices.Equal(c.AllowNetworks, []string{"127.0.0.0/8", "fd00::/8"}) || c.MaxRetry != 3 {
		t.Errorf("%+v", c)
	}
	t.Setenv("SOKONE_OUTBOX_MAX_RETRY", "5")
	if c := parse(t); c.MaxRetry != 5 {
		t.Errorf("the alias wins over SOKONE_OUTBOX_MAX_RETRY: %d", c.MaxRetry)
	}
	if c := parse(t, "--outbox-max-retry=6"); c.MaxRetry != 6 {
		t.Errorf("the environment wins over a flag: %d", c.MaxRetry)
	}
}

func TestWhatIsWrongIsNamedWithItsRemedy(t *testing.T) {
	for name, tc := range map[string]struct {
		set    func(*config.Config)
		fault  string // the variable
		remedy string // what to do
	}{
		"public address without a scheme":   {func(c *config.Config) { c.PublicURL = "sokone.example" }, "SOKONE_PUBLIC_URL", "https://"},
		"public address of another scheme":  {func(c *config.Config) { c.PublicURL = "ftp://sokone.example" }, "SOKONE_PUBLIC_URL", "https://"},
		"public address with a path":        {func(c *config.Config) { c.PublicURL = "https://a.example/sokone" }, "SOKONE_PUBLIC_URL", "without a path"},
		"public address with a query":       {func(c *config.Config) { c.PublicURL = "https://a.example?x=1" }, "SOKONE_PUBLIC_URL", "without a path"},
		"public address with a password":    {func(c *config.Config) { c.PublicURL = "https://a:b@a.example" }, "SOKONE_PUBLIC_URL", "https://"},
		"contact that is no address":        {func(c *config.Config) { c.Contact = "me" }, "SOKONE_CONTACT", "mailto:"},
		"contact by http":                   {func(c *config.Config) { c.Contact = "http://a.example" }, "SOKONE_CONTACT", "https:"},
		"only the public key":               {func(c *config.Config) { c.VAPIDPublicKey = "x" }, "SOKONE_VAPID_PUBLIC_KEY", "both or neither"},
		"only the private key":              {func(c *config.Config) { c.VAPIDPrivateKey = "x" }, "SOKONE_VAPID_PRIVATE_KEY", "both or neither"},
		"detection at no time":              {func(c *config.Config) { c.DetectCron = "" }, "SOKONE_DETECT_CRON", `"off"`},
		"detection with six fields":         {func(c *config.Config) { c.DetectCron = "* * * * * *" }, "SOKONE_DETECT_CRON", "five fields"},
		"dispatch at minute 61":             {func(c *config.Config) { c.DispatchCron = "61 * * * *" }, "SOKONE_DISPATCH_CRON", "five fields"},
		"faster than usual is slower":       {func(c *config.Config) { c.PollFastest = time.Hour }, "SOKONE_POLL_FASTEST", "SOKONE_POLL_INTERVAL"},
		"slower than usual is faster":       {func(c *config.Config) { c.PollSlowest = time.Minute }, "SOKONE_POLL_SLOWEST", "SOKONE_POLL_INTERVAL"},
		"kept for less than a day":          {func(c *config.Config) { c.Retention = time.Hour }, "SOKONE_RETENTION", "24h"},
		"polls without a span":              {func(c *config.Config) { c.PollRate = "100" }, "SOKONE_POLL_RATE", "120/m"},
		"dispatch Off":                      {func(c *config.Config) { c.DispatchCron = "Off" }, "SOKONE_DISPATCH_CRON", `"off"`},
		"a poll interval below zero":        {func(c *config.Config) { c.PollInterval = -1 }, "SOKONE_POLL_INTERVAL", "0s"},
		"a poll interval of a month":        {func(c *config.Config) { c.PollInterval = 720 * time.Hour }, "SOKONE_POLL_INTERVAL", "168h"},
		"a host interval below zero":        {func(c *config.Config) { c.HostInterval = -time.Second }, "SOKONE_HOST_INTERVAL", "0s"},
		"a lease of nothing":                {func(c *config.Config) { c.Lease = 0 }, "SOKONE_LEASE", "1s"},
		"a lease of a day":                  {func(c *config.Config) { c.Lease = 24 * time.Hour }, "SOKONE_LEASE", "1h"},
		"alerts held for more than an hour": {func(c *config.Config) { c.PushTTL = time.Hour + time.Second }, "SOKONE_PUSH_TTL", "1h"},
		"alerts held for no time":           {func(c *config.Config) { c.PushTTL = 0 }, "SOKONE_PUSH_TTL", "1s"},
		"no attempts":                       {func(c *config.Config) { c.MaxRetry = 0 }, "SOKONE_OUTBOX_MAX_RETRY", "1 to 100"},
		"endless attempts":                  {func(c *config.Config) { c.MaxRetry = 101 }, "SOKONE_OUTBOX_MAX_RETRY", "1 to 100"},
		"no watches":                        {func(c *config.Config) { c.MaxWatches = 0 }, "SOKONE_MAX_WATCHES", "1 or more"},
		"a rate in words":                   {func(c *config.Config) { c.RateLimit = "fast" }, "SOKONE_RATE_LIMIT", "120/m"},
		"a rate of nothing":                 {func(c *config.Config) { c.RateLimit = "0/m" }, "SOKONE_RATE_LIMIT", "120/m"},
		"a rate below zero":                 {func(c *config.Config) { c.RateLimit = "-1/m" }, "SOKONE_RATE_LIMIT", "120/m"},
		"a rate without a span":             {func(c *config.Config) { c.RateLimit = "120" }, "SOKONE_RATE_LIMIT", "off"},
		"a rate per day":                    {func(c *config.Config) { c.RateLimit = "120/d" }, "SOKONE_RATE_LIMIT", "s, m or h"},
		"a network of 99 bits":              {func(c *config.Config) { c.AllowNetworks = []string{"10.0.0.0/99"} }, "SOKONE_ALLOW_NETWORKS", "192.168.0.0/16"},
		"a network by name":                 {func(c *config.Config) { c.AllowNetworks = []string{"10.0.0.0/8", "home"} }, "SOKONE_ALLOW_NETWORKS", `"home"`},
		"a proxy by name":                   {func(c *config.Config) { c.TrustedProxies = []string{"proxy"} }, "SOKONE_TRUSTED_PROXIES", `"proxy"`},
		"a Rakuten id without its key":      {func(c *config.Config) { c.RakutenApplicationID = "x" }, "SOKONE_RAKUTEN_ACCESS_KEY", "both or neither"},
		"a Rakuten key without its id":      {func(c *config.Config) { c.RakutenAccessKey = "x" }, "SOKONE_RAKUTEN_APPLICATION_ID", "both or neither"},
		"robots.txt half respected":         {func(c *config.Config) { c.Robots = "maybe" }, "SOKONE_ROBOTS", "respect or ignore"},
		"logs in XML":                       {func(c *config.Config) { c.LogFormat = "xml" }, "SOKONE_LOG_FORMAT", "text or json"},
		"logs that are loud":                {func(c *config.Config) { c.LogLevel = "loud" }, "SOKONE_LOG_LEVEL", "debug, info"},
	} {
		t.Run(name, func(t *testing.T) {
			c := parse(t)
			tc.set(&c)
			_, err := c.Parse()
			if err == nil {
				t.Fatalf("accepted; want a word about %s", tc.fault)
			}
			if m := err.Error(); !strings.Contains(m, tc.fault) || !strings.Contains(m, tc.remedy) || strings.Contains(m, "\n") {
				t.Errorf("%q, want one line that names %s and says %q", m, tc.fault, tc.remedy)
			}
		})
	}
}

func TestValues(t *testing.T) {
	c := parse(t, "--public-url=https://sokone.example/", "--rate-limit=5/h", "--allow-networks=127.0.0.1,10.1.2.3/8", "--trusted-proxies= ::1 ,172.16.0.0/12", "--log-level=debug")
	v, err := c.Parse()
	if err != nil {
		t.Fatal(err)
	}
	if v.PublicURL != "https://sokone.example" || v.RateRequests != 5 || v.RatePer != time.Hour || v.LogLevel != slog.LevelDebug {
		t.Errorf("%+v", v)
	}
	if v.Contact != "https://sokone.example" {
		t.Errorf("contact %q: an https public address serves", v.Contact)
	}
	prefixes := func(ps ...string) (out []netip.Prefix) {
		for _, p := range ps {
			out = append(out, netip.MustParsePrefix(p))
		}
		return out
	}
	if want := prefixes("127.0.0.1/32", "10.0.0.0/8"); !slices.Equal(v.AllowNetworks, want) {
		t.Errorf("networks %v, want %v", v.AllowNetworks, want)
	}
	if want := prefixes("::1/128", "172.16.0.0/12"); !slices.Equal(v.TrustedProxies, want) {
		t.Errorf("proxies %v, want %v", v.TrustedProxies, want)
	}
	c = parse(t, "--public-url=http://192.168.1.5:8080", "--rate-limit=off", "--detect-cron=off", "--dispatch-cron=@every 10s")
	if v, err = c.Parse(); err != nil || v.Contact != "" || v.RateRequests != 0 {
		t.Errorf("%+v %v: an http address is nobody's contact", v, err)
	}
}
