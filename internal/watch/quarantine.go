package watch

// Suspicion is why an observation is not believed at once.
type Suspicion string

// The suspicions of DESIGN.md section 4.
const (
	TooGood      Suspicion = "too_good_to_be_true"
	NewCurrency  Suspicion = "currency_changed"
	OtherProduct Suspicion = "another_product"
)

// tooGoodBelow is the share of the usual price under which a price is not
// believed at first sight.
const tooGoodBelow = "0.4"

// Replaces reports whether what is suspected, once believed, makes the listing
// another one than people watch: it is then shown to them, and not compared.
func (s Suspicion) Replaces() bool { return s == OtherProduct || s == NewCurrency }

// Suspect is an observation in quarantine: it needs a second, later one that
// agrees before it may be stored or fire.
type Suspect struct {
	Observation Observation
	Why         Suspicion
}

// Judge says whether an observation of the listing may be believed. It is, when
// nothing is odd about it, or when it agrees with the suspect of an earlier
// observation. The suspect says what is odd; it is to be kept where it is not
// believed.
func Judge(l Listing, o Observation, h History) (Suspect, bool) {
	why := suspicion(l, o, h)
	if why == "" {
		return Suspect{}, true
	}
	if s := l.Suspect; s != nil && s.Why == why && o.At.After(s.Observation.At) && agree(s.Observation, o) {
		return Suspect{o, why}, true
	}
	return Suspect{o, why}, false
}

func suspicion(l Listing, o Observation, h History) Suspicion {
	if !l.Last.Price.Known() || !o.Price.Known() {
		return ""
	}
	if !SameName(l.Name, o.Name) {
		return OtherProduct
	}
	if o.Price.Currency() != l.Last.Price.Currency() {
		return NewCurrency
	}
	if !o.Price.Equal(l.Last.Price) && !closeName(l.Name, o.Name) {
		return OtherProduct // another name that could be an edit, and another price at once
	}
	if !o.Price.Less(l.Last.Price) {
		return "" // not lower than what is already believed
	}
	usual := l.Last.Price
	if h.Covers(o.At.Add(-ShortHistory)) {
		if m := h.Median(o.Price.Currency(), MedianWindow, o.At); m.Known() {
			usual = m
		}
	}
	if limit, err := usual.Mul(tooGoodBelow); err == nil && o.Price.Less(limit) {
		return TooGood
	}
	return ""
}

// agree: the same product in the same currency, at prices within a tenth.
func agree(a, b Observation) bool {
	if !a.Price.SameCurrency(b.Price) || !SameName(a.Name, b.Name) {
		return false
	}
	low, high := a.Price, b.Price
	if high.Less(low) {
		low, high = high, low
	}
	limit, err := low.Mul("1.1")
	return err == nil && high.AtMost(limit)
}
