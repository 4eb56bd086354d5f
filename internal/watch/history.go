package watch

import (
	"sort"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/shop"
)

// Spans that the rules of DESIGN.md section 4 name.
const (
	ShortHistory    = 14 * 24 * time.Hour // less than this is no history to judge by
	MedianWindow    = 90 * 24 * time.Hour
	UnreadableAfter = 24 * time.Hour
)

// Point is one value of the price history: what was read at At, and last
// confirmed unchanged at ConfirmedAt.
type Point struct {
	At, ConfirmedAt         time.Time
	Price, Shipping, Points money.Amount // Price is unknown where it was sold out without one
	Availability            shop.Availability
	FoundBy, Evidence       string // of the first reading: why this number?
}

// PointOf is the point that an observation begins.
func PointOf(o Observation) Point {
	return Point{At: o.At, ConfirmedAt: o.At, Price: o.Price, Shipping: o.Shipping, Points: o.Points, Availability: o.Availability, FoundBy: o.FoundBy, Evidence: o.Evidence}
}

// Same reports whether an observation only confirms the point.
func (p Point) Same(o Observation) bool {
	return p.Price.Equal(o.Price) && p.Shipping.Equal(o.Shipping) && p.Points.Equal(o.Points) && p.Availability == o.Availability
}

// History is a listing's points, oldest first.
type History struct{ Points []Point }

// Before leaves only the points that began before t.
func (h History) Before(t time.Time) History {
	n := sort.Search(len(h.Points), func(i int) bool { return !h.Points[i].At.Before(t) })
	return History{h.Points[:n]}
}

// Covers reports whether the history reaches back to t.
func (h History) Covers(t time.Time) bool {
	return len(h.Points) > 0 && !h.Points[0].At.After(t)
}

// Last is the newest point.
func (h History) Last() (Point, bool) {
	if len(h.Points) == 0 {
		return Point{}, false
	}
	return h.Points[len(h.Points)-1], true
}

// Lowest is the lowest amount that could be paid at any time since the given
// one; unknown where nothing was seen. A price that was in force when the
// window opened counts, as it was seen in it.
func (h History) Lowest(b Basis, currency string, since time.Time) money.Amount {
	var lowest money.Amount
	for _, p := range h.Points {
		amount := inBasis(b, p.Price, p.Shipping, p.Points)
		if p.ConfirmedAt.Before(since) || p.Availability == shop.OutOfStock || amount.Currency() != currency {
			continue
		}
		if !lowest.Known() || amount.Less(lowest) {
			lowest = amount
		}
	}
	return lowest
}

// Median is the shelf price that was in force for half of the window before
// now: weighted by time, because history stores changes and not polls.
func (h History) Median(currency string, window time.Duration, now time.Time) money.Amount {
	type span struct {
		price money.Amount
		for_  time.Duration
	}
	var spans []span
	var total time.Duration
	start := now.Add(-window)
	for i, p := range h.Points {
		end := now
		if i+1 < len(h.Points) {
			end = h.Points[i+1].At
		}
		begin := p.At
		if begin.Before(start) {
			begin = start
		}
		if d := end.Sub(begin); d > 0 && p.Price.Currency() == currency {
			spans = append(spans, span{p.Price, d})
			total += d
		}
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i].price.Less(spans[j].price) })
	var seen time.Duration
	for _, s := range spans {
		if seen += s.for_; 2*seen >= total {
			return s.price
		}
	}
	return money.Amount{}
}
