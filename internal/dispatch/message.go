package dispatch

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/outbox"
)

// declarative is the magic number of Declarative Web Push: Safari shows the
// notification from the JSON alone, other browsers hand it to the service worker.
const declarative = 8030

type payload struct {
	WebPush      int          `json:"web_push"`
	Notification notification `json:"notification"`
}

type notification struct {
	Title    string `json:"title"`
	Body     string `json:"body"`
	Navigate string `json:"navigate"`
	Lang     string `json:"lang"`
	Tag      string `json:"tag"` // the event id: a second copy replaces the first
	Data     data   `json:"data"`
}

type data struct {
	EventID   string       `json:"event_id"`
	WatchID   string       `json:"watch_id"`
	Price     money.Amount `json:"price"`
	CheckedAt time.Time    `json:"checked_at"`
}

// message renders an alert from what was checked for one subscription.
func (p *pass) message(j outbox.Job, v verdict, s outbox.Subscription) outbox.Message {
	now := p.Now()
	title, body := Words(j, v.checked, v.also)
	content := payload{declarative, notification{
		Title: title, Body: body, Lang: Language(j.User.Locale), Tag: j.Entry.EventID,
		Navigate: cmp.Or(p.PublicURL, s.Origin) + "/watches/" + j.Watch.ID,
		Data:     data{j.Entry.EventID, j.Watch.ID, v.checked.Price, v.checked.At.UTC()},
	}}
	encoded, err := json.Marshal(content)
	if err != nil {
		panic(err) // strings, amounts and a time always encode
	}
	return outbox.Message{
		EventID: j.Entry.EventID, Body: encoded,
		TTL: min(p.TTL, j.Entry.DetectedAt.Add(outbox.Lifetime).Sub(now)),
	}
}
