package envoy

import (
	"math"
	"math/bits"
	"regexp/syntax"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	"anymesh.dev/anymesh/model"
)

// Envoy rejects a whole resource if one value in it is invalid. The functions in this file keep such values out of
// resources.

const (
	// maxDuration is below Envoy's maximum, and long enough to mean "no limit".
	maxDuration = 100 * 365 * 24 * time.Hour
	// maxRegexProgramSize limits the RE2 program size of a regular expression. RE2's own limit is about three times as
	// high; Envoy's default is 100, App Mesh's was 1000.
	maxRegexProgramSize = 100_000
)

// skipRoute reports a route that is not rendered.
func (r *renderer) skipRoute(route model.Route, fault string) {
	r.findings = append(r.findings, model.NewFinding(route.Origin, model.CodeInvalidField,
		"route "+route.Name+" is skipped, because Envoy does not support it: "+fault))
}

// unsupportedMatch returns the part of a match that Envoy does not support, or "".
func unsupportedMatch(m model.Match) string {
	if m.Path.Kind == model.Suffix || m.Path.Kind == model.Range || m.Path.Kind == model.Present {
		return "paths cannot be matched by " + string(m.Path.Kind)
	}
	if m.Path.Kind == model.Regex && regexTooLarge(m.Path.Value) {
		return "the regular expression for the path is too large"
	}
	if m.Predicate != nil || len(m.Hosts) > 0 {
		return "it has conditions on metadata or hosts"
	}
	for _, f := range m.Headers {
		if f.Kind == model.Regex && regexTooLarge(f.Value) {
			return "the regular expression for header " + f.Name + " is too large"
		}
	}
	for _, f := range m.Query {
		switch {
		case f.Kind == model.Range || f.Invert:
			return "query parameters cannot be matched by range or inverted"
		case f.Kind == model.Regex && regexTooLarge(f.Value):
			return "the regular expression for query parameter " + f.Name + " is too large"
		}
	}
	return ""
}

// regexTooLarge estimates conservatively whether the RE2 program of an expression exceeds maxRegexProgramSize. Go's
// compiler creates a similar program, but with characters instead of bytes.
func regexTooLarge(expression string) bool {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return true
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return true
	}
	size := 0
	for _, i := range program.Inst {
		size++
		switch i.Op {
		case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			size += rangeSize(0, utf8.MaxRune)
		case syntax.InstRune:
			for j := 0; j+1 < len(i.Rune); j += 2 {
				size += rangeSize(i.Rune[j], i.Rune[j+1])
			}
		}
	}
	return size > maxRegexProgramSize
}

// rangeSize is an upper bound of the instructions for a range of characters in UTF-8: per encoding length, one
// sequence for each part of the range with different first or last bytes.
func rangeSize(from, to rune) int {
	size, low := 0, rune(0)
	for n, high := range []rune{0x7f, 0x7ff, 0xffff, utf8.MaxRune} {
		if from <= high && to >= low {
			size += (2*n + 1) * (n + 1)
		}
		low = high + 1
	}
	return size
}

// duration converts a duration, limited to maxDuration.
func duration(d model.Duration) *durationpb.Duration {
	return durationpb.New(min(time.Duration(d), maxDuration))
}

// scaleWeights scales weights down so that their sum fits into 32 bits. No weight becomes 0.
func scaleWeights(all []weightedTarget) []weightedTarget {
	var sum uint64
	for _, t := range all {
		sum += uint64(t.weight)
	}
	if sum <= math.MaxUint32 {
		return all
	}
	shift := bits.Len64(sum) - 31 // one more than needed, so that rounding up has room
	for i := range all {
		all[i].weight = max(1, all[i].weight>>shift)
	}
	return all
}

// rootCause returns the text of the innermost validation error.
func rootCause(err error) string {
	for {
		outer, ok := err.(interface{ Cause() error })
		if !ok || outer.Cause() == nil {
			return err.Error()
		}
		err = outer.Cause()
	}
}
