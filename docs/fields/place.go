package fields

import (
	"maps"
	"strings"
)

// places selects the list item for a field, by a part of the path; the default is the first item.
var places = []struct {
	part string
	item int
}{
	{"http2Route", 1}, {"grpcRoute", 2}, {"tcpRoute", 3},
	{"timeout.http2", 1}, {"timeout.grpc", 2}, {"timeout.tcp", 3},
	{"connectionPool.http2", 1}, {"connectionPool.grpc", 2}, {"connectionPool.tcp", 3},
	{"tls", 4},
}

// excludes maps a field to the field that must be removed when it is set.
var excludes = map[string]string{
	"path": "prefix", "virtualNode": "virtualRouter", "awsCloudMap": "dns",
	"http2Route": "httpRoute", "grpcRoute": "httpRoute",
	"virtualNodeARN": "virtualNodeRef", "virtualRouterARN": "virtualRouterRef",
	"virtualServiceARN": "virtualServiceRef",
	"sds":               "file", "acm": "file",
	"selector": "spec", "value": "valueStr", "linkedVirtualService": "cluster", "route": "routeRef", "routeRef": "route",
	"destinationRef": "destination", "cluster": "destination",
}

// requires maps a field to other fields that must be set with it.
var requires = map[string]map[string]any{"methodName": {"serviceName": "s"}}

// place sets the field in an object, with minimal parent fields; nil removes the field.
func (f Field) place(object map[string]any, value any) {
	item, path := 0, f.Path()
	for _, p := range places {
		// the dots keep "http" from matching "http2"
		if strings.Contains(path+".", "."+p.part+".") {
			item = p.item
		}
	}
	here := object
	for i, s := range f.steps {
		if i == len(f.steps)-1 {
			delete(here, excludes[s.name])
			maps.Copy(here, requires[s.name])
			if value == nil {
				delete(here, s.name)
			} else {
				here[s.name] = value
			}
			return
		}
		here = s.into(here, Field{f.Kind, f.steps[:i+1]}.Path(), item)
	}
}

// into returns the value of a step, and creates it if it does not exist.
func (s step) into(here map[string]any, path string, item int) map[string]any {
	delete(here, excludes[s.name])
	if !s.list {
		next, ok := here[s.name].(map[string]any)
		if !ok {
			next = minimal(path, s.schema).(map[string]any)
			here[s.name] = next
		}
		return next
	}
	items, _ := here[s.name].([]any)
	if len(items) == 0 {
		items = []any{minimal(path, s.schema)}
		here[s.name] = items
	}
	if item >= len(items) {
		item = 0
	}
	return items[item].(map[string]any)
}
