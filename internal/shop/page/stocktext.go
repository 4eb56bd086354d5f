package page

import (
	"encoding/json"
	"strings"

	"github.com/sokone/sokone/internal/shop"
)

// Words about stock in lower case, negatives first: "nicht auf lager" contains
// "auf lager". They are many and pages are long, so they are plain texts.
var stockWords = []struct {
	a     shop.Availability
	words []string
}{
	{shop.OutOfStock, []string{"nicht auf lager", "nicht lieferbar", "nicht verfügbar", "ausverkauft", "vergriffen", "out of stock", "sold out", "currently unavailable", "temporarily unavailable",
		"is not available", "are not available", "在庫なし", "在庫切れ", "売り切れ", "売切れ", "品切れ", "完売", "在庫がございません", "入荷待ち", "rupture", "épuisé", "indisponible", "agotado", "esaurito", "slut i lager",
		"niet op voorraad", "esgotado", "無庫存", "缺货"}},
	{shop.Preorder, []string{"pre-order", "preorder", "pre order", "予約受付", "予約販売", "予約商品", "vorbestell", "back-order", "backorder", "お取り寄せ", "précommande"}},
	{shop.InStock, []string{"in stock", "auf lager", "lieferbar", "en stock", "在庫あり", "残りわずか", "残り1", "残り2", "残り3", "残り4", "残り5", "i lager", "op voorraad", "disponible", "disponibile", "em estoque", "有货",
		"add to cart", "add to basket", "add to bag", "in den warenkorb", "カートに入れる", "ajouter au panier", "añadir al carrito", "more than 10 available"}},
}

// longestStockLine is longer than a line that speaks of stock, and of nothing else.
const longestStockLine = 120

// stockText reads availability off the page's own lines: unknown where none
// speaks of it. One "no" counts, wherever it stands: it is said on purpose, and
// "in stock" is in many a menu.
func (d *document) stockText() shop.Availability {
	found := shop.Unknown
	for _, b := range d.blocks() {
		t := b.text()
		if len(t) > longestStockLine || strings.Contains(t, "${") || strings.Contains(t, "{{") { // a template is no text
			continue
		}
		switch a := stockOf(strings.ToLower(t)); a {
		case shop.OutOfStock, shop.Preorder:
			return a
		case shop.InStock:
			found = a
		}
	}
	return found
}

func stockOf(line string) shop.Availability {
	if strings.HasPrefix(line, "unavailable") {
		return shop.OutOfStock
	}
	line = strings.ReplaceAll(line, "back in stock", "")
	for _, s := range stockWords {
		for _, w := range s.words {
			if strings.Contains(line, w) {
				return s.a
			}
		}
	}
	return shop.Unknown
}

// stockJSON reads Shopify's product JSON, which themes put into the page: its
// prices are hundredths, but "available" means what it says.
func (d *document) stockJSON() shop.Availability {
	for _, e := range d.scripts {
		if !strings.EqualFold(attr(e, "type"), "application/json") {
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
