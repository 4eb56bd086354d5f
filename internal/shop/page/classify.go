package page

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/sokone/sokone/internal/shop"
)

// marks are words of a page that is no product, whatever its status says. In
// the title and the heading they tell by themselves; in the text of a short page
// only those that a shop says of nothing else. A long page may speak of anything.
type marks struct{ head, text *matcher }

var (
	wall = marks{
		head: words(`^\s*(just a moment|un instant|einen moment|nur einen moment|un momento|um momento|een ogenblik|请稍候)`, `attention required`, `access (to this page )?(has been |was )?denied`, `zugriff verweigert`, `accès refusé`, `acceso denegado`, `robot or human`,
			`security check`, `sicherheits(über)?prüfung`, `vérification de sécurité`, `pardon our interruption`, `bot (detection|verification)`, `セキュリティチェック`),
		text: words(`captcha`, `are you (a )?(human|robot)`, `(not|aren.t) a robot`, `(human|person) \(?and not a (ro)?bot`, `press (&|and) hold`, `unusual traffic`, `access (to this page )?(has been )?denied`, `pardon our interruption`, `checking (if|your browser|the site connection)`, `verify(ing)? (that )?you are`,
			`px-captcha`, `/_incapsula_`, `cf-chl`, `datadome`, `enable js and disable any ad ?blocker`, `kein roboter`, `pas un robot`, `no (eres|soy) un robot`, `non (sei|sono) un robot`, `não (é|sou) um robô`, `geen robot`, `не робот`,
			`ロボットでは(ありません|ない)`, `アクセスが(拒否|制限)`, `不正なアクセス`, `認証にご協力`, `画像認証`, `人机验证`, `不是机器人`, `機器人驗證`),
	}
	queue = marks{
		head: words(`waiting room`, `warteraum`, `warteschlange`, `file d.attente`, `maintenance`, `wartung(sarbeiten|smodus)?\b`, `mantenimiento`, `manutenzione`, `manutenção`, `onderhoud`, `be (right )?back soon`, `temporarily unavailable`, `メンテナンス`, `混み合って`),
		text: words(`waiting room`, `you are (now )?in (the )?(line|queue)`, `number in (line|the queue)`, `queue-it`, `(under|down for) maintenance`, `scheduled maintenance`, `service (is )?temporarily unavailable`, `warteschlange`, `warteraum`, `wartungsarbeiten`, `file d.attente`, `en maintenance`, `sala de espera`, `fila de espera`,
			`メンテナンス(中|のため|を実施)`, `混み合って`, `アクセスが集中`, `順番待ち`, `待ち人数`, `排队`, `系统维护`),
	}
	gone = marks{
		head: words(notThere, `\b404\b`, `no longer (available|sold|exists)`, `(product|item|article) (is )?(unavailable|discontinued|removed)`, `nicht (mehr )?(verfügbar|vorhanden|lieferbar|im sortiment)`, `(n.existe|n.est|ne sont) plus( disponible)?`, `(produit|article) (supprimé|indisponible)`, `ya no (está disponible|existe)`, `non (è|e) più disponibile`,
			`não (está mais disponível|existe mais)`, `niet meer (beschikbaar|leverbaar|verkrijgbaar)`, `販売(は|を)?終了`, `取り?扱い?(は|を)?終了`, `掲載(は|を|が)?終了`),
		text: words(notThere, `(page|product|item|article)[^.]{0,20}(no longer exists|does(n.t| not) exist|has been removed)`, `取り扱いを終了しました`, `販売を終了しました`, `取り?扱って(おりません|いません)`, `お取り?扱いが?(ございません|ありません)`),
	}
	login = marks{
		head: words(`\b(log|sign) ?in\b`, `\b(anmelden|einloggen|se connecter|connexion|iniciar sesi[oó]n|accedi|entrar|inloggen|logga in|logg inn|log ind|zaloguj|přihlášení)\b`, `ログイン`, `会員登録`, `登录`, `登入`, `로그인`),
		text: words(`(log|sign) ?in to (see|view|continue)`, `(log|sign) in (for|to see) (the )?prices?`, `melden sie sich an`, `preise? (erst|nur) nach (anmeldung|login)`, `connectez-vous`, `inicie sesión`, `faça login`, `ログイン(してください|が必要|すると|後に)`, `会員(のみ|限定)(.{0,8})(価格|閲覧)`),
	}
	age     = words(`(over|at least) (18|21)`, `age (check|verification|gate)`, `older than (18|21)`, `(über|mindestens) (18|16)`, `altersprüfung`, `plus de 18 ans`, `mayor de edad`, `年齢確認`, `(18|20)歳以上ですか`)
	listing = words(`^\s*(search )?results?( for|:)`, `search results`, `suchergebnis`, `résultats? (de|pour)`, `resultados (de|para)`, `risultati (di|per)`, `zoekresultaten`, `検索結果`, `商品一覧`, `の検索`)
)

