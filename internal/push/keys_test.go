package push_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sokone/sokone/internal/push"
)

func TestKeysAreMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := push.LoadKeys(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("no keys: %v", err)
	}
	first, err := push.LoadOrCreateKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := push.LoadOrCreateKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	if first.Public() != second.Public() || first.Private() != second.Private() || first.ID() != second.ID() {
		t.Error("another pair at the second start")
	}
	info, err := os.Stat(filepath.Join(dir, "vapid.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestKeysOfManyAtOnceAreTheSame(t *testing.T) {
	dir := t.TempDir()
	const n = 32
	var ids [n]string
	var starts sync.WaitGroup
	for i := range n {
		starts.Go(func() {
			k, err := push.LoadOrCreateKeys(dir)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = k.ID()
		})
	}
	starts.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Fatalf("different keys: %v", ids)
		}
	}
}

func TestABrokenKeyFileIsNotReplaced(t *testing.T) {
	good, err := push.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	other, err := push.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"empty":      "",
		"half":       `{"public_key":"` + good.Public()[:20],
		"mismatched": fmt.Sprintf(`{"public_key":%q,"private_key":%q}`, good.Public(), other.Private()),
		"no keys":    `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "vapid.json")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := push.LoadOrCreateKeys(dir)
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v does not name the file", err)
			}
			if now, _ := os.ReadFile(path); string(now) != content {
				t.Error("the file was changed")
			}
		})
	}
}

func TestAKeyFileThatOthersCanReadIsClosed(t *testing.T) {
	dir := t.TempDir()
	if _, err := push.LoadOrCreateKeys(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "vapid.json")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := push.LoadOrCreateKeys(dir); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestParseKeys(t *testing.T) {
	k, err := push.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	other, err := push.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := base64.RawURLEncoding.DecodeString(k.Public())
	private, _ := base64.RawURLEncoding.DecodeString(k.Private())
	for name, pair := range map[string][2]string{
		"url-safe": {k.Public(), k.Private()},
		"padded":   {base64.URLEncoding.EncodeToString(raw), base64.URLEncoding.EncodeToString(private)},
		"standard": {base64.StdEncoding.EncodeToString(raw), base64.StdEncoding.EncodeToString(private)},
	} {
		got, err := push.ParseKeys(pair[0], pair[1])
		if err != nil || got.ID() != k.ID() || got.Public() != k.Public() {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	zero := base64.RawURLEncoding.EncodeToString(make([]byte, 32))
	for name, pair := range map[string][2]string{
		"mismatched":     {k.Public(), other.Private()},
		"swapped":        {k.Private(), k.Public()},
		"no public key":  {"", k.Private()},
		"no private key": {k.Public(), ""},
		"zero":           {k.Public(), zero},
		"no base64":      {k.Public(), "!" + k.Private()[1:]},
		"cut short":      {k.Public()[:60], k.Private()},
	} {
		if _, err := push.ParseKeys(pair[0], pair[1]); err == nil {
			t.Errorf("%s: taken", name)
		} else if strings.Contains(err.Error(), k.Private()) {
			t.Errorf("%s: the error tells the private key", name)
		}
	}
}

func TestKeysDoNotPrintThePrivateHalf(t *testing.T) {
	k, err := push.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(format, k); strings.Contains(s, k.Private()) {
			t.Errorf("%s prints the private key", format)
		}
	}
	if k.ID() == "" || len(k.ID()) > 16 {
		t.Errorf("id %q", k.ID())
	}
}

func TestCheckContact(t *testing.T) {
	for in, want := range map[string]string{
		"mailto:ops@example.org":      "mailto:ops@example.org",
		" MAILTO:ops@example.org ":    "mailto:ops@example.org",
		"https://example.org/contact": "https://example.org/contact",
		"HTTPS://Example.org":         "https://example.org",
		"https://203.0.113.9/":        "https://203.0.113.9/",
	} {
		if got, err := push.CheckContact(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"", "ops@example.org", "mailto:", "mailto:ops", "mailto:@example.org", "mailto:mailto:ops@example.org",
		"mailto:ops@localhost", "mailto:ops@nas.local", "mailto:ops@example.invalid", "mailto:ops@example.org?subject=x",
		"mailto:Ops <ops@example.org>", "mailto:a@example.org,b@example.org", "http://example.org", "https://", "https://localhost/",
		"https://localhost:8080", "https://nas.local/", "https://x.invalid", "https://nas", "https://127.0.0.1/", "https://192.168.1.2",
		"https://[::1]/", "https://user:pw@example.org/", "ftp://example.org", "mailto:ops@example.org\r\nX: y", "https://example.org/ \"",
	} {
		if got, err := push.CheckContact(in); err == nil {
			t.Errorf("%q: taken as %q", in, got)
		}
	}
}
