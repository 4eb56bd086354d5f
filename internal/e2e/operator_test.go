package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrongConfigurationRefusesToStartAndNamesTheVariable(t *testing.T) {
	for _, setting := range []string{
		"SOKONE_LISTEN=nonsense", "SOKONE_PUBLIC_URL=sokone.example", "SOKONE_PUBLIC_URL=https://a.example/path", "SOKONE_CONTACT=me", "SOKONE_CONTACT=mailto:op@localhost",
		"SOKONE_DETECT_CRON=often", "SOKONE_DISPATCH_CRON=61 * * * *", "SOKONE_DISPATCH_CRON=TZ=UTC", "SOKONE_DETECT_CRON=0 0 30 2 *", "SOKONE_PUSH_HOSTS=https://push.example/x", "SOKONE_RAKUTEN_ENDPOINT=nonsense", "SOKONE_PUBLIC_URL=https://:8080", "SOKONE_PUBLIC_URL=https://a.example?", "SOKONE_DATA=/dev/null/x", "SOKONE_DATA=", "SOKONE_POLL_INTERVAL=soon", "SOKONE_POLL_INTERVAL=-1s", "SOKONE_POLL_FASTEST=1h", "SOKONE_POLL_SLOWEST=1m", "SOKONE_POLL_RATE=fast", "SOKONE_RETENTION=1h", "SOKONE_HOST_INTERVAL=2", "SOKONE_LEASE=0s",
		"SOKONE_OUTBOX_MAX_RETRY=0", "SOKONE_OUTBOX_MAX_RETRY=many", "SOKONE_PUSH_TTL=2h", "SOKONE_RATE_LIMIT=fast", "SOKONE_RATE_LIMIT=0/m", "SOKONE_MAX_WATCHES=0",
		"SOKONE_ALLOW_NETWORKS=10.0.0.0/99", "SOKONE_TRUSTED_PROXIES=proxy", "SOKONE_ROBOTS=maybe", "SOKONE_SHOPS_FILE=/nowhere/shops.yaml", "SOKONE_RAKUTEN_ACCESS_KEY=alone", "SOKONE_LOG_FORMAT=xml", "SOKONE_LOG_LEVEL=loud", "SOKONE_VAPID_PUBLIC_KEY=abc",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(binary, "serve") // of two settings of one variable, the last counts
			cmd.Env = []string{"SOKONE_DATA=" + t.TempDir(), "SOKONE_LISTEN=127.0.0.1:0", setting}
			out, err := cmd.CombinedOutput()
			name, _, _ := strings.Cut(setting, "=")
			if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), name) {
				t.Errorf("%v, and said: %s", err, out)
			}
		})
	}
}

