// Package custom reads shops that an operator describes in a file: which
// addresses, and where on their pages the price, the currency, the availability
// and the name stand. The file is checked whole at start, and each fault names
// its line and field.
package custom

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/andybalholm/cascadia"
	"github.com/theory/jsonpath"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/idna"

	"github.com/sokone/sokone/internal/money"
)

// Shop is one described shop.
type Shop struct {
	Name         string
	host         string // "shop.example", or "*.shop.example" for all below
	path         *regexp.Regexp
	price        source
	currency     source
	availability source
	product      source
}

// source is where a text stands: in an element, in the page's JSON, or always
// the same.
type source struct {
	css   cascadia.Selector
	attr  string
	json  *jsonpath.Path
	in    cascadia.Selector // with json: the script that holds it; nil for the whole answer
	value string
	text  string // as the file has it
}

// Load reads the file.
func Load(file string) ([]Shop, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	shops, err := parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return shops, nil
}

// maxFile is more than any honest file of shops holds.
const maxFile = 1 << 20

func parse(r io.Reader) ([]Shop, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	var root yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(data))
	if err := documents.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty; it begins with 'shops:'")
		}
		return nil, err
	}
	var second yaml.Node
	if err := documents.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, err
		}
		return nil, at(&second, "the file", "must be one document; write all shops below one 'shops:'")
	}
	top, err := fields(root.Content[0], "the file", "shops")
	if err != nil {
		return nil, err
	}
	list := top["shops"]
	if list == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		return nil, at(root.Content[0], "shops", "must be a list of shops")
	}
	var shops []Shop
	var faults []error
	seen := map[string]bool{}
	for _, n := range list.Content {
		s, err := shopOf(n)
		if err == nil && seen[s.Name] {
			err = at(n, "name", "%q is there twice", s.Name)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		seen[s.Name] = true
		shops = append(shops, s)
	}
	return shops, errors.Join(faults...)
}

// at is a fault with its line and field.
func at(n *yaml.Node, field, format string, args ...any) error {
	return fmt.Errorf("line %d: %s: %s", n.Line, field, fmt.Sprintf(format, args...))
}

// fields reads a mapping that may hold only the named keys.
func fields(n *yaml.Node, what string, known ...string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, at(n, what, "must be a mapping with %s", strings.Join(known, ", "))
	}
	out := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		ok := false
		for _, k := range known {
			ok = ok || key.Value == k
		}
		if !ok {
			return nil, at(key, key.Value, "is not known here; use %s", strings.Join(known, ", "))
		}
		if out[key.Value] != nil {
			return nil, at(key, key.Value, "is there twice")
		}
		out[key.Value] = n.Content[i+1]
	}
	return out, nil
}

var (
	shopName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	hostName = regexp.MustCompile(`^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:[0-9]+)?$`)
)

// hostOf is a host as addresses come to the adapter: in lower case and ASCII.
func hostOf(s string) string {
	below, wild := strings.CutPrefix(s, "*.")
	if ascii, err := idna.Lookup.ToASCII(below); err == nil {
		below = ascii
	}
	if below = strings.ToLower(below); wild {
		return "*." + below
	}
	return below
}

func shopOf(n *yaml.Node) (Shop, error) {
	f, err := fields(n, "shop", "name", "host", "path", "price", "currency", "availability", "product")
	if err != nil {
		return Shop{}, err
	}
	text := func(key string) string {
		if v := f[key]; v != nil && v.Kind == yaml.ScalarNode {
			return v.Value
		}
		return ""
	}
	s := Shop{Name: text("name"), host: hostOf(text("host"))}
	if !shopName.MatchString(s.Name) {
		return s, at(cmp.Or(f["name"], n), "name", "must be a short word of lower-case letters, digits and hyphens")
	}
	if !hostName.MatchString(s.host) {
		return s, at(cmp.Or(f["host"], n), "host", "must be a host name, as in shop.example or *.shop.example")
	}
	if s.path, err = regexp.Compile(text("path")); err != nil {
		return s, at(f["path"], "path", "is no regular expression: %v", err)
	}
	for _, field := range []struct {
		key      string
		to       *source
		required bool
	}{{"price", &s.price, true}, {"currency", &s.currency, false}, {"availability", &s.availability, false}, {"product", &s.product, false}} {
		if f[field.key] == nil {
			if field.required {
				return s, at(n, field.key, "is missing")
			}
			continue
		}
		if *field.to, err = sourceOf(f[field.key], field.key); err != nil {
			return s, err
		}
	}
	if s.price.value != "" {
		return s, at(f["price"], "price", "cannot be a fixed value: use css or json")
	}
	if v := s.currency.value; v != "" && !money.ValidCurrency(v) {
		return s, at(f["currency"], "currency", "%q is no ISO 4217 code", v)
	}
	return s, nil
}

func sourceOf(n *yaml.Node, key string) (source, error) {
	f, err := fields(n, key, "css", "attr", "json", "in", "value")
	if err != nil {
		return source{}, err
	}
	s := source{text: plainText(n)}
	ways := 0
	for _, name := range []string{"css", "json", "value"} {
		if f[name] != nil {
			ways++
		}
	}
	if ways != 1 {
		return s, at(n, key, "needs one of css, json and value")
	}
	for _, name := range []string{"css", "attr", "json", "in", "value"} {
		switch v := f[name]; {
		case v == nil:
		case v.Kind != yaml.ScalarNode:
			return s, at(v, key+"."+name, "must be a text")
		case strings.TrimSpace(v.Value) == "":
			return s, at(v, key+"."+name, "is empty")
		case name == "attr" && f["css"] == nil:
			return s, at(v, key+"."+name, "goes with css")
		case name == "in" && f["json"] == nil:
			return s, at(v, key+"."+name, "goes with json")
		}
	}
	selector := func(name string) (cascadia.Selector, error) {
		sel, err := cascadia.Compile(f[name].Value)
		if err != nil {
			return nil, at(f[name], key+"."+name, "is no CSS selector: %v", err)
		}
		return sel, nil
	}
	if f["css"] != nil {
		if s.css, err = selector("css"); err != nil {
			return s, err
		}
	}
	if f["in"] != nil {
		if s.in, err = selector("in"); err != nil {
			return s, err
		}
	}
	if f["json"] != nil {
		if s.json, err = jsonpath.Parse(f["json"].Value); err != nil {
			return s, at(f["json"], key+".json", "is no JSON path (RFC 9535): %v", err)
		}
	}
	if f["attr"] != nil {
		s.attr = f["attr"].Value
	}
	if f["value"] != nil {
		s.value = f["value"].Value
	}
	return s, nil
}

// plainText is a source in one line, as in "css .now, attr content".
func plainText(n *yaml.Node) string {
	var parts []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		parts = append(parts, n.Content[i].Value+" "+n.Content[i+1].Value)
	}
	return strings.Join(parts, ", ")
}
