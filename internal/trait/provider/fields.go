package provider

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"anymesh.dev/anymesh/api/ingress"
)

// pathShape are the characters that Gateway API allows in paths, which are the fewest.
var pathShape = regexp.MustCompile(`^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})+$`)

// maxPath is the limit of Gateway API.
const maxPath = 1024

// CheckPath returns an error unless all providers and the API server accept the path of a rule.
func CheckPath(path string) error {
	if err := ingress.CheckPath(path); err != nil {
		return err
	}
	lower := strings.ToLower(path)
	for _, part := range []string{"//", "/./", "/../", "%2f"} {
		if strings.Contains(lower, part) {
			return fmt.Errorf("the path %q contains %q; proxies normalize it, write the path without it", path, part)
		}
	}
	switch {
	case strings.HasSuffix(path, "/.") || strings.HasSuffix(path, "/.."):
		return fmt.Errorf("the path %q ends with a relative element; write the path without it", path)
	case len(path) > maxPath:
		return fmt.Errorf("the path has %d characters, more than %d", len(path), maxPath)
	case !pathShape.MatchString(path):
		return fmt.Errorf("the path %q has a character that a path of a URL does not allow; write it in percent-encoding",
			path)
	}
	return nil
}

// FieldName returns the path of a field of the rule, for messages.
func (r Rule) FieldName(field string) string { return r.Field + "." + field }

// Unsupported says of a field of the rule what happens instead.
func (r Rule) Unsupported(field, format string, args ...any) Unsupported {
	return Unsupported{Field: r.FieldName(field), Text: fmt.Sprintf(format, args...)}
}

// PathPrefix returns the path without a trailing slash, but for "/": "/a/" and "/a" match the same requests.
func (r Rule) PathPrefix() string {
	if p := strings.TrimRight(r.Path, "/"); p != "" {
		return p
	}
	return "/"
}

// SettableHeaders returns the headers of the rule that a proxy can set, and those that it cannot. Of names that differ
// in case only, it returns the first.
func (r Rule) SettableHeaders() ([]Header, []Unsupported) {
	var out []Header
	var not []Unsupported
	for _, h := range r.Headers {
		err := ingress.CheckHeader(h.Name, h.Value)
		if err == nil && slices.ContainsFunc(out, func(o Header) bool { return strings.EqualFold(o.Name, h.Name) }) {
			err = fmt.Errorf("the header %q occurs twice; names of headers ignore case", h.Name)
		}
		if err != nil {
			not = append(not, r.Unsupported("customHeaders", "the header is not set: %v", err))
			continue
		}
		out = append(out, h)
	}
	return out, not
}

// DefaultService returns the name of the Service of the rule's default backend. It is empty if the rule has none, or
// if it is not a Service, which the second result says.
func (r Rule) DefaultService() (string, []Unsupported) {
	switch {
	case r.Default == nil:
		return "", nil
	case r.Default.Group != "" || r.Default.Kind != "Service":
		return "", []Unsupported{r.Unsupported("defaultBackend", "the default backend is not used: it is a %s, and only a "+
			"Service can be one", r.Default.Kind)}
	}
	return r.Default.Name, nil
}
