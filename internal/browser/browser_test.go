package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// limit is how long the tests of one browser may take.
const limit = 4 * time.Minute

// required makes what is missing a fault rather than a reason to skip.
var required = os.Getenv("SOKONE_BROWSER_TESTS") == "required"

func TestFirefox(t *testing.T)  { run(t, "firefox.test.mjs", "FIREFOX", "firefox-esr", "firefox") }
func TestChromium(t *testing.T) { run(t, "chromium.test.mjs", "CHROMIUM", "chromium", "google-chrome") }
func TestPWA(t *testing.T)      { run(t, "pwa.test.mjs", "CHROMIUM", "chromium", "google-chrome") }
func TestWorker(t *testing.T)   { run(t, "worker.test.mjs", "CHROMIUM", "chromium", "google-chrome") }
func TestVerdict(t *testing.T)  { node(t, "verdict.test.mjs") }

// run runs a script of testdata with the server's binary and a browser in its
// environment.
func run(t *testing.T, script, variable string, browsers ...string) {
	browser := find(t, browsers...)
	if _, err := os.Stat("testdata/node_modules/puppeteer-core"); err != nil {
		missing(t, "the packages of internal/browser/testdata; npm ci installs them")
	}
	binary := filepath.Join(t.TempDir(), "sokone")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/sokone/sokone/cmd/sokone").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	node(t, script, "SOKONE_BINARY="+binary, variable+"="+browser)
}

// node runs a script of testdata.
func node(t *testing.T, script string, env ...string) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, find(t, "node"), "--test", "--test-reporter=spec", script)
	cmd.Dir = "testdata"
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("%s: %v", script, err)
	}
}

func find(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, names[0])
	return ""
}

func missing(t *testing.T, what string) {
	t.Helper()
	if required {
		t.Fatalf("%s is missing", what)
	}
	t.Skipf("%s is missing; `make test` installs it", what)
}
