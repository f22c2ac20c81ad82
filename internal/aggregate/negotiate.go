package aggregate

import (
	"mime"
	"strings"
)

// form is the representation of objects in an answer.
type form int

const (
	formNone form = iota
	formJSON
	formTable
	formPartial
)

// negotiate returns the first form of an Accept header that the cache offers, or formNone.
func negotiate(accept []string, watch bool) form {
	text := strings.Join(accept, ",")
	if strings.TrimSpace(text) == "" {
		return formJSON
	}
	for part := range strings.SplitSeq(text, ",") {
		kind, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		switch kind {
		case "application/json", "application/*", "*/*":
		default:
			continue
		}
		if stream := parameters["stream"]; stream != "" && (stream != "watch" || !watch) {
			continue
		}
		switch group := parameters["g"]; parameters["as"] {
		case "":
			return formJSON
		case "Table":
			if group == "meta.k8s.io" && parameters["v"] == "v1" {
				return formTable
			}
		case "PartialObjectMetadata", "PartialObjectMetadataList":
			if group == "meta.k8s.io" && parameters["v"] == "v1" {
				return formPartial
			}
		}
	}
	return formNone
}
