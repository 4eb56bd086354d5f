package page

import (
	"encoding/json"
	"regexp"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/sokone/sokone/internal/shop"
)

// Words about stock, negatives first: "Nicht auf Lager" contains "auf Lager".
var stockWords = []struct {
	re *regexp.Regexp
	a  shop.Availability
}{
	{regexp.MustCompile(`(?i)nicht (auf lager|lieferbar|verfügbar)|ausverkauft|vergriffen|out of stock|sold out|(?:currently|temporarily|^\s*)\s?unavailable|(?:is|are) not available|在庫なし|在庫切れ|売り切れ|売切れ|品切れ|完売|在庫がございません|入荷待ち|rupture|épuisé|indisponible|agotado|esaurito|slut i lager|niet op voorraad|esgotado|無庫存|缺货`), shop.OutOfStock},
	{regexp.MustCompile(`(?i)pre-?order|予約(受付|販売|商品)|vorbestell|back-?order|お取り寄せ|précommande`), shop.Preorder},
	{regexp.MustCompile(`(?i)\bin stock\b|auf lager|sofort lieferbar|lieferbar|en stock|在庫あり|在庫：?\s*○|残りわずか|残り\s*\d|i lager|op voorraad|disponible|disponibile|em estoque|有货|add to (cart|basket|bag)|in den warenkorb|カートに入れる|ajouter au panier|añadir al carrito|\d+ available`), shop.InStock},
}

// stockText reads availability off the page's own lines: unknown where none
// speaks of it.
func (d *document) stockText() shop.Availability {
	found := shop.Unknown
	for _, b := range d.blocks() {
		t := digitsOf(b.text())
		if len(t) > 120 || strings.Contains(t, "${") || strings.Contains(t, "{{") { // a template is no text
			continue
		}
		for i, w := range stockWords {
			if !w.re.MatchString(t) {
				continue
			}
			if i < 2 {
				return w.a // "no" is said on purpose; "yes" is in many a menu
			}
			found = w.a
			break
		}
	}
	return found
}

// stockJSON reads Shopify's product JSON, which themes put into the page: its
// prices are hundredths, but "available" means what it says.
func (d *document) stockJSON() shop.Availability {
	for e := range d.root.Descendants() {
		if e.DataAtom != atom.Script || !strings.EqualFold(attr(e, "type"), "application/json") || e.FirstChild == nil {
			continue
		}
		var p struct {
			Variants  []json.RawMessage `json:"variants"`
			Available *bool             `json:"available"`
		}
		if json.Unmarshal([]byte(e.FirstChild.Data), &p) == nil && len(p.Variants) > 0 && p.Available != nil {
			return map[bool]shop.Availability{true: shop.InStock, false: shop.OutOfStock}[*p.Available]
		}
	}
	return shop.Unknown
}
