package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sokone/sokone/internal/app"
	"github.com/sokone/sokone/internal/config"
)

// An operator who has made two mistakes is told of both at once.
func TestFaultsOfTheShopsFileAreToldWithTheOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shops.yaml")
	if err := os.WriteFile(file, []byte("shops:\n  - name: a\n    host: a b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := app.Shops(config.Config{Contact: "nonsense", ShopsFile: file}, app.Options{})
	if err == nil || !strings.Contains(err.Error(), "SOKONE_CONTACT") || !strings.Contains(err.Error(), "line 3: host") {
		t.Errorf("%v", err)
	}
}
