package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sokone/sokone/"

// allowed are the arrows between packages; what a package does not name it may
// not import.
var allowed = map[string][]string{
	"internal/money":         {},
	"internal/shop":          {"internal/money"},
	"internal/watch":         {"internal/money", "internal/shop"},
	"internal/outbox":        {"internal/money", "internal/shop", "internal/watch"},
	"internal/fetch":         {"internal/shop"},
	"internal/detect":        {"internal/shop", "internal/watch", "internal/outbox"},
	"internal/dispatch":      {"internal/money", "internal/shop", "internal/watch", "internal/outbox"},
	"internal/push":          {"internal/outbox", "internal/fetch"},
	"internal/push/pushtest": {},
	"internal/store":         {"internal/money", "internal/shop", "internal/watch", "internal/outbox", "migrations"},
	"internal/api":           {"internal/money", "internal/shop", "internal/watch", "internal/outbox"},
	"internal/imageproxy":    {"internal/fetch"},
	"internal/browser":       {},
	"internal/config":        {"internal/push"},
	"internal/metrics":       {"internal/outbox", "internal/store"},
	"internal/shop/page":     {"internal/money", "internal/shop", "internal/fetch"},
	"internal/shop/custom":   {"internal/money", "internal/shop", "internal/fetch", "internal/shop/jsonapi", "internal/shop/page"},
	"internal/shop/demo":     {"internal/shop"},
}

// outermost may import anything of ours.
var outermost = []string{"internal/app", "cmd/sokone", "internal/e2e"}

func TestArrowsPointInwards(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v %s", err, stderr.String())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module)
		may, known := allowed[name]
		for _, i := range p.Imports {
			dep, ours := strings.CutPrefix(i, module)
			switch {
			case !ours:
			case slices.Contains(outermost, dep) && name != "cmd/sokone":
				t.Errorf("%s imports %s: nothing imports the outermost packages", name, dep)
			case known && !slices.Contains(may, dep):
				t.Errorf("%s imports %s: arrows point inwards", name, dep)
			}
		}
	}
}

// A bare clock slips past the one that tests set. Only where it is the default
// of an injected one may time.Now be named.
func TestOnlyInjectedClocks(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, dir := range []string{"internal/money", "internal/shop", "internal/watch", "internal/outbox", "internal/detect", "internal/dispatch", "internal/store", "internal/api", "internal/fetch", "internal/metrics"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Now" {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
						t.Errorf("%s: time.Now; take the clock that is injected", set.Position(s.Pos()))
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
