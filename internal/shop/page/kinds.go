package page

// kind is a kind of price that is not the one that is paid, and the words that
// tell it, in the languages of the shops that people watch.
type kind struct {
	why string
	re  *matcher
}

// Kinds that other rules ask for.
const (
	withoutTax = "without tax"
	// perMonth is paid again and again: an instalment where another price is shown,
	// else what a subscription costs.
	perMonth = "a price per month"
	// regular is a list price where another is shown, else the price.
	regular = "a regular price"
)

// What the words around an amount say of it: kindBefore those that lead to it,
// kindAfter those that follow, kindOfClass the names of the elements around it. The
// first that fits counts.
var (
	kindBefore = []kind{
		{"an instalment", words(`\d+\s*(x|×|mal|fois|veces|ratx?)\s*(de|à|a|zu|von|da|x|×)?\s*$`, `(payments?|instal?l?ments?) of\s*$`, `\d+\s*回払い`, `月々`, `分割`, `\b(\d+\s*)?(raten|rate) (von|à|zu|da|di)\s*$`, `(mensualidades|cuotas|plazos|parcelas|prestações|taksit|ratenzahlung) (de)?\s*$`, `\d+\s*rat\s*x\s*$`, `\bemi\b`, `finanzierung`, `\bfinanc(e|ing|iación|iamento|ement)\b`, `финанс`, `рассрочк`, `\braty\b`, `\bpay in \d`, `할부`)},
		{"a price for a unit", words(`(1|100|10)\s*(kg|g|l|ml|m|st|stück|個|枚|本)\s*[=:]\s*$`, `grundpreis`, `unit price`, `per unit`, `prix (au|à la) (kilo|kg|litre|pièce|unité)`, `\bsoit\s*$`, `(あたり|当たり|単価)[はの：:]?\s*$`, `\d*\s*(g|ml|kg|l|개|매)당\s*$`, `per pack of \d+ \(\s*$`)},
		{"an earlier price", words(`(lowest|best) price (in|of|over) (the )?(last|past|\d+)`, `(niedrigster|günstigster|bester) (gesamt)?preis (der|in den) letzten`, `30-tage`, `najniższa cena`, `prix le plus bas`, `precio más bajo`, `prezzo più basso`, `preço mais baixo`, `laagste prijs`, `lägsta pris`, `nejnižší cena`, `過去最安`)},
		{"a price for those who buy several", words(`\d+\+[^0-9]{0,8}$`, `\b(ab|from|od|från|à partir de|a partir de|vanaf) ([2-9]|\d{2,}) (st|stk|stück|pcs|pieces|units|szt|ks|unités|unidades|stuks)\.?[^0-9]{0,8}$`, `\d+\s*(個|点|本|枚)以上[^0-9]{0,8}$`, `まとめ買い`, `^\s*(ab|from|od|vanaf|à partir de|desde|a partire da)\s+([2-9]|\d{2,})\s*$`, `\d+ (or more|and more|oder mehr|ou plus|o más|o più|eller fler)[^0-9]{0,8}$`, `(^|[^0-9,.])\d{1,2} (for|für|pour|por|voor)\s*$`)},
		{withoutTax, words(`税抜`, `税別`, `本体`, `\bnetto`, `\b(ex|excl|exkl|ekskl)\.?\s*(vat|tax|mwst|btw|moms|gst)\b`, `hors taxe`, `sin impuestos`, `sem impostos`, `senza tasse`, `(before|without|excluding) tax(es)?`, `zonder btw`, `\bHT\b`, `sin iva`, `iva esclusa`, `sem iva`, `bez dph`, `без ндс`)},
		{regular, words(`regular price`, `通常価格`, `normalpreis`, `cena regularna`, `běžná cena`, `normalpris`, `ordinarie pris`, `prix normal`, `precio (normal|habitual)`)},
		{"a list price", words(`定価`, `希望小売`, `参考(価格|上代)`, `旧価格`, `市価`, `当店通常`, `店頭価格`, `市场价`, `市場價`, `原价`, `原價`, `정가`, `\b(statt|uvp|pvpr?|rrp|msrp|list|list price|was|instead of|before|original price|compare at|valued? at|antes|avant|invece di|bisher|vorher|ord\.?( pris)?|tidigare|adviesprijs|van)\b[^0-9]{0,14}$`,
			`früher`, `prix (conseillé|public|barré|de référence)`, `au lieu de`, `precio recomendado`, `(pvp|precio) recomendado`, `prezzo (consigliato|di listino)`, `listino`, `førpris`, `\bfør\b`, `vejl\. pris`, `^\s*de:?\s*$`, `\bde:\s*$`, `старая цена`, `przed obniżką`, `původní cena`, `eski fiyat`, `بدل`,
			`\breduced from\s*$`, `ursprünglich`, `(prix|prezzo|precio|preço|harga) (initial|d'origine|original[e]?|inicial|asli)`, `oorspronkelijke`, `pierwotna cena`, `первоначальная`, `opprinnelig`, `oprindelig`, `eredeti ár`, `orijinal fiyat`, `元の価格`)},
		{"a price for members", words(`会員`, `会员`, `會員`, `회원`, `\bvip\b`, `プレミアム`, `学割`, `学生`, `\bikea family\b`, `アプリ限定`, `\b(member|club|prime|karte|kundenkarte|clubkarte|loyalty|student|adhérents?|socios?|soci|socio|membri|tesserati|abbonati|medlems?(pris)?|klubu|leden|jäsen)\b`, `(with|mit|con|avec) (your |the |der |la |tarjeta |carte )*(card|karte|kundenkarte|tarjeta|carte)`, `\bcard\s*$`, `prix adhérent`, `medlemspris`)},
		{"a subscription", words(`subscri`, `定期`, `初回`, `お試し`, `sparabo`, `\babo\b`, `abo-preis`, `autoship`, `auto-?delivery`, `abonnement`, `年会費`, `入会金`, `(with|on) (a|the) (plan|contract)`)},
		{"shipping", words(`versand`, `shipping`, `delivery`, `送料`, `livraison`, `spedizione`, `\bporto\b`, `\bfrete\b`, `frakt`, `\bfragt\b`, `\bimport(gebühr| ?(charge|fee|dut|cost|tax))`, `einfuhr`, `postage`, `envío`, `verzending`, `доставк`, `dostaw`, `doprav`, `kargo`, `배송`, `运费`, `運費`)},
		{"a saving", words(`\b(save|saves|saving|you save|sparen|ersparnis|ahorras?|ahorre|risparmi|risparmia|bespaart|bespaar|spara|spar|economize|oszczędzasz|ušetříte|discount|off|coupon|cashback|voucher|gift ?card|trade[ -]in|earn)\b`, `[ée]conomi[sz]`, `oszczędzasz`, `ušetříte`, `скидка`, `お得`, `割引`, `クーポン`, `還元`, `かんげん`, `値引`, `実質`, `最大\s*$`, `あと\s*$`, `gutschein`, `券后`, `券後`, `\bcode:?\s+[a-z0-9]{3,20}\s*:?\s*$`, `\bwith (promo )?code\b`, `적립`, `할인`, `优惠`, `立减`)},
		{"used", words(`\bused\b`, `\b(refurbished|gebraucht|pre-?owned|d.occasion|usato|segunda mano|tweedehands|używan[ey])\b`, `中古`)},
		{"rent", words(`\brent(al)?s?\b`, `\b(aus|ver)?leih`, `\bmiete`, `\blocation( \S+)?( (à partir de|dès))?\s*:?\s*$`, `レンタル`)},
		{"a bid", words(`auction`, `current bid`, `starting bid`, `(^|[^a-zäöü])(höchst|mindest|start)?gebote?\b`, `enchère`, `入札`, `現在価格.*入札`)},
		{"a bundle", words(`\bim (set|bundle|paket) (mit|für)\b`, `\b(in a|as a) (set|bundle) with\b`, `セットで`)},
		{"a conversion", words(`(approx(imately)?\.?|≈|umgerechnet|environ|約)\s*$`)},
		{"on top", words(`(plus|zzgl\.?|\+|add|extra)\s*(2-year|\d+ year)?\s*$`)},
		{"a tax, a deposit or a fee", words(`pfand`, `deposit`, `consigne`, `statiegeld`, `[ée]co-?part`, `\bdont\b`, `davon`, `of which`, `\bfees?\b`, `消費税`, `手数料`, `protection`, `warranty`, `garantie`, `garanzia`, `garantía`, `\b(year|month)s? (cover|care|plan|insurance)\b`, `versicherung`, `assurance`, `延長保証`, `estimated tax`, `\bduty\b`, `steuer:?\s*$`)},
		{"a threshold", words(`\b(over|above|ab einem|mindest[a-z]*|minimum|from orders|orders of|spend|acima de|oltre|vanaf)\s*$`, `mindestbestellwert`, `dès`, `以上`, `满`, `滿`)},
	}
	kindAfter = []kind{
		{"an instalment", words(`^\s*([x×]\s*\d|mtl\.|sem juros|per instal|interest-free|sans frais|senza interessi|sin intereses)`)},
		{perMonth, words(`^\s*(/|per|a|pro|im|par|al|por|je|each|every)\s*(month|mo\b|monat|mois|mes\b|mese|mês|maand|mån|месяц|мес|月)`, `^\s*(monatlich|mtl|monthly|mensuel|/\s*年|per year|/\s*year|pro jahr|par an\b|/\s*(月|か月|ヶ月))`)},
		{"a price for a unit", words(`^\s*(/|per|pro|je|al|por|le|la|à la)\s*(1\s*|100\s*|10\s*)?(kg|g|l|ml|m|m²|lb|oz|cl|st|stk|stück|unit|piece|pièce|unité|pza|stuk|kilo|litre|liter|шт|szt|ks|個|枚|本|ロール)\b`, `^\s*[（(]?\s*\d*\s*(g|ml|kg|l|個|枚|本|粒|袋)(あたり|当たり)`, `^\s*each\s*\)`)},
		{withoutTax, words(`^\s*[（(]?\s*(税抜|税別|\+\s*税|＋税|外税|zzgl\. ?mwst|exkl|ekskl|excl|ex\.?\s*(vat|tax|gst)|netto|HT\b|h\.t|ohne mwst|sin iva|\+ ?iva|iva esclusa|sem iva|bez dph|bez vat|без ндс|kdv hariç|plus vat|\+ ?vat|\+ ?gst)`)},
		{"a price for those who give something back", words(`^\s*[（(]?\s*(with|after|mit|bei)\s+(an? |your |eligible |einer |eurer )?(trade[ -]?in|eintausch|inzahlung)`, `^\s*[（(]?下取り`)},
		{"a price with a code", words(`^\s*[（(]?\s*(with|using|mit|avec|con|com|met|med|use)\s+(the |dem |le |el |il |il |o |de )?((promo|coupon|voucher|discount|gutschein|rabatt|kortings)[ -]?)?code\b`, `^\s*[（(]?クーポン(利用|適用|使用)`)},
		{"points", words(`^\s*(?:ゴールド)?(ポイント|pt\b|points?\b|p\b|相当|分の?ポイント|円?相当|적립)`)},
		{"a list price", words(`^\s*のところ`)},
		{"a saving", words(`^\s*[a-zäöü]*gutschein`, `^\s*(off|gespart|割引|引き|お得|クーポン|saved|discount|還元|de réduction|voucher|gift ?card|キャッシュバック)`)},
		{"a tax, a deposit or a fee", words(`^\s*(deposit|pfand|consigne|statiegeld|d.éco)`)},
		{"shipping", words(`^\s*(shipping|delivery|versand|送料|livraison|frakt|postage)`)},
		{"a threshold", words(`^\s*(?:[（(]税込[）)])?(以上|이상|包邮|包郵|で送料無料)`)},
		{"a price for members", words(`^\s*[（(]?\s*((with )?(club|member)|for members|mit (karte|app)|with card|会員|プライム)`, `^\s*(с|c)\s[^0-9]{0,20}карто[йю]`, `^\s*по карте`)},
		{"a price for one way of paying", words(`^\s*(no pix|à vista|a vista|no boleto|by bank transfer|bei vorkasse|per vorkasse)`)},
	}
	strongBefore = words(`税込`, `特価`, `特別価格`, `販売価格`, `セール価格`, `内税`, `促销价`, `판매가`, `\bakt(ueller|ualna|uální) (preis|cena)`, `\bprix actuel\b`, `\bprecio actual\b`, `\bprezzo attuale\b`, `\bhuidige prijs\b`, `\bpreço atual\b`, `\bcurrent price\b`, `現在の価格`, `\b(now|jetzt|nur|nu|voor|maintenant|ahora|por:|adesso|sale price|our price|you pay|buy it now|one-?time|einmal|total|incl|inkl|brutto)\b`, `\bpor:?\s*$`)
	strongAfter  = words(`^\s*[（(]?\s*(税込み?(?:[）)・\s]|$)|内税|inkl|incl|inc\.?\s*(vat|tax|gst)|ttc|brutto|iva (incl|inclusa|incluid[oa]|incluíd[oa])|s dph|vč\. dph|z vat|с ндс|kdv dahil)`)
	kindOfClass  = []kind{
		{"a price for members", words(`(^|[^a-z])(club|member|prime|loyalty)([^a-z]|$)`)},
		{"a subscription", words(`(^|[^a-z])(sns|subscribe|subscription|autoship)([^a-z]|$)`)},
		{"a price for a unit", words(`unit-?price|price-?(per-)?unit|grundpreis|ppu`)},
		{"a saving", words(`(^|[^a-z])(saving|savings|discount|badge|coupon)([^a-z]|$)`)},
		{"shipping", words(`shipping|delivery`)},
		{"a price for those who buy several", words(`tier-?price|bulk-?pric|volume-?pric|quantity-?(break|discount|price)|staffel`)},
		{"an instalment", words(`(^|[^a-z])(instal?l?ments?|finance|financing|klarna|afterpay|affirm|paypal-?later|ratenzahlung|parcelas?)([^a-z]|$)`)},
		{"an earlier price", words(`price-?history|omnibus|lowest-?price`)},
		{"a tax, a deposit or a fee", words(`eco-?(tax|part)|deposit|pfand|warranty`)},
		{"points", words(`(^|[^a-z])points?([^a-z]|$)`)},
		{withoutTax, words(`price--withoutTax|excl(uding)?\.?[ -]?(tax|vat)|ex-?vat|price-ht|without-?tax`)},
	}
)
