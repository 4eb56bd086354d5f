package page

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// tracking are query parameters that say where a visitor came from and nothing
// about the product.
var tracking = regexp.MustCompile(`(?i)^(utm_.*|gclid|gbraid|wbraid|dclid|fbclid|msclkid|yclid|ttclid|twclid|igshid|mc_[ce]id|_ga|_gl|gad_.*|srsltid|amp|ref_|ref_src|iasid|_pos|_sid|_ss|_fid|_psq|pr_[a-z_]+|aff_?id|affiliate.*|campaign(id)?|cmpid|campaign_id|pk_.*|mtm_.*|at_(campaign|medium|custom.*)|wt_mc|cm_mmc.*|gclsrc|mkt_tok|_kx|s_kwcid|ef_id|cjevent|awc|irgwc|ran(SiteID|MID|EAID)|mibextid|igsh|li_fat_id|l-id|ldtag_cl|s_cid|epik|rdt_cid|vmcid|PHPSESSID|jsessionid|piwik_.*|scid|rafcid|s-id|sc_[a-z]+|spm|scm|_branch_.*|vero_.*|hsCtaTracking|_hs.*|trk.*|clickid|irclickid|zanpid)$`)

// form is how a large shop writes the address of one product: its number, in a
// path that else holds what a search or a title put there.
type form struct {
	host *regexp.Regexp
	path *regexp.Regexp
	to   string   // the path of the product
	keep []string // query parameters that choose what is bought
}

var forms = []form{
	{regexp.MustCompile(`(?:^|\.)(amazon\.(?:com|ca|com\.mx|com\.br|co\.uk|de|fr|it|es|nl|se|pl|com\.be|com\.tr|ae|sa|eg|in|co\.jp|sg|com\.au))$`),
		regexp.MustCompile(`/(?:dp|gp/product|gp/aw/d|gp/offer-listing|exec/obidos/ASIN|o/ASIN)/([A-Z0-9]{10})(?:/|$)`), "/dp/$1", nil},
	{regexp.MustCompile(`(?:^|\.)(ebay\.(?:com|ca|co\.uk|de|fr|it|es|nl|at|ch|ie|pl|com\.au|com\.sg|com\.my|com\.hk|ph))$`),
		regexp.MustCompile(`^/itm/(?:[^/]+/)?([0-9]{9,})/?$`), "/itm/$1", []string{"var"}},
	{regexp.MustCompile(`(?:^|\.)(walmart\.com)$`), regexp.MustCompile(`^/ip/(?:[^/]+/)?([0-9]+)/?$`), "/ip/$1", nil},
	{regexp.MustCompile(`(?:^|\.)(etsy\.com)$`), regexp.MustCompile(`^(?:/[a-z]{2})?/listing/([0-9]+)(?:/|$)`), "/listing/$1", nil},
}