func TestBackupWhileRunningAndRestore(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	id := d.watch("tea", targetYen(900))
	file := filepath.Join(t.TempDir(), "copy.db")
	w.run("backup", file)
	if _, err := w.command("backup", file); err == nil {
		t.Error("a backup was overwritten")
	}
	d.must("DELETE", "/watches/"+id, nil, 204)
	w.stop()
	if _, err := w.command("restore", file); err == nil {
		t.Error("a database was overwritten by a restore")
	}
	if err := os.WriteFile(file+".bad", []byte("SQLite format 3\x00 and no more"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"sokone.db", "sokone.db-wal", "sokone.db-shm"} {
		if err := os.Remove(filepath.Join(w.dir, f)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	// The database has vanished from a directory that had one: no fresh start.
	if out, err := exec.Command(binary, "serve", "--data", w.dir, "--listen", "127.0.0.1:0").CombinedOutput(); err == nil || !strings.Contains(string(out), "missing") {
		t.Errorf("started over a lost database: %v %s", err, out)
	}
	if _, err := w.command("restore", file+".bad"); err == nil {
		t.Error("a damaged file was restored")
	}
	w.run("restore", file)
	w.start()
	if got := d.must("GET", "/watches", nil, 200)["watches"].([]any); len(got) != 1 {
		t.Errorf("after the restore %d watches", len(got))
	}
	w.shop.price("tea", 850)
	w.detect()
	w.dispatch()
	equal(t, "pushes", d.prices(), "850 JPY")
}

func TestADatabaseNewerThanTheBinary(t *testing.T) {
	w := newWorld(t)
	w.stop()
	w.sql("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
	out, err := w.command("serve")
	if err == nil || !strings.Contains(err.Error(), "9999") || !strings.Contains(err.Error(), "newer sokone") {
		t.Errorf("%v %s", err, out)
	}
	w.sql("DELETE FROM goose_db_version WHERE version_id = 9999")
}

func TestCheckFindsWhatIsBroken(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", targetYen(900))
	w.sql("UPDATE watches SET notified_at = '2026-01-01T00:00:00.000Z', notified_price = 1; INSERT INTO outbox (event_id, user_id, watch_id, listing_id, trigger, channel, status, reason, detected_at, detected_payload_json) SELECT 'X', user_id, id, listing_id, 'target_price', 'webpush', 'dropped', 'expired', '2026-01-01T00:00:00.000Z', '{\"schema\":77}' FROM watches")
	out, err := w.command("check")
	if err == nil || !strings.Contains(out, "last_notified") || !strings.Contains(out, "snapshot") {
		t.Errorf("%v %s", err, out)
	}
	w.sql("UPDATE watches SET notified_at = NULL, notified_price = NULL; DELETE FROM outbox")
}

func TestQuoteCommand(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1298)
	q := w.run("quote", w.shop.url("tea"))
	price := q["price"].(map[string]any)
	if price["amount"] != "1298" || price["currency"] != "JPY" || q["found_by"] != "json-ld" || q["adapter"] != "page" || len(q["candidates"].([]any)) == 0 {
		t.Errorf("quote %v", q)
	}
	w.shop.set("gone", page{Status: 410, Raw: "<h1>Gone</h1>"})
	w.shop.set("wall", page{Status: 403, Raw: "<h1>No</h1>"})
	w.shop.set("slow", page{Status: 429, Raw: "<h1>Slow</h1>"})
	w.shop.set("down", page{Status: 500, Raw: "<h1>Down</h1>"})
	w.shop.set("none", page{Raw: "<!doctype html><html><body>" + strings.Repeat("words ", 500) + "</body></html>"})
	for address, kind := range map[string]string{
		w.shop.url("gone"): "empty", w.shop.url("wall"): "blocked", w.shop.url("slow"): "rate_limited", w.shop.url("down"): "server", w.shop.url("none"): "parse",
		"http://10.0.0.1/p": "refused", "ftp://shop.example/p": "refused", "http://169.254.169.254/latest": "refused", "not an address": "refused", "http://127.0.0.1:1/p": "network",
	} {
		out, err := w.command("quote", address)
		var v struct {
			Error struct{ Kind, Message string }
		}
		if err == nil || json.Unmarshal([]byte(out), &v) != nil || v.Error.Kind != kind || v.Error.Message == "" {
			t.Errorf("%s: %v %s, want %s", address, err, out, kind)
		}
	}
}

func TestVAPIDKeys(t *testing.T) {
	w := newWorld(t)
	shown := w.run("vapid")
	if shown["public_key"] != w.device().must("GET", "/push/key", nil, 200)["public_key"] || shown["private_key"] != nil {
		t.Errorf("vapid %v", shown)
	}
	info, err := os.Stat(filepath.Join(w.dir, "vapid.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(w.dir, "sokone.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the database file: %v %v", info, err)
	}
}

func TestHealthAndMetrics(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", targetYen(900))
	w.shop.price("tea", 850)
	w.detect()
	w.dispatch()
	get := func(path, token string) (int, string) {
		req, err := http.NewRequest("GET", w.server.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := get(path, ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _ := get("/metrics", ""); status != 401 {
		t.Errorf("/metrics without the token: %d", status)
	}
	if status, _ := get("/metrics", "wrong"); status != 401 {
		t.Errorf("/metrics with a wrong token: %d", status)
	}
	status, body := get("/metrics", "operator")
	for _, want := range []string{`sokone_outbox_entries{status="sent"} 1`, `sokone_outbox_open 0`, `sokone_outbox_oldest_due_seconds 0`, `sokone_things{thing="watches"} 1`, `sokone_open_circuits 0`} {
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("/metrics lacks %q", want)
		}
	}
	out, err := exec.Command("env", append(append([]string{"-i"}, w.env...), "SOKONE_LISTEN="+strings.TrimPrefix(w.server.url, "http://"), binary, "healthcheck")...).CombinedOutput()
	if err != nil {
		t.Errorf("healthcheck: %v %s", err, out)
	}
}

func TestNothingSecretIsLogged(t *testing.T) {
	w := newWorld(t)
	w.shop.price("tea", 1000)
	d := w.subscribed()
	d.watch("tea", targetYen(900))
	w.shop.price("tea", 850)
	w.detect()
	w.dispatch()
	d.must("POST", "/push/test", nil, 200)
	w.stop()
	logs := w.server.logs()
	if !strings.Contains(logs, "api: request") {
		t.Fatal("requests are not logged at debug: this test tests nothing")
	}
	for name, secret := range map[string]string{"device token": d.token, "endpoint": d.sub.Endpoint, "auth": d.sub.Keys.Auth, "operator's token": "Bearer operator"} {
		if strings.Contains(logs, secret) {
			t.Errorf("the %s is in the log", name)
		}
	}
}

func TestTheDemoShowsTheMainJob(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(binary, "demo", "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var said strings.Builder
	buffer := make([]byte, 4096)
	for !strings.Contains(said.String(), "Ctrl-C") {
		n, err := out.Read(buffer)
		if err != nil {
			t.Fatalf("the demo said %q, then %v", said.String(), err)
		}
		said.Write(buffer[:n])
	}
	for _, want := range []string{"http://localhost:", "?link=DEMO", "/phone"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the demo does not say %q:\n%s", want, said.String())
		}
	}
}

func TestACommandOnADirectoryWithoutADatabaseMakesNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{{"check"}, {"backup", filepath.Join(dir, "copy.db")}} {
		cmd := exec.Command(binary, append(args, "--data", filepath.Join(dir, "wrong"))...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "SOKONE_DATA") {
			t.Errorf("%v: %v %s", args, err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "wrong")); err == nil {
		t.Error("a directory was made")
	}
}
