package fields

import (
	"maps"
	"strings"
)

// places are which item of the world's lists has what a field needs, by a part of the path; others are in the first.
var places = []struct {
	part string
	item int
}{
	{"http2Route", 1}, {"grpcRoute", 2}, {"tcpRoute", 3},
	{"timeout.http2", 1}, {"timeout.grpc", 2}, {"timeout.tcp", 3},
	{"connectionPool.http2", 1}, {"connectionPool.grpc", 2}, {"connectionPool.tcp", 3},
}

// instead names what has to go where one of several things may be set.
var instead = map[string]string{
	"path": "prefix", "virtualNode": "virtualRouter", "awsCloudMap": "dns",
	"virtualNodeARN": "virtualNodeRef", "virtualRouterARN": "virtualRouterRef", "virtualServiceARN": "virtualServiceRef",
}

// besides is what has to stand next to a field for it to mean anything.
var besides = map[string]map[string]any{"methodName": {"serviceName": "s"}}

// place sets the field in an object, with the least of what has to be on the way; nil takes the field away.
func (f Field) place(object map[string]any, value any) {
	item, path := 0, f.Path()
	for _, p := range places {
		// "grpc" is no beginning of another name, but "http" is.
		if strings.Contains(path+".", "."+p.part+".") {
			item = p.item
		}
	}
	here := object
	for i, s := range f.steps {
		if i == len(f.steps)-1 {
			delete(here, instead[s.name])
			maps.Copy(here, besides[s.name])
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

// into gives what a step leads to, and makes it where it is not there yet.
func (s step) into(here map[string]any, path string, item int) map[string]any {
	delete(here, instead[s.name])
	if !s.list {
		next, ok := here[s.name].(map[string]any)
		if !ok {
			next = least(path, s.schema).(map[string]any)
			here[s.name] = next
		}
		return next
	}
	items, _ := here[s.name].([]any)
	if len(items) == 0 {
		items = []any{least(path, s.schema)}
		here[s.name] = items
	}
	if item >= len(items) {
		item = 0
	}
	return items[item].(map[string]any)
}
