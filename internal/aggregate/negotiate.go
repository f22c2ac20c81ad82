package aggregate

import (
	"cmp"
	"mime"
	"slices"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/internal/aggregate/rewrite"
)

// form is the representation of objects in an answer.
type form int

const (
	formNone form = iota
	formFull
	formTable
	formPartial
)

// format is a form and its encoding: JSON, or protobuf of Kubernetes.
type format struct {
	form     form
	protobuf bool
}

func (f format) mediaType() string {
	if f.protobuf {
		return rewrite.Protobuf
	}
	return rewrite.JSON
}

// clause is an element of an Accept header.
type clause struct {
	format
	weight float64
}

// negotiate returns the format of an Accept header that the client prefers, or formNone. JSON comes before protobuf for
// clients that accept both with the same weight, because objects are stored as JSON. The kind has protobuf if a Go type
// of it is known; its metadata always has.
func negotiate(accept []string, watch, hasProtobuf bool) format {
	text := strings.Join(accept, ",")
	if strings.TrimSpace(text) == "" {
		return format{form: formFull}
	}
	var clauses []clause
	for part := range strings.SplitSeq(text, ",") {
		if c, ok := parseClause(part, watch, hasProtobuf); ok {
			clauses = append(clauses, c)
		}
	}
	if len(clauses) == 0 {
		return format{}
	}
	slices.SortStableFunc(clauses, func(a, b clause) int { return cmp.Compare(b.weight, a.weight) })
	best := clauses[0]
	if json := (clause{format{form: best.form}, best.weight}); slices.Contains(clauses, json) {
		return json.format
	}
	return best.format
}

// parseClause returns false for media types that the cache does not offer.
func parseClause(text string, watch, hasProtobuf bool) (clause, bool) {
	kind, parameters, err := mime.ParseMediaType(text)
	if err != nil {
		return clause{}, false
	}
	c := clause{weight: 1}
	if q, ok := parameters["q"]; ok {
		if c.weight, err = strconv.ParseFloat(q, 64); err != nil || c.weight <= 0 {
			return clause{}, false
		}
	}
	switch kind {
	case "application/json", "application/*", "*/*":
	case rewrite.Protobuf:
		c.protobuf = true
	default:
		return clause{}, false
	}
	if stream := parameters["stream"]; stream != "" && (stream != "watch" || !watch) {
		return clause{}, false
	}
	as := parameters["as"]
	if as != "" && (parameters["g"] != "meta.k8s.io" || parameters["v"] != "v1") {
		return clause{}, false
	}
	switch as {
	case "":
		c.form = formFull
		return c, !c.protobuf || hasProtobuf
	case "Table":
		c.form = formTable
		return c, !c.protobuf // A Table has cells of any type, and no protobuf.
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		c.form = formPartial
		return c, true
	}
	return clause{}, false
}