// known writes the address of a known shop's product in that shop's one form.
func known(u *url.URL) *url.URL {
	for _, f := range forms {
		domain := f.host.FindStringSubmatch(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")))
		number := f.path.FindStringSubmatchIndex(u.Path)
		if domain == nil || number == nil || u.Port() != "" {
			continue
		}
		q := u.Query()
		for name := range q {
			if !slices.Contains(f.keep, name) {
				q.Del(name)
			}
		}
		return &url.URL{Scheme: u.Scheme, Host: "www." + domain[1], Path: string(f.path.ExpandString(nil, f.to, u.Path, number)), RawQuery: q.Encode()}
	}
	return u
}

// Canonical is one form of an address that leads to the page: lower-case host
// without a default port, no fragment, no tracking parameters, the others in
// order, and nothing escaped that need not be (RFC 3986 section 6.2.2).
func Canonical(u *url.URL) string {
	c := *known(u)
	c.Fragment, c.RawFragment, c.User = "", "", nil
	if !strings.Contains(strings.ToLower(c.RawPath), "%2f") { // an escaped slash is no slash
		c.RawPath = ""
	}
	host, port := strings.ToLower(strings.TrimSuffix(c.Hostname(), ".")), c.Port()
	if port == "443" && c.Scheme == "https" || port == "80" && c.Scheme == "http" {
		port = ""
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if c.Host = host; port != "" {
		c.Host += ":" + port
	}
	if c.Path == "" {
		c.Path = "/"
	}
	c.RawQuery, c.ForceQuery = plainQuery(c.RawQuery), false
	return c.String()
}

// plainQuery is a query without tracking parameters, in order. What holds a
// semicolon is kept as it is: some shops part their parameters by it.
func plainQuery(raw string) string {
	var pairs []string
	for _, pair := range strings.Split(wholeEscapes(raw), "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, _ = url.QueryUnescape(name) // its escapes are whole
		value, _ = url.QueryUnescape(value)
		switch {
		case pair == "" || tracking.MatchString(name) || reference(name, value):
		case strings.Contains(pair, ";"):
			pairs = append(pairs, pair)
		default:
			pairs = append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(value))
		}
	}
	slices.SortStableFunc(pairs, func(a, b string) int {
		a, _, _ = strings.Cut(a, "=")
		b, _, _ = strings.Cut(b, "=")
		return strings.Compare(a, b)
	})
	return strings.Join(pairs, "&")
}

// wholeEscapes escapes the percent signs that begin no escape.
func wholeEscapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		b.WriteByte(s[i])
		if s[i] == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])) {
			b.WriteString("25")
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// reference reports a "ref" that says where a visitor came from: words, as in
// "homepage" or "nav_logo". One with digits may be the number of the product,
// which French and Spanish shops call so.
func reference(name, value string) bool {
	return strings.EqualFold(name, "ref") && !strings.ContainsAny(value, "0123456789")
}

// Identity is what all addresses of one page have in common. It need not lead
// anywhere: "www." and a slash at the end are no part of it.
func Identity(u *url.URL) string {
	c, err := url.Parse(Canonical(u))
	if err != nil {
		return u.String()
	}
	c.Host = strings.TrimPrefix(c.Host, "www.")
	c.Path, c.RawPath = strings.TrimSuffix(c.Path, "/"), strings.TrimSuffix(c.RawPath, "/")
	return c.String()
}

// samePage reports whether two addresses name one page, whatever their scheme.
func samePage(a, b *url.URL) bool { return pageKey(a) == pageKey(b) }

// here is the key of the page's own address.
func (d *document) here() string {
	if d.key == "" && d.url != nil {
		d.key = pageKey(d.url)
	}
	return d.key
}

// pageKey is Identity without the scheme.
func pageKey(u *url.URL) string {
	_, rest, _ := strings.Cut(Identity(u), "://")
	return rest
}

// canonicalAddress is what the page says its own address is; nil where that is not
// believed. It is on the same site, is neither the front page nor a page above
// this one (shops link their products' pages to a category by mistake: two
// products would be one), and keeps the query that chose a variant.
func (d *document) canonicalAddress() *url.URL {
	link := d.canonical
	if link == nil || d.url == nil || siteOf(link) != siteOf(d.url) || d.above(link) {
		return nil
	}
	for name := range d.url.Query() {
		if !tracking.MatchString(name) && !link.Query().Has(name) {
			return nil // the query may choose the variant: the canonical link is the group's
		}
	}
	same := *link
	same.Scheme = d.url.Scheme
	return &same
}

// above reports whether a link leads to a page that holds this one: the front
// page, a folder of its path that has no number, or a step of the breadcrumbs
// before the last.
func (d *document) above(link *url.URL) bool {
	folder := strings.TrimSuffix(link.Path, "/") + "/"
	if folder == "/" && link.RawQuery == "" {
		return true
	}
	if strings.HasPrefix(d.url.Path, folder) && strings.TrimSuffix(d.url.Path, "/")+"/" != folder && !strings.ContainsAny(path.Base(folder), "0123456789") {
		return true
	}
	for _, list := range d.roots {
		if !list.is("breadcrumblist") {
			continue
		}
		steps := list.things("itemlistelement")
		for i, step := range steps {
			at := d.resolve(step.text("item"))
			for _, item := range step.things("item") {
				at = d.resolve(first(item.text("url"), item.id))
			}
			if i+1 < len(steps) && at != nil && samePage(at, link) {
				return true
			}
		}
	}
	return false
}

func siteOf(u *url.URL) string {
	h := strings.ToLower(u.Host)
	for _, p := range []string{"www.", "m.", "sp.", "s.", "mobile.", "amp."} {
		h = strings.TrimPrefix(h, p)
	}
	return h
}
