package page

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/sokone/sokone/internal/shop"
)

// Marks of pages that are no product, whatever their status says. They are
// looked for in the title and in short pages only: a long product page may
// speak of anything.
var (
	wallMarks  = regexp.MustCompile(`(?i)captcha|are you (a )?(human|robot)|not a robot|unusual traffic|access (to this page )?(has been )?denied|pardon our interruption|just a moment|attention required|checking your browser|verify(ing)? (that )?you are|px-captcha|/_incapsula_|cf-chl|datadome|bot detection|ロボットではありません|アクセスが(拒否|制限)|認証にご協力`)
	loginMarks = regexp.MustCompile(`(?i)\b(log ?in|sign ?in|anmelden|se connecter|iniciar sesi[oó]n)\b|melden sie sich an|(log|sign) in to (see|view)|connectez-vous|inicie sesión|ログイン|会員登録`)
	queueMarks = regexp.MustCompile(`(?i)waiting room|you are (now )?in (the )?(line|queue)|queue-it|under maintenance|scheduled maintenance|temporarily unavailable|メンテナンス中|混み合って|順番待ち`)
	goneMarks  = regexp.MustCompile(`(?i)(page|product|item|article).{0,20}(not found|no longer (available|exists)|does(n.t| not) exist|has been removed)|\b404\b|not found|introuvable|nicht gefunden|no encontrad[oa]|ページが見つかりません|お探しの(ページ|商品)|見つかりませんでした|取り扱いを終了|販売を終了しました`)
)

// shortPage is fewer characters than a product page shows.
const shortPage = 1500

// classify says what the answer is when it is not a product page; nil if it may be one.
func classify(in Input, d *document) *shop.Error {
	text := d.visibleText(2 * shortPage)
	short := len(text) < shortPage
	head := d.title + " " + d.h1
	told := head
	if short {
		told += " " + text
	}
	raw := string(in.Body[:min(len(in.Body), 16<<10)])
	walled := wallMarks.MatchString(told) || short && wallMarks.MatchString(raw)
	switch s := in.Status; {
	case walled || s == http.StatusUnauthorized || s == http.StatusForbidden || s == http.StatusProxyAuthRequired:
		return failure(shop.KindBlocked, "The shop does not let programs read this page.")
	case s == http.StatusTooManyRequests:
		return failure(shop.KindRateLimited, "The shop asks us to come back later.")
	case s >= 500:
		return failure(shop.KindServer, "The shop has a fault of its own.")
	case s == http.StatusNotFound || s == http.StatusGone:
		return failure(shop.KindEmpty, "The shop says that this page does not exist.")
	case s >= 400 || s < 200 || s >= 300:
		return failure(shop.KindServer, "The shop gave an answer that is no page.")
	}
	if d.hasProduct() {
		return nil
	}
	switch {
	case queueMarks.MatchString(told):
		return failure(shop.KindServer, "The shop is busy or closed for maintenance.")
	case goneMarks.MatchString(head) || short && goneMarks.MatchString(text):
		return failure(shop.KindEmpty, "The shop says that this product is not there.")
	case short && loginMarks.MatchString(told):
		return failure(shop.KindBlocked, "The shop shows this page only to those who have logged in.")
	case frontPage(d):
		return failure(shop.KindEmpty, "This address leads to the shop's front page: the product is not there.")
	}
	return nil
}

// frontPage: a dead product often answers with the home page.
func frontPage(d *document) bool {
	c := d.canonical
	return c != nil && d.url != nil && siteOf(c) == siteOf(d.url) && strings.Trim(c.Path, "/") == "" && c.RawQuery == "" && strings.Trim(d.url.Path, "/") != ""
}