// notThere is how shops say that they do not have a page, in the languages that
// they say it in.
const notThere = `(page|product|item|article|url)\b.{0,20}\bnot (be )?found|(can.t|cannot|could not|couldn.t) find (the|that|this) (page|product|item)|seite[^.]{0,20} nicht gefunden|(artikel|produkt)[^.]{0,20} nicht gefunden|introuvable|no encontrad[oa]|non trovat[oa]|não encontrad[oa]|niet gevonden|hittades inte|ikke fundet|ikke funnet|nie (została )?znalezion|nenalezen|не найден|bulunamadı|` +
	`(ページ|商品|お探しの.{0,12})(は|が)?(見つかりません|見当たりません|存在しません|ございません|ありません)|見つかりませんでした|not found$|页面不存在|找不到(页面|頁面|商品)|商品不存在|찾을 수 없`

// says reports whether the page has the marks, in its head or, where it is short,
// in its text.
func (m marks) says(head, text string) bool {
	return m.head.MatchString(head) || m.text.MatchString(head) || m.text.MatchString(text)
}

// shortPage is fewer characters than a product page shows; shell is about what is
// left of a page that scripts build.
const (
	shortPage = 1500
	shell     = 200
)

// classify says what the answer is when it is not a product page; nil if it may
// be one. A page that states a product with an offer to machines is one, whatever
// else it says.
func classify(in Input, d *document) *shop.Error {
	stated := d.hasProduct()
	head := d.title + "\n" + d.h1
	text := d.visibleText(2 * shortPage)
	whole, short := text, len(text) < shortPage
	if !short {
		text = ""
	}
	walled := !stated && (wall.says(d.title, text) || wall.says(d.h1, "") || short && wall.text.MatchString(string(in.Body[:min(len(in.Body), 16<<10)])))
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
	if stated {
		return nil
	}
	switch priced := d.showsPrice(); {
	case !priced && queue.says(head, text) || queue.text.MatchString(head):
		return failure(shop.KindServer, "The shop is busy or closed for maintenance.")
	case gone.says(head, text):
		return failure(shop.KindEmpty, "The shop says that this product is not there.")
	case login.text.MatchString(text), !priced && text != "" && (login.says(head, text) || d.asksPassword()):
		return failure(shop.KindBlocked, "The shop shows this page only to those who have logged in.")
	case !priced && text != "" && age.MatchString(head+text):
		return failure(shop.KindBlocked, "The shop asks for the visitor's age before it shows this page.")
	case d.frontPage():
		return failure(shop.KindEmpty, "This address leads to the shop's front page: the product is not there.")
	case listing.MatchString(d.title) || listing.MatchString(d.h1):
		return failure(shop.KindParse, "This page is a list of products. Open the product's own page, and copy its address.")
	case !priced && len(strings.TrimSpace(whole)) < shell && d.refreshes() != nil:
		return failure(shop.KindParse, "This page only leads on to another. Open it, and copy the address that you arrive at.")
	case !priced && len(strings.TrimSpace(whole)) < shell && len(d.scripts)+len(d.sources) > 0 && len(d.meta["product:price:amount"]+d.meta["og:price:amount"]) == 0 && len(d.props) == 0 && d.heading == nil:
		return failure(shop.KindParse, "This page is empty until a browser's scripts have filled it, so its price cannot be read from here.")
	}
	return nil
}

// showsPrice reports whether a price is shown as that of the page's product.
func (d *document) showsPrice() bool {
	g, ok := d.visiblePrice()
	return ok && g.priced
}

func (d *document) asksPassword() bool {
	for _, f := range d.fields {
		if strings.EqualFold(attr(f, "type"), "password") {
			return true
		}
	}
	return false
}

// frontPage: a dead product often answers with the home page, or leads to it.
func (d *document) frontPage() bool {
	if d.url == nil {
		return false
	}
	for _, u := range []*url.URL{d.url, d.canonical, d.refreshes()} {
		if u != nil && siteOf(u) == siteOf(d.url) && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" {
			return true
		}
	}
	return false
}

// refreshSoon is a refresh that no reader could forestall, and where it leads.
var refreshSoon = regexp.MustCompile(`(?i)^\s*[0-5](?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?["']?([^"'\s]+)`)

// refreshes is the other address that a <meta http-equiv=refresh> leads to at once.
func (d *document) refreshes() *url.URL {
	m := refreshSoon.FindStringSubmatch(d.meta["refresh"])
	if m == nil {
		return nil
	}
	u := d.resolve(m[1])
	if u == nil || d.url == nil || samePage(u, d.url) {
		return nil
	}
	return u
}
