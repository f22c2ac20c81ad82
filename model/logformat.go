package model

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// logOperator matches an operator of a log format: %NAME%, %NAME(argument)%, %NAME(argument):length%, after the first
// percent sign.
var logOperator = regexp.MustCompile(`^([A-Z0-9_]+)(\([^)\n\r\x00]*\))?(:[0-9]{1,9})?%`)

// CheckLogFormat returns an error for a text that is not a format of log entries. A format is text with operators in
// the format language of Envoy; "%%" is a percent sign. Operators that not all supported versions of Envoy have, or
// whose argument is code, are errors.
func CheckLogFormat(text string) error {
	for {
		_, after, found := strings.Cut(text, "%")
		if !found {
			return nil
		}
		if rest, escaped := strings.CutPrefix(after, "%"); escaped {
			text = rest
			continue
		}
		m := logOperator.FindStringSubmatch(after)
		if m == nil {
			return fmt.Errorf("%q is not an operator of the form %%NAME%%, %%NAME(argument)%% or %%NAME(argument):length%%; "+
				"write %%%% for a percent sign", "%"+start(after))
		}
		if err := checkOperator(m[1], m[2], m[3] != ""); err != nil {
			return fmt.Errorf("operator %%%s%%: %w", m[1], err)
		}
		text = after[len(m[0]):]
	}
}

// start returns the start of a text, for messages.
func start(text string) string {
	const most = 20
	if end := strings.IndexByte(text, '%'); end >= 0 {
		text = text[:end]
	}
	return strings.ToValidUTF8(text[:min(most, len(text))], "")
}

// checkOperator checks an operator. The argument has parentheses, or is empty.
func checkOperator(name, argument string, length bool) error {
	o, known := logOperators[name]
	inner := strings.TrimSuffix(strings.TrimPrefix(argument, "("), ")")
	switch {
	case !known:
		return fmt.Errorf("it is not supported")
	case length && !o.length:
		return fmt.Errorf("it has no length")
	case inner != "" && o.argument == nil:
		return fmt.Errorf("it has no argument")
	case o.argument != nil && inner == "" && o.required:
		return fmt.Errorf("its argument is missing: %%%s(...)%%", name)
	case o.argument != nil && inner != "" && !o.argument(inner):
		return fmt.Errorf("its argument %q is invalid", inner)
	}
	return nil
}

// operator is the syntax of an operator.
type operator struct {
	// argument reports whether an argument is valid; nil for an operator without argument.
	argument func(string) bool
	required bool
	// length is true if the operator accepts a maximum length.
	length bool
}

// LogOperators lists the operators of log formats, sorted.
func LogOperators() []string {
	var out []string
	for name := range logOperators {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
