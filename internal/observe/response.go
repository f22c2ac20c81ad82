package observe

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"anymesh.dev/anymesh/model"
)

// Response is the response of a destination to one try.
type Response struct {
	// Status is an HTTP status or the name of a gRPC status. It is sent after the delay After.
	Status string
	After  time.Duration
	// Reset closes the connection instead of responding.
	Reset bool
	// Pauses are the delays before each part of the body.
	Pauses []time.Duration
}

// String returns the response in the syntax of cases.
func (a Response) String() string {
	var words []string
	switch {
	case a.Reset:
		words = append(words, "reset")
	case a.After > 0:
		words = append(words, a.After.String())
	default:
		words = append(words, a.Status)
	}
	for _, p := range a.Pauses {
		words = append(words, p.String())
	}
	return strings.Join(words, "+")
}

// timed reports whether the response has a delay.
func (a Response) timed() bool { return a.After > 0 || len(a.Pauses) > 0 }

func parseResponses(text string) ([]Response, error) {
	var out []Response
	for _, word := range strings.Fields(text) {
		var a Response
		word, pauses, goesOn := strings.Cut(word, "+")
		after, err := time.ParseDuration(word)
		_, isNumber := strconv.Atoi(word)
		switch {
		case word == "reset" && !goesOn:
			a.Reset = true
		case isNumber == nil || grpcCodes[word] != 0 || word == "ok":
			a.Status = word
		case err == nil:
			a.After = after
		default:
			return nil, fmt.Errorf("(%s): %q is not a status, a duration or \"reset\"", text, word)
		}
		if goesOn {
			for pause := range strings.SplitSeq(pauses, "+") {
				d, err := time.ParseDuration(pause)
				if err != nil {
					return nil, fmt.Errorf("(%s): %q is not a duration", text, pause)
				}
				a.Pauses = append(a.Pauses, d)
			}
		}
		out = append(out, a)
	}
	return out, nil
}

// responseOf returns the response to a try, counted from 1. Without a script, every try succeeds.
func responseOf(script []Response, try int, p model.Protocol) Response {
	var a Response
	if len(script) > 0 {
		a = script[min(try, len(script))-1]
	}
	a.Status = cmp.Or(a.Status, successStatus(p))
	return a
}

func successStatus(p model.Protocol) string {
	switch p {
	case model.GRPC:
		return "ok"
	case model.TCP:
		return complete
	}
	return "200"
}
