// Package phrases says in English what values of the model mean.
//
// In: matches, retries, timeouts, outcomes. Out: phrases that people read in answers of the program, always the same for the same value.
package phrases

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"anymesh.dev/anymesh/model"
)

// Match says which requests a route is for.
func Match(m model.Match) string {
	parts := Conditions(m)
	if len(parts) == 0 {
		return "everything"
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return strings.Join(texts, ", ")
}

// Condition is one part of a match, in words and on its own.
type Condition struct {
	Text  string
	Match model.Match
}

// Conditions takes a match apart; all of them must hold.
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
		text = fmt.Sprintf("is from %d to below %d", f.Start, f.End)
	default:
		text = comparison(f.Kind, f.Value)
	}
	if f.Invert {
		text = "not: " + text
	}
	return f.Name + " " + text
}

// Retry says which failures are tried again, how often.
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
	text := fmt.Sprintf("up to %d more", r.Retries)
	if r.PerTry > 0 {
		text += ", each within " + Duration(r.PerTry)
	}
	if len(on) > 0 {
		text += ", on " + strings.Join(on, ", ")
	}
	if r.AvoidPreviousHosts {
		text += ", on another host if there is one"
	}
	return text
}

// Timeouts says how long things may take.
func Timeouts(t model.Timeouts) string {
	limit := func(d model.Duration) string {
		if d == 0 {
			return "no limit"
		}
		return Duration(d)
	}
	return "request " + limit(t.Request) + ", idle " + limit(t.Idle)
}

// Duration writes whole minutes and seconds without zeros behind: 5m, not 5m0s.
func Duration(d model.Duration) string {
	text := time.Duration(d).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if cut, ok := strings.CutSuffix(text, zero); ok {
			text = cut + zero[:1]
		}
	}
	return text
}

// Numbers writes numbers in order, runs of three and more as ranges: 500-508, 510.
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

// Share gives the part of a whole as a percentage with one decimal.
func Share(weight, total uint32) string {
	if total == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(weight)/float64(total))
}

// Outcome says what becomes of a request.
func Outcome(o model.Outcome, p model.Protocol) string {
	switch o {
	case model.Forwarded:
		return "it is forwarded"
	case model.ToApplication:
		return "the application gets it"
	case model.PassedThrough:
		return "it passes, unchanged, to where the application sent it"
	case model.NotFound:
		if p == model.GRPC {
			return "the sidecar answers UNIMPLEMENTED"
		}
		return "the sidecar answers 404"
	case model.Malformed:
		return "the sidecar answers 400"
	case model.Denied:
		return "the sidecar denies it"
	case model.Refused:
		return "the sidecar resets the connection"
	}
	return string(o)
}
