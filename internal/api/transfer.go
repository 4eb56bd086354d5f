package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/watch"
)

// exportFormat is the version of the file.
const exportFormat = 1

// importLimit is room for a few hundred watches with their history.
const importLimit = 8 << 20

// Export is all of a user's watches with what was seen.
type Export struct {
	Format     int             `json:"format" minimum:"1" maximum:"1" doc:"The version of this form."`
	ExportedAt time.Time       `json:"exported_at,omitempty"`
	Watches    []ExportedWatch `json:"watches" maxItems:"1000"`
}

// ExportedWatch is a watch, and the history of its listing. History is not read
// back: a listing is shared by all who watch it, and only what this server saw
// itself may be in its history.
type ExportedWatch struct {
	URL       string          `json:"url" minLength:"1" maxLength:"4096"`
	Name      string          `json:"name,omitempty" maxLength:"300"`
	Triggers  []Trigger       `json:"triggers" maxItems:"5"`
	Basis     string          `json:"basis,omitempty" enum:"price,total,effective"`
	Note      string          `json:"note,omitempty" maxLength:"500"`
	Paused    bool            `json:"paused,omitempty"`
	Quantity  *Quantity       `json:"quantity,omitempty" doc:"What the package holds, where its owner corrected it."`
	Reference Nullable[Money] `json:"reference" doc:"What a drop is measured from; its currency is the watch's. Null where no price was ever seen."`
	CreatedAt time.Time       `json:"created_at,omitempty"`
	History   []Point         `json:"history,omitempty" doc:"Not read back."`
}

type exportRequest struct {
	Format string `query:"format" enum:"json,csv" default:"json"`
}

type exportAnswer struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

type importRequest struct{ Body Export }

type importAnswer struct {
	Body struct {
		Imported int `json:"imported"`
		Skipped  int `json:"skipped" doc:"Watched already."`
	}
}

func (a *API) transferRoutes(h huma.API) {
	export := a.private(h, http.MethodGet, "/export", "export", "All watches with their history, as JSON or CSV", http.StatusOK)
	export.Responses = map[string]*huma.Response{"200": {Description: "A file", Content: map[string]*huma.MediaType{
		"application/json": {Schema: h.OpenAPI().Components.Schemas.Schema(typeOfExport, true, "")}, "text/csv": {}}}}
	huma.Register(h, export, a.export)
	imp := a.private(h, http.MethodPost, "/import", "import", "Bring watches of an export back", http.StatusOK)
	imp.MaxBodyBytes = importLimit
	huma.Register(h, imp, a.importWatches)
}

func (a *API) export(ctx context.Context, in *exportRequest) (*exportAnswer, error) {
	ws, err := a.Store.Watches(ctx, callerOf(ctx).user.ID)
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	e := Export{Format: exportFormat, ExportedAt: a.Now().UTC(), Watches: []ExportedWatch{}}
	for _, w := range ws {
		v := watchOf(w)
		x := ExportedWatch{URL: v.Listing.URL, Name: v.Listing.Name, Triggers: v.Triggers, Basis: v.Basis, Note: v.Note, Paused: v.Paused, Reference: v.Reference, CreatedAt: v.CreatedAt}
		if q := w.Watch.Quantity; q.Known() {
			x.Quantity = &Quantity{q.Amount, q.Unit}
		}
		h, err := a.Store.History(ctx, w.Listing.ID)
		if err != nil {
			return nil, a.fault(ctx, err)
		}
		for _, p := range h.Points {
			x.History = append(x.History, pointOf(p))
		}
		e.Watches = append(e.Watches, x)
	}
	name := "sokone-" + a.Now().UTC().Format(time.DateOnly)
	if in.Format == "csv" {
		body, err := watchesCSV(ws)
		if err != nil {
			return nil, a.fault(ctx, err)
		}
		return &exportAnswer{"text/csv; charset=utf-8", fmt.Sprintf("attachment; filename=%q", name+".csv"), body}, nil
	}
	body, err := json.Marshal(e)
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	return &exportAnswer{"application/json", fmt.Sprintf("attachment; filename=%q", name+".json"), body}, nil
}

