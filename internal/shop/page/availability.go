package page

import (
	"strings"

	"github.com/sokone/sokone/internal/shop"
)

// stock maps the words of schema.org, Open Graph and the shops, squeezed to
// letters. A back-order can be ordered and is not there: preorder.
var stock = map[string]shop.Availability{
	"instock": shop.InStock, "instoreonly": shop.InStock, "onlineonly": shop.InStock, "limitedavailability": shop.InStock, "available": shop.InStock,
	"availablefororder": shop.InStock, "lowstock": shop.InStock, "yes": shop.InStock, "true": shop.InStock, "在庫あり": shop.InStock, "auflager": shop.InStock, "enstock": shop.InStock,
	"outofstock": shop.OutOfStock, "soldout": shop.OutOfStock, "discontinued": shop.OutOfStock, "oos": shop.OutOfStock, "notavailable": shop.OutOfStock, "unavailable": shop.OutOfStock,
	"no": shop.OutOfStock, "false": shop.OutOfStock, "在庫なし": shop.OutOfStock, "売り切れ": shop.OutOfStock, "品切れ": shop.OutOfStock, "完売": shop.OutOfStock, "nichtauflager": shop.OutOfStock,
	"reserved": shop.OutOfStock, "notinstock": shop.OutOfStock, "outstock": shop.OutOfStock, "nostock": shop.OutOfStock, "retired": shop.OutOfStock,
	"preorder": shop.Preorder, "presale": shop.Preorder, "backorder": shop.Preorder, "madetoorder": shop.Preorder, "pending": shop.Preorder, "予約受付中": shop.Preorder, "予約": shop.Preorder,
}

// availabilityOf reads a word of schema.org, or what a shop writes in its place;
// Unknown for what is not known.
func availabilityOf(s string) shop.Availability {
	if s == "" || len(s) > longestStockLine {
		return shop.Unknown
	}
	if a, ok := stock[strings.NewReplacer(" ", "", "_", "", "-", "").Replace(term(s))]; ok {
		return a
	}
	return stockOf(strings.ToLower(s))
}

// ReadAvailability reads a word of schema.org or a short text of a page.
func ReadAvailability(s string) shop.Availability { return availabilityOf(s) }
