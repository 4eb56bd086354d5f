package detect

import (
	"time"

	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// Plan is what one poll changes, and what kind of poll it was.
type Plan struct {
	Detection   outbox.Detection
	Failed      *shop.Error // nothing was read
	Quarantined bool        // read, and not believed yet
}

// Decide turns the answer of a shop into the changes of one transaction. It is
// pure. spread, in [0, 1), spreads the next due time.
func Decide(p watch.Poll, q shop.Quote, failed *shop.Error, now time.Time, s watch.Schedule, spread float64) Plan {
	if failed == nil && !q.Price.Round().Positive() {
		failed = &shop.Error{Kind: shop.KindParse, Message: "The price read is not above zero."}
	}
	switch {
	case failed != nil && failed.SoldOut:
		return read(p, watch.SoldOut(now), s, spread)
	case failed != nil:
		l := p.Listing.Failed(failed, now, s, spread)
		plan := effects(p, l, l.Failing(failed.Kind, now))
		plan.Failed = failed
		return plan
	}
	o := watch.Observe(q)
	o.At = now // the clock of this process orders history, not the adapter's
	suspect, believed := watch.Judge(p.Listing, o, p.History)
	if !believed {
		return Plan{Quarantined: true, Detection: outbox.Detection{Listing: p.Listing.Quarantine(suspect, s, spread)}}
	}
	if suspect.Why.Replaces() {
		return replaced(p, o, suspect.Why, s, spread)
	}
	return read(p, o, s, spread)
}

// replaced is what a second look changes that finds another product, or another
// currency: the listing becomes that, with a history of its own, and who
// watched it before is told so, and of no price.
func replaced(p watch.Poll, o watch.Observation, why watch.Suspicion, s watch.Schedule, spread float64) Plan {
	was := p.Listing.Name
	p.Listing.Since, p.History = o.At, watch.History{}
	if why == watch.OtherProduct {
		for i := range p.Watches {
			if p.Watches[i].Product == "" {
				p.Watches[i].Product = was
			}
		}
	}
	plan := read(p, o, s, spread)
	if why == watch.OtherProduct {
		plan.Detection.Was = was
	}
	return plan
}

func read(p watch.Poll, o watch.Observation, s watch.Schedule, spread float64) Plan {
	s.Interval = s.Pace(p.History, o.At)
	l := p.Listing.Read(o, s, spread)
	o.Name, o.Since = l.Name, l.Since // a page of what is sold out may name nothing
	plan := effects(p, l, o)
	point := watch.PointOf(o)
	plan.Detection.Observed = &point
	return plan
}

func effects(p watch.Poll, l watch.Listing, o watch.Observation) Plan {
	d := outbox.Detection{Listing: l}
	for _, w := range p.Watches {
		change, fired := w.Observed(o, p.History)
		if len(fired) > 0 || !change.Empty() {
			d.Changes = append(d.Changes, change)
		}
		for _, f := range fired {
			d.Entries = append(d.Entries, outbox.NewEntry(w, f, o))
		}
	}
	return Plan{Detection: d}
}
