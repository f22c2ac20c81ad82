package predicate

import (
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/metadata"
)

type matcher func(metadata.Value) bool

// matcher returns the function of an operation on the value at the path.
func (e *expression) matcher() (matcher, error) {
	want := metadata.Of(e.value)
	switch e.op {
	case "defined":
		return func(v metadata.Value) bool { return v.Kind != metadata.Undefined }, nil
	case "undefined":
		return func(v metadata.Value) bool { return v.Kind == metadata.Undefined }, nil
	case "test":
		if e.ignoreCase && want.Kind == metadata.String {
			return func(v metadata.Value) bool {
				return v.Kind == metadata.String && strings.EqualFold(v.Text, want.Text)
			}, nil
		}
		return func(v metadata.Value) bool { return v.Equal(want) }, nil
	case "contains", "starts", "ends":
		return e.text(want)
	case "less", "more":
		if want.Kind != metadata.Number {
			return nil, fmt.Errorf("value: must be a number with op %s", e.op)
		}
		if e.op == "less" {
			return func(v metadata.Value) bool { return v.Kind == metadata.Number && v.Num < want.Num }, nil
		}
		return func(v metadata.Value) bool { return v.Kind == metadata.Number && v.Num > want.Num }, nil
	case "range":
		return e.integers()
	case "within":
		return e.ranges()
	case "matches":
		return e.expression()
	case "type":
		return e.types()
	}
	return e.list()
}

// text returns the function of contains, starts and ends, which take strings; contains also takes lists.
func (e *expression) text(want metadata.Value) (matcher, error) {
	if want.Kind != metadata.String && e.op != "contains" {
		return nil, fmt.Errorf("value: must be a string with op %s", e.op)
	}
	find := map[string]func(s, part string) bool{
		"contains": strings.Contains, "starts": strings.HasPrefix, "ends": strings.HasSuffix,
	}[e.op]
	lower := strings.ToLower(want.Text)
	return func(v metadata.Value) bool {
		switch {
		case v.Kind == metadata.String && want.Kind == metadata.String && e.ignoreCase:
			return find(strings.ToLower(v.Text), lower)
		case v.Kind == metadata.String && want.Kind == metadata.String:
			return find(v.Text, want.Text)
		case v.Kind == metadata.Other && e.op == "contains":
			return has(v.Any, want)
		}
		return false
	}, nil
}

// has reports whether v is a list with the value.
func has(v any, want metadata.Value) bool {
	list, is := v.([]any)
	return is && slices.ContainsFunc(list, func(one any) bool { return metadata.Of(one).Equal(want) })
}

func (e *expression) expression() (matcher, error) {
	text, is := e.value.(string)
	if !is {
		return nil, fmt.Errorf("value: must be a regular expression")
	}
	if e.ignoreCase {
		text = "(?i)" + text
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	return func(v metadata.Value) bool { return v.Kind == metadata.String && compiled.MatchString(v.Text) }, nil
}

// integers returns the function of range: an integer, or the text of one, from the first value up to below the second
// one.
func (e *expression) integers() (matcher, error) {
	limits, _ := e.value.([]any)
	if len(limits) != 2 {
		return nil, fmt.Errorf("value: must be a list of two numbers with op %s", e.op)
	}
	start, end := metadata.Of(limits[0]), metadata.Of(limits[1])
	if start.Kind != metadata.Number || end.Kind != metadata.Number {
		return nil, fmt.Errorf("value: must be a list of two numbers with op %s", e.op)
	}
	return func(v metadata.Value) bool {
		n := v.Num
		switch v.Kind {
		case metadata.Number:
		case metadata.String:
			parsed, err := strconv.ParseInt(v.Text, 10, 64)
			if err != nil {
				return false
			}
			n = float64(parsed)
		default:
			return false
		}
		return n == math.Trunc(n) && start.Num <= n && n < end.Num
	}, nil
}

// ranges returns the function of within: an IP address in one of a list of addresses and ranges.
func (e *expression) ranges() (matcher, error) {
	list, is := e.value.([]any)
	if !is {
		return nil, fmt.Errorf("value: must be a list of IP addresses and ranges with op %s", e.op)
	}
	var ranges []netip.Prefix
	for _, one := range list {
		text, _ := one.(string)
		p, err := config.ParseRange(text)
		if err != nil {
			return nil, fmt.Errorf("value: %q is not an IP address or a range of them", text)
		}
		ranges = append(ranges, p)
	}
	return func(v metadata.Value) bool {
		if v.Kind != metadata.String {
			return false
		}
		a, err := netip.ParseAddr(v.Text)
		return err == nil && slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
	}, nil
}

// list returns the function of in, contained and intersects, whose value is a list.
func (e *expression) list() (matcher, error) {
	if e.op == "contained" { // the list at the path has the value
		want := metadata.Of(e.value)
		return func(v metadata.Value) bool { return v.Kind == metadata.Other && has(v.Any, want) }, nil
	}
	all, is := e.value.([]any)
	if !is {
		return nil, fmt.Errorf("value: must be a list with op %s", e.op)
	}
	values := make([]metadata.Value, len(all))
	for i, one := range all {
		values[i] = metadata.Of(one)
	}
	if e.op == "in" {
		return func(v metadata.Value) bool {
			return v.Kind != metadata.Undefined && slices.ContainsFunc(values, v.Equal)
		}, nil
	}
	return func(v metadata.Value) bool {
		in := func(one metadata.Value) bool { return has(v.Any, one) }
		return v.Kind == metadata.Other && slices.ContainsFunc(values, in)
	}, nil
}
