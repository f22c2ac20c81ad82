// Package phrases describes values of the model in English.
//
// In: matches, retries, timeouts, outcomes. Out: phrases for the output of commands; equal values have equal phrases.
package phrases

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"anymesh.dev/anymesh/model"
)

// Match describes the requests that match.
func Match(m model.Match) string {
	parts := Conditions(m)
	if len(parts) == 0 {
		return "any request"
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return strings.Join(texts, ", ")
}

// Condition is one condition of a match, as text and as a match with this condition only.
type Condition struct {
	Text  string
	Match model.Match
}

// Conditions splits a match into its conditions; all of them must hold.
func Conditions(m model.Match) []Condition {
	var out []Condition
	if len(m.Hosts) > 0 {
		out = append(out, Condition{"host " + strings.Join(m.Hosts, " or "), model.Match{Hosts: m.Hosts}})
	}
	if m.Path.Kind != "" {
		out = append(out, Condition{"path " + comparison(m.Path.Kind, m.Path.Value), model.Match{Path: m.Path}})
	}
	if m.Method != "" {
		out = append(out, Condition{"method " + m.Method, model.Match{Method: m.Method}})
	}
	if m.Scheme != "" {
		out = append(out, Condition{"scheme " + m.Scheme, model.Match{Scheme: m.Scheme}})
	}
	for _, h := range m.Headers {
		out = append(out, Condition{"header " + field(h), model.Match{Headers: []model.FieldMatch{h}}})
	}
	for _, q := range m.Query {
		out = append(out, Condition{"query parameter " + field(q), model.Match{Query: []model.FieldMatch{q}}})
	}
	if m.Predicate != nil {
		out = append(out, Condition{"a condition on the connection's metadata", model.Match{Predicate: m.Predicate}})
	}
	return out
}

func comparison(kind model.MatchKind, value string) string {
	switch kind {
	case model.Prefix:
		return "begins with " + value
	case model.PathPrefix:
		return "is " + value + " or below"
	case model.Suffix:
		return "ends with " + value
	case model.Regex:
		return "matches " + value
	}
	return "is " + value
}

func field(f model.FieldMatch) string {
	var text string
	switch f.Kind {
	case model.Present:
		text = "is present"
	case model.Range:
		text = fmt.Sprintf("is in [%d, %d)", f.Start, f.End)
	default:
		text = comparison(f.Kind, f.Value)
	}
	if f.Invert {
		text = "not: " + text
	}
	return f.Name + " " + text
}

// Rewrites describes the changes of a request that a route makes; none if it is nil.
func Rewrites(r *model.Rewrite) []string {
	if r == nil {
		return nil
	}
	var out []string
	if r.Host != "" {
		out = append(out, "host to "+r.Host)
	}
	if r.Path != "" {
		out = append(out, "path to "+r.Path)
	}
	if r.PathPrefix != nil {
		out = append(out, fmt.Sprintf("the matched prefix to %q", *r.PathPrefix))
	}
	for _, h := range r.Headers {
		out = append(out, fmt.Sprintf("header %s to %s", h.Name, h.Value))
	}
	for _, m := range r.Metadata {
		out = append(out, fmt.Sprintf("metadata %s to %v", m.Path, m.Value))
	}
	return out
}

// Retry describes a retry policy.
func Retry(r model.Retry) string {
	if r.Retries == 0 {
		return "none"
	}
	var on []string
	for _, cause := range r.Conditions {
		on = append(on, string(cause))
	}
	if len(r.StatusCodes) > 0 {
		on = append(on, "status "+Numbers(r.StatusCodes))
	}
	text := fmt.Sprintf("up to %d", r.Retries)
	if r.PerTry > 0 {
		text += ", per-try timeout " + Duration(r.PerTry)
	}
	if r.Pause > 0 {
		text += ", each after " + Duration(r.Pause)
	}
	if len(on) > 0 {
		text += ", on " + strings.Join(on, ", ")
	}
	if r.Backoff > 0 {
		text += ", first after at most " + Duration(r.Backoff)
	}
	if r.AvoidPreviousHosts {
		text += ", on another host if available"
	}
	return text
}

// Timeouts describes timeouts.
func Timeouts(t model.Timeouts) string {
	limit := func(d model.Duration) string {
		if d == 0 {
			return "no limit"
		}
		return Duration(d)
	}
	return "request " + limit(t.Request) + ", idle " + limit(t.Idle)
}

// Duration formats a duration without trailing zero units: 5m, not 5m0s.
func Duration(d model.Duration) string {
	text := time.Duration(d).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if cut, ok := strings.CutSuffix(text, zero); ok {
			text = cut + zero[:1]
		}
	}
	return text
}

// Numbers lists numbers in order, with ranges for three or more consecutive numbers: 500-508, 510.
func Numbers(all []uint16) string {
	all = slices.Sorted(slices.Values(all))
	var parts []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		if j-i >= 2 {
			parts = append(parts, fmt.Sprintf("%d-%d", all[i], all[j]))
			i = j + 1
			continue
		}
		parts = append(parts, strconv.Itoa(int(all[i])))
		i++
	}
	return strings.Join(parts, ", ")
}

// Share formats weight/total as a percentage with one decimal.
func Share(weight, total uint32) string {
	if total == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(weight)/float64(total))
}

// Outcome describes the outcome of a request.
func Outcome(o model.Outcome, p model.Protocol) string {
	switch o {
	case model.Forwarded:
		return "forwarded"
	case model.ToApplication:
		return "delivered to the application"
	case model.PassedThrough:
		return "passed through unchanged to its original destination"
	case model.Resolved:
		return "forwarded to the address to which the sidecar resolves its TLS server name"
	case model.NotFound:
		if p == model.GRPC {
			return "the sidecar responds with gRPC status UNIMPLEMENTED"
		}
		return "the sidecar responds with status 404"
	case model.Malformed:
		return "the sidecar responds with status 400"
	case model.Redirected:
		return "the sidecar redirects the client"
	case model.Denied:
		return "the sidecar denies the request"
	case model.Refused:
		return "the sidecar resets the connection"
	case model.NotHTTP:
		return "the sidecar responds with status 400 without TLS: the client does not send HTTP"
	case model.Unavailable:
		return refusal(p) + ": no endpoint is available"
	case model.Overflow:
		return refusal(p) + ": a limit of the listener is reached"
	case model.RateLimited:
		return "the sidecar refuses the request: a rate limit of the listener is exhausted"
	}
	return string(o)
}

// refusal is how a sidecar refuses requests for the moment.
func refusal(p model.Protocol) string {
	switch {
	case p == model.GRPC:
		return "the sidecar responds with gRPC status UNAVAILABLE"
	case !p.Requests():
		return "the sidecar resets the connection"
	}
	return "the sidecar responds with status 503"
}