func watchesCSV(ws []watch.Watched) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("\ufeff") // spreadsheets take the file for UTF-8 only with it
	w := csv.NewWriter(&b)
	if err := w.Write([]string{"name", "url", "price", "currency", "availability", "triggers", "reference", "note", "created_at"}); err != nil {
		return nil, err
	}
	for _, x := range ws {
		v := watchOf(x)
		types := make([]string, len(v.Triggers))
		for i, t := range v.Triggers {
			types[i] = t.Type
		}
		row := []string{v.Listing.Name, v.Listing.URL, v.Listing.Price.Value.Amount, v.Listing.Price.Value.Currency, v.Listing.Availability,
			strings.Join(types, " "), v.Reference.Value.Amount, v.Note, v.CreatedAt.Format(time.RFC3339)}
		for i := range row {
			row[i] = plainCell(row[i])
		}
		if err := w.Write(row); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// plainCell keeps a spreadsheet from taking a hostile product name for a formula.
func plainCell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// importWatches makes watches without asking the shops: detection reads them at
// its next pass. Nothing is imported unless all can be.
func (a *API) importWatches(ctx context.Context, in *importRequest) (*importAnswer, error) {
	user := callerOf(ctx).user
	var ws []watch.Watched
	for i, x := range in.Body.Watches {
		w, err := a.imported(fmt.Sprintf("body.watches[%d]", i), x)
		if err != nil {
			return nil, err
		}
		w.Watch.UserID = user.ID
		ws = append(ws, w)
	}
	n, err := a.Store.ImportWatches(ctx, user.ID, ws, a.MaxWatches)
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	out := &importAnswer{}
	out.Body.Imported, out.Body.Skipped = n, len(ws)-n
	return out, nil
}

func (a *API) imported(at string, x ExportedWatch) (watch.Watched, error) {
	ref, err := a.Shops.Resolve(x.URL)
	if err != nil {
		p := shopFault(err).(*Problem)
		p.Errors[0].Location = at + ".url"
		return watch.Watched{}, p
	}
	o := watch.Observation{}
	if r := x.Reference; r.Valid {
		if o.Price, err = money.Parse(r.Value.Amount, r.Value.Currency); err != nil || !o.Price.Positive() {
			return watch.Watched{}, field(at+".reference", "This is no price above zero.")
		}
	}
	for _, t := range x.Triggers {
		if t.Target != nil && !o.Price.Known() { // no price was seen in the basis, and yet the currency is known
			o.Price, _ = money.Parse(t.Target.Amount, t.Target.Currency) // a fault is told of the trigger
		}
	}
	if x.Quantity != nil {
		if o.Quantity, err = contents(at+".quantity", *x.Quantity); err != nil {
			return watch.Watched{}, err
		}
	}
	ts, err := importedTriggers(at, x.Triggers, o)
	if err != nil {
		return watch.Watched{}, err
	}
	w := watch.New(watch.Watch{ID: rand.Text(), Triggers: ts, Basis: watch.BasisPrice, Note: x.Note, Paused: x.Paused, Quantity: o.Quantity, CreatedAt: a.Now()}, o)
	if !x.Reference.Valid {
		w.Reference = money.Amount{}
	}
	if x.Basis != "" {
		w.Basis = watch.Basis(x.Basis)
	}
	l := watch.Listing{ID: rand.Text(), Ref: ref, Name: x.Name, NextCheckAt: a.Now()}
	return watch.Watched{Watch: w, Listing: l}, nil
}

// importedTriggers takes a unit price on trust: the quantity is not known before
// the first poll, and the trigger stays silent until it is.
func importedTriggers(at string, sent []Trigger, o watch.Observation) ([]watch.Trigger, error) {
	for _, t := range sent {
		if t.Unit != nil && !o.Quantity.Known() {
			o.Quantity = quantityFor(*t.Unit)
		}
	}
	ts, err := triggers(sent, o)
	if p, ok := err.(*Problem); ok {
		for i := range p.Errors {
			p.Errors[i].Location = at + strings.TrimPrefix(p.Errors[i].Location, "body")
		}
	}
	return ts, err
}
