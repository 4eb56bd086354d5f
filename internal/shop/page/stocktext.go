package page

import (
	"encoding/json"
	"strings"

	"github.com/sokone/sokone/internal/shop"
)

// Words about stock in lower case. Where a line holds several the first kind
// counts: "nicht auf lager" contains "auf lager".
var stockWords = []struct {
	a     shop.Availability
	words []string
}{
	{shop.OutOfStock, []string{
		"out of stock", "sold out", "not in stock", "no longer available", "currently unavailable", "temporarily unavailable", "is not available", "are not available", "currently not available", "not currently available", "item is unavailable", "product is unavailable", "no stock",
		"nicht auf lager", "nicht lieferbar", "nicht verfügbar", "nicht vorrätig", "ausverkauft", "vergriffen",
		"rupture", "épuisé", "indisponible", "pas disponible", "plus disponible", "non disponible", "pas en stock", "plus en stock",
		"agotado", "sin existencias", "sin stock", "no disponible", "fuera de stock", "esaurito", "non disponibile", "indisponibile",
		"esgotado", "indisponível", "sem estoque", "niet op voorraad", "uitverkocht", "niet leverbaar", "niet beschikbaar",
		"slut i lager", "tillfälligt slut", "slutsåld", "ej i lager", "finns inte i lager", "ikke på lager", "udsolgt", "utsolgt", "loppuunmyyty", "ei varastossa",
		"niedostępny", "brak w magazynie", "wyprzedan", "vyprodáno", "není skladem", "нет в наличии", "распродан", "няма наличност", "няма в наличност", "изчерпан", "nu este în stoc", "stoc epuizat", "indisponibil", "nincs készleten", "elfogyott", "εξαντλημένο", "μη διαθέσιμο", "สินค้าหมด", "hết hàng", "stok habis", "غير متوفر", "نفد", "tükendi", "stokta yok",
		"在庫なし", "在庫無し", "在庫切れ", "売り切れ", "売切れ", "売切", "品切れ", "品切", "完売", "在庫がございません", "在庫がありません", "在庫はありません", "入荷待ち", "入荷未定", "販売終了", "取扱終了", "無庫存", "缺货", "缺貨", "无货", "售罄", "已售完", "補貨中", "품절",
	}},
	{shop.Preorder, []string{
		"pre-order", "preorder", "pre order", "back-order", "backorder", "on back order", "vorbestell", "précommande", "reserva anticipada", "preventa", "pré-venda", "preordine", "förbeställ", "予約受付", "予約販売", "予約商品", "ご予約", "お取り寄せ", "取り寄せ", "受注生産", "预售", "預購", "예약판매",
	}},
	{shop.InStock, []string{
		"in stock", "auf lager", "lieferbar", "vorrätig", "en stock", "disponible", "disponibile", "en existencias", "disponível", "em estoque", "op voorraad", "i lager", "på lager", "varastossa", "dostępny", "w magazynie", "skladem", "в наличии", "stokta var", "в наличност", "în stoc", "készleten", "raktáron", "διαθέσιμο", "có sẵn", "còn hàng", "متوفر",
		"在庫あり", "在庫有", "在庫僅少", "在庫わずか", "残りわずか", "残り1", "残り2", "残り3", "残り4", "残り5", "即納", "有货", "有貨", "現貨", "现货", "재고 있음",
		"add to cart", "add to basket", "add to bag", "in den warenkorb", "ajouter au panier", "añadir al carrito", "agregar al carrito", "añadir a la cesta", "aggiungi al carrello", "adicionar ao carrinho", "in winkelwagen", "lägg i varukorg", "カートに入れる", "カートへ入れる", "カートに追加", "かごに入れる", "買い物かごに", "加入购物车", "加入購物車", "장바구니",
		"more than 10 available",
	}},
}

// crooked are words that stand between a "not" and what it denies, and
// conditions that name what is not so yet ("until sold out"); each with what it
// is read as.
var crooked = []string{
	"not currently in", "not in", "not presently in", "not in", "not yet in", "not in", "isn't in", "not in", "is not in", "not in",
	"derzeit nicht ", "nicht ", "momentan nicht ", "nicht ", "nicht mehr ", "nicht ", "nicht sofort ", "nicht ",
	"売り切れ次第", "", "売切れ次第", "", "売切次第", "", "完売次第", "", "品切れ次第", "", "在庫がなくなり次第", "", "なくなり次第", "",
	"while stocks last", "", "until sold out", "", "jusqu'à épuisement", "", "solange der vorrat reicht", "",
}

var straight = strings.NewReplacer(crooked...)

// stockWord is a word, and the place of its kind in stockWords; that of a crooked
// one is behind them all.
type stockWord struct {
	word string
	kind int
}

// stockIndex finds words by the two bytes that they begin with: lines are many,
// and few hold one. A place of 0 is none.
var stockIndex, stockBuckets = func() (index [1 << 16]uint8, buckets [][]stockWord) {
	buckets = [][]stockWord{nil}
	add := func(word string, kind int) {
		at := &index[int(word[0])<<8|int(word[1])]
		if *at == 0 {
			*at = uint8(len(buckets))
			buckets = append(buckets, nil)
		}
		buckets[*at] = append(buckets[*at], stockWord{word, kind})
	}
	for kind, s := range stockWords {
		for _, w := range s.words {
			add(w, kind)
		}
	}
	for i := 0; i < len(crooked); i += 2 {
		add(crooked[i], len(stockWords))
	}
	return index, buckets
}()

// longestStockLine is longer than a line that speaks of stock, and of nothing else.
const longestStockLine = 120

// stockText reads availability off the page's own lines: unknown where none
// speaks of it. One "no" counts, wherever it stands: it is said on purpose, and
// "in stock" is in many a menu.
func (d *document) stockText() shop.Availability {
	found := shop.Unknown
	for _, b := range d.blocks() {
		switch a := stockIn(b); {
		case a == shop.OutOfStock, a == shop.Preorder && !b.disabled:
			return a
		case a == shop.InStock && !b.disabled:
			found = a
		}
	}
	return found
}

// stockNear is how near to the heading something is said about stock, at the most.
func (d *document) stockNear() int {
	near := -1
	for _, b := range d.blocks() {
		if b.near() > near && stockIn(b) != shop.Unknown {
			near = b.near()
		}
	}
	return near
}

func stockIn(b block) shop.Availability {
	t := b.text()
	if len(t) > longestStockLine || strings.Contains(t, "${") || strings.Contains(t, "{{") || strings.Contains(t, "店舗") { // a template is no text, and a branch no parcel
		return shop.Unknown
	}
	return stockOf(strings.ToLower(t))
}

func stockOf(line string) shop.Availability {
	if strings.HasPrefix(line, "unavailable") {
		return shop.OutOfStock
	}
	kind, isCrooked := stockKind(line)
	if isCrooked {
		kind, _ = stockKind(straight.Replace(line))
	}
	if kind == len(stockWords) {
		return shop.Unknown
	}
	return stockWords[kind].a
}

// stockKind is the first kind of which a line holds a word, and whether it holds
// crooked ones.
func stockKind(line string) (kind int, isCrooked bool) {
	kind = len(stockWords)
	for i := 0; i+1 < len(line); i++ {
		for _, w := range stockBuckets[stockIndex[int(line[i])<<8|int(line[i+1])]] {
			if strings.HasPrefix(line[i:], w.word) && !strings.HasSuffix(line[:i], "back ") { // "tell me when it is back in stock"
				kind, isCrooked = min(kind, w.kind), isCrooked || w.kind == len(stockWords)
			}
		}
	}
	return kind, isCrooked
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
