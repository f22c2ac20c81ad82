package native

import (
	"regexp"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
)

// rewrites returns the changes of the metadata by a route that matches a path. Those of the host, the path and of
// headers change requests.
func rewrites(of model.Rewrite, matched model.StringMatch) []config.Rewrite {
	var out []config.Rewrite
	if of.Host != "" {
		out = append(out, config.Rewrite{Path: "/HTTP/headers/host", Value: of.Host})
	}
	if pattern, value := pathRewrite(of, matched); pattern != "" {
		out = append(out, config.Rewrite{Path: "/HTTP/url/path", Pattern: pattern, Value: value})
	}
	for _, h := range of.Headers {
		out = append(out, config.Rewrite{Path: "/HTTP/headers/" + strings.ToLower(h.Name), Value: h.Value})
	}
	for _, m := range of.Metadata {
		out = append(out, config.Rewrite{Path: m.Path, Value: m.Value})
	}
	return out
}

// pathRewrite returns what is replaced in a path with query, and the value; no pattern for nothing.
func pathRewrite(of model.Rewrite, matched model.StringMatch) (pattern, value string) {
	switch {
	case of.Path != "":
		return `\A[^?]*`, of.Path
	case of.PathPrefix == nil:
		return "", ""
	case matched.Kind == model.Prefix:
		return `\A` + regexp.QuoteMeta(matched.Value), *of.PathPrefix
	case matched.Kind != model.PathPrefix:
		return "", ""
	}
	from, to := matched.PathElements(), strings.TrimRight(*of.PathPrefix, "/")
	pattern = `\A` + regexp.QuoteMeta(from)
	if to == "" || from == "" { // if nothing is left of the path, it becomes "/"
		return pattern + "/?", to + "/"
	}
	return pattern, to
}
