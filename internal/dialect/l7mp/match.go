package l7mp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/model"
)

// predicate is a JSON predicate.
type predicate struct {
	Op         string      `json:"op"`
	Path       string      `json:"path"`
	Value      any         `json:"value"`
	IgnoreCase bool        `json:"ignore_case"`
	Apply      []predicate `json:"apply"`
}

// match reads a match. It returns alternatives: one of them has to match. It reports false for a predicate that is
// invalid or has an operator that is not implemented.
func (p *parser) match(of *apiextensionsv1.JSON, protocol model.Protocol, path string) ([]model.Match, bool) {
	if of == nil || string(of.Raw) == "null" {
		return []model.Match{{}}, true
	}
	if _, is := text(of.Raw); is {
		return []model.Match{{}}, true
	}
	var from predicate
	if !p.decode(of.Raw, &from, path) {
		return nil, false
	}
	whole, ok := p.predicate(from, path)
	if !ok {
		return nil, false
	}
	if protocol == model.HTTP {
		if all, ok := whole.matches(); ok {
			return all, true
		}
	}
	return []model.Match{{Predicate: &whole.Predicate}}, true
}

// checked is a valid predicate.
type checked struct{ model.Predicate }

// operators are those of the model, with whether they need a value.
var operators = map[string]bool{
	"test": true, "contains": true, "starts": true, "ends": true, "matches": true, "in": true, "less": true, "more": true,
	"defined": false, "undefined": false,
}

// missingOperators are valid, and the model does not have them.
var missingOperators = []string{"type", "contained", "intersects"}

// predicate checks a predicate.
func (p *parser) predicate(of predicate, path string) (checked, bool) {
	out := model.Predicate{Op: of.Op, Path: of.Path, Value: of.Value, IgnoreCase: of.IgnoreCase}
	switch needsValue, known := operators[of.Op]; {
	case of.Op == "and" || of.Op == "or" || of.Op == "not":
		if of.Path != "" {
			p.report(path+".path", model.CodeFieldNotImplemented,
				"a path of the operator %s is not implemented yet; the rule matches nothing", of.Op)
			return checked{}, false
		}
		for i, inner := range of.Apply {
			c, ok := p.predicate(inner, fmt.Sprintf("%s.apply[%d]", path, i))
			if !ok {
				return checked{}, false
			}
			out.Apply = append(out.Apply, c.Predicate)
		}
		return checked{out}, true
	case slices.Contains(missingOperators, of.Op):
		p.report(path+".op", model.CodeFieldNotImplemented,
			"the operator %s is not implemented yet; the rule matches nothing", of.Op)
	case !known:
		p.report(path+".op", model.CodeInvalidField, "%q is not an operator; the rule matches nothing", of.Op)
	case of.Path == "":
		p.report(path+".path", model.CodeInvalidField, "is missing; the rule matches nothing")
	case needsValue && of.Value == nil:
		p.report(path+".value", model.CodeInvalidField, "is missing; the rule matches nothing")
	default:
		if of.Op != "matches" {
			return checked{out}, true
		}
		if s, is := of.Value.(string); is {
			if _, err := regexp.Compile(s); err == nil {
				return checked{out}, true
			}
		}
		p.report(path+".value", model.CodeInvalidField, "is not a regular expression; the rule matches nothing")
	}
	return checked{}, false
}

