package page

import (
	"net/url"
	"regexp"
	"strings"
)

// tracking are query parameters that say where a visitor came from and nothing
// about the product.
var tracking = regexp.MustCompile(`(?i)^(utm_.*|gclid|gbraid|wbraid|dclid|fbclid|msclkid|yclid|ttclid|twclid|igshid|mc_[ce]id|_ga|_gl|gad_.*|srsltid|ref|ref_|ref_src|aff_?id|affiliate.*|campaign(id)?|cmpid|pk_.*|piwik_.*|scid|rafcid|rt|s-id|sc_[a-z]+|spm|scm|_branch_.*|vero_.*|hsCtaTracking|_hs.*|trk.*|clickid|irclickid|zanpid)$`)

// Canonical is one form of an address: lower-case host without "www." or a
// default port, no fragment, no tracking parameters, the others in order.
func Canonical(u *url.URL) string {
	c := *u
	c.Fragment, c.RawFragment, c.User = "", "", nil
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
	q := c.Query()
	for name := range q {
		if tracking.MatchString(name) {
			q.Del(name)
		}
	}
	c.RawQuery, c.ForceQuery = q.Encode(), false
	return c.String()
}

// samePage reports whether two addresses name one page, whatever their scheme,
// "www.", trailing slash and tracking parameters.
func samePage(a, b *url.URL) bool {
	plain := func(u *url.URL) string {
		c, err := url.Parse(Canonical(u))
		if err != nil {
			return u.String()
		}
		return strings.TrimPrefix(c.Host, "www.") + strings.TrimSuffix(c.EscapedPath(), "/") + "?" + c.RawQuery
	}
	return plain(a) == plain(b)
}

// canonicalAddress is what the page says its own address is, if that is on the
// same site, is not the front page, and keeps the query that chose a variant.
func (d *document) canonicalAddress() string {
	link := d.canonical
	if link == nil || d.url == nil || siteOf(link) != siteOf(d.url) || strings.Trim(link.Path, "/") == "" {
		return ""
	}
	for name := range d.url.Query() {
		if !tracking.MatchString(name) && !link.Query().Has(name) {
			return "" // the query may choose the variant: the canonical link is the group's
		}
	}
	same := *link
	same.Scheme = d.url.Scheme
	return Canonical(&same)
}

func siteOf(u *url.URL) string {
	h := strings.ToLower(u.Host)
	for _, p := range []string{"www.", "m.", "sp.", "mobile."} {
		h = strings.TrimPrefix(h, p)
	}
	return h
}
