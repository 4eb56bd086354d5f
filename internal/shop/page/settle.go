package page

import (
	"context"
	"net/url"
	"regexp"
	"strings"

	"github.com/sokone/sokone/internal/fetch"
	"github.com/sokone/sokone/internal/shop"
)

// frontPath is the path of a front page, of a language too.
var frontPath = regexp.MustCompile(`^/(?:[a-z]{2}(?:[-_][a-zA-Z]{2})?/?)?$`)

// toFrontPage reports an address of something that led to a shop's front page:
// the product is not there, whatever the front page sells.
func toFrontPage(asked string, at *url.URL) bool {
	from, err := url.Parse(asked)
	if err != nil || frontPath.MatchString(from.EscapedPath()) || from.EscapedPath() == "" {
		return false
	}
	to, err := url.Parse(Canonical(at))
	return err == nil && to.RawQuery == "" && frontPath.MatchString(to.EscapedPath())
}

// settle says which page the quote is of, when somebody asks for the first time.
// The page's canonical link is its identity only where another look finds the
// same product at the same price there: templates link whole ranges to one
// product by mistake, or a variant to the dearest of its kind, and all who watch
// them would watch that. Polls need no such look: they ask for the page that was
// settled on.
func (a *Adapter) settle(ctx context.Context, asked string, p *fetch.Page, q *shop.Quote) {
	link, err := url.Parse(q.URL)
	from, err2 := url.Parse(asked)
	if !shop.IsAnew(ctx) || err != nil || err2 != nil || samePage(link, p.URL) || samePage(link, from) {
		return
	}
	own := *q
	own.ItemCode, own.URL = Identity(p.URL), Canonical(p.URL)
	there, err := a.get.Get(ctx, fetch.Request{URL: q.URL})
	if err == nil && !toFrontPage(q.URL, there.URL) {
		seen, failed := Extract(Input{URL: there.URL, Status: there.Status, ContentType: there.ContentType, Body: there.Body, Now: a.now()})
		read := failed == nil || failed.SoldOut
		if read && strings.EqualFold(seen.Name, q.Name) && seen.Price.Currency() == q.Price.Currency() && seen.Price.Equal(q.Price) {
			return
		}
	}
	*q = own
}