// matches returns the predicate as conditions on the method, the path and the headers of requests, if it can be said
// so.
func (c checked) matches() ([]model.Match, bool) {
	switch c.Op {
	case "or":
		var out []model.Match
		for _, inner := range c.Apply {
			all, ok := checked{inner}.matches()
			if !ok {
				return nil, false
			}
			out = append(out, all...)
		}
		return out, len(out) > 0
	case "and":
		out := model.Match{}
		for _, inner := range c.Apply {
			all, ok := checked{inner}.matches()
			if !ok || len(all) != 1 || !join(&out, all[0]) {
				return nil, false
			}
		}
		return []model.Match{out}, true
	}
	out := model.Match{}
	value, isText := c.Value.(string)
	pointer := strings.Split(strings.Trim(c.Path, "/"), "/")
	switch {
	case slices.Equal(pointer, []string{"HTTP", "method"}) && c.Op == "test" && isText && !c.IgnoreCase:
		out.Method = value
	// The path of the metadata includes the query, so that only its beginning can be compared.
	case slices.Equal(pointer, []string{"HTTP", "url", "path"}) && c.Op == "starts" && isText && !c.IgnoreCase &&
		!strings.Contains(value, "?"):
		out.Path = model.StringMatch{Kind: model.Prefix, Value: value}
	case len(pointer) == 3 && pointer[0] == "HTTP" && pointer[1] == "headers":
		field, ok := headerMatch(pointer[2], c.Predicate)
		if !ok {
			return nil, false
		}
		out.Headers = []model.FieldMatch{field}
	default:
		return nil, false
	}
	return []model.Match{out}, true
}

// headerMatch returns a predicate on a header. The metadata has the names of headers in lower case.
func headerMatch(name string, p model.Predicate) (model.FieldMatch, bool) {
	out := model.FieldMatch{Name: name, Kind: model.Present}
	value, isText := p.Value.(string)
	pattern := map[string]string{
		"test": `%s`, "starts": `%s.*`, "ends": `.*%s`, "contains": `.*%s.*`, "matches": `.*(?:%s).*`,
	}[p.Op]
	switch {
	case name != strings.ToLower(name):
		return out, false
	case p.Op == "defined":
		return out, true
	case p.Op == "undefined":
		out.Invert = true
		return out, true
	case pattern == "" || !isText:
		return out, false
	}
	if kind, is := map[string]model.MatchKind{
		"test": model.Exact, "starts": model.Prefix, "ends": model.Suffix,
	}[p.Op]; is && !p.IgnoreCase {
		out.Kind, out.Value = kind, value
		return out, true
	}
	if p.Op != "matches" {
		value = regexp.QuoteMeta(value)
	}
	flags := "(?s)"
	if p.IgnoreCase {
		flags = "(?si)"
	}
	out.Kind, out.Value = model.Regex, flags+fmt.Sprintf(pattern, value)
	return out, true
}

// join adds the conditions of a match to another one. It reports false if both have the same one.
func join(to *model.Match, more model.Match) bool {
	if to.Method != "" && more.Method != "" || to.Path.Kind != "" && more.Path.Kind != "" {
		return false
	}
	to.Method += more.Method
	if more.Path.Kind != "" {
		to.Path = more.Path
	}
	to.Headers = append(to.Headers, more.Headers...)
	return true
}

// rewrite reads rewrites. Those of headers change requests; all others change the metadata only.
func (p *parser) rewrite(all []api.Rewrite, protocol model.Protocol, path string) *model.Rewrite {
	if len(all) == 0 {
		return nil
	}
	out := &model.Rewrite{}
	for i, of := range all {
		var value any
		switch at := fmt.Sprintf("%s[%d]", path, i); {
		case of.ValueStr != nil:
			value = *of.ValueStr
		case of.Value == nil:
			p.report(at+".value", model.CodeInvalidField, "is missing")
			continue
		case json.Unmarshal(of.Value.Raw, &value) != nil:
			p.report(at+".value", model.CodeInvalidField, "is not JSON")
			continue
		}
		pointer := strings.Split(strings.Trim(of.Path, "/"), "/")
		header := protocol == model.HTTP && len(pointer) == 3 && pointer[0] == "HTTP" && pointer[1] == "headers" &&
			pointer[2] != "host"
		if s, is := value.(string); is && header {
			out.Headers = append(out.Headers, model.Header{Name: pointer[2], Value: s})
		} else {
			out.Metadata = append(out.Metadata, model.MetadataSet{Path: of.Path, Value: value})
		}
	}
	return out
}
