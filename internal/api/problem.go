package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sokone/sokone/internal/shop"
	"github.com/sokone/sokone/internal/watch"
)

// Problem is an error as RFC 9457 has it. Kind, WatchID and errors are members
// of our own.
type Problem struct {
	Type    string  `json:"type" doc:"Always about:blank: the status says what it is."`
	Title   string  `json:"title"`
	Status  int     `json:"status"`
	Detail  string  `json:"detail,omitempty" doc:"A sentence that a person can act on."`
	Errors  []Field `json:"errors,omitempty" doc:"The fields at fault."`
	Kind    string  `json:"kind,omitempty" doc:"Why a shop could not be read."`
	WatchID string  `json:"watch_id,omitempty" doc:"With 409: the watch that exists already."`

	retryAfter time.Duration
}

// Field is one field at fault.
type Field struct {
	Location string `json:"location" doc:"Where it is, as in body.triggers[0].target."`
	Message  string `json:"message"`
}

// Error, GetStatus, ContentType and GetHeaders make it an error that huma writes.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of RFC 9457 section 3.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders adds Retry-After where it is known.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	return h
}

func problem(status int, detail string, fields ...Field) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Errors: fields}
}

// field is a 422 about one field.
func field(location, format string, args ...any) *Problem {
	message := fmt.Sprintf(format, args...)
	return problem(http.StatusUnprocessableEntity, message, Field{location, message})
}

// huma makes its own errors (of validation, of size) through this hook; ours
// names the field and does not echo what was sent.
func init() {
	huma.DefaultArrayNullable = false // lists are empty, never null
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		p := problem(status, message)
		for _, err := range errs {
			var d huma.ErrorDetailer
			switch {
			case err == nil:
			case errors.As(err, &d):
				p.Errors = append(p.Errors, fieldOf(d.ErrorDetail()))
			default:
				p.Errors = append(p.Errors, Field{"body", plain(err.Error())})
			}
		}
		if len(p.Errors) > 0 { // "validation failed" helps nobody
			p.Detail = p.Errors[0].Location + ": " + p.Errors[0].Message
		}
		if status >= 500 {
			return problem(status, "Something went wrong on this server. It has been noted.")
		}
		return p
	}
}

// missing is huma's message for a member that must be there; it names the member,
// where we name it in the location.
var missing = regexp.MustCompile(`^expected required property (\S+) to be present$`)

func fieldOf(d *huma.ErrorDetail) Field {
	if m := missing.FindStringSubmatch(d.Message); m != nil {
		return Field{d.Location + "." + m[1], "is missing"}
	}
	return Field{d.Location, plain(d.Message)}
}

// plain keeps the names of our types out of what encoding/json says.
func plain(message string) string {
	if rest, ok := strings.CutPrefix(message, "json: cannot unmarshal "); ok {
		kind, _, _ := strings.Cut(rest, " into ")
		return "a " + kind + " does not fit here; see /api/openapi.json"
	}
	return message
}

// fault turns an error of the layers below into what the client may see. What
// it does not know is internal: whole in the log, and no word of it outside.
func (a *API) fault(ctx context.Context, err error) error {
	var p *Problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return p
	case errors.Is(err, watch.ErrNotFound):
		return problem(http.StatusNotFound, "There is no such thing of yours.")
	case errors.Is(err, watch.ErrConflict):
		return problem(http.StatusConflict, "You watch this product already.")
	case errors.Is(err, watch.ErrLimit):
		return problem(http.StatusUnprocessableEntity, fmt.Sprintf("You have %d watches, which is the most that this server keeps. Remove one first.", a.MaxWatches))
	case errors.Is(err, context.Canceled):
		return problem(499, "The request was given up.")
	}
	a.Logger.ErrorContext(ctx, "api: internal error", "error", err, "request_id", requestID(ctx))
	return problem(http.StatusInternalServerError, "Something went wrong on this server. It has been noted.")
}

// shopFault says why a shop gave no quote. What is wrong with the address or
// the page is the sender's to change (422); the rest may pass by itself (502).
func shopFault(err error) error {
	e := shop.AsError(err)
	switch e.Kind {
	case shop.KindRefused, shop.KindEmpty, shop.KindParse:
		p := field("body.url", "%s", e.Message)
		p.Kind = string(e.Kind)
		return p
	}
	p := problem(http.StatusBadGateway, e.Message, Field{"body.url", e.Message})
	p.Kind, p.retryAfter = string(e.Kind), e.RetryAfter
	return p
}

// problem writes one outside of huma.
func (a *API) problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(problem(status, detail)) // the client is gone, if anything
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone, if anything
}
