package cache

import (
	"fmt"
	"slices"
	"strings"
)

// kindInfo is a Kind with what the cache derives from it.
type kindInfo struct {
	Kind
	// head begins the JSON of an object, up to the members of metadata.
	head   []byte
	fields []field
}

// field is a selectable field.
type field struct {
	name string
	// paths are tried in order. otherwise is the value if there is none.
	paths     [][]string
	otherwise string
}

// builtin are the selectable fields of kube-apiserver 1.36, besides metadata.name and metadata.namespace.
var builtin = map[string]string{
	"pods": "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName " +
		"spec.hostNetwork=false status.phase status.podIP:status.podIPs.0.ip|status.podIP status.nominatedNodeName",
	"nodes":                  "spec.unschedulable=false",
	"replicationcontrollers": "status.replicas=0",
	"namespaces":             "status.phase",
	"secrets":                "type",
	"services":               "spec.clusterIP spec.type",
	"replicasets.apps":       "status.replicas=0",
	"jobs.batch":             "status.successful:status.succeeded=0",
	"certificatesigningrequests.certificates.k8s.io": "spec.signerName",
	"resourceslices.resource.k8s.io":                 "spec.nodeName spec.driver",
	"events": "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid " +
		"involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent " +
		"source:source.component|reportingComponent type",
	"events.events.k8s.io": "involvedObject.kind:regarding.kind involvedObject.namespace:regarding.namespace " +
		"involvedObject.name:regarding.name involvedObject.uid:regarding.uid " +
		"involvedObject.apiVersion:regarding.apiVersion involvedObject.resourceVersion:regarding.resourceVersion " +
		"involvedObject.fieldPath:regarding.fieldPath reason reportingComponent:reportingController " +
		"source:deprecatedSource.component|reportingController type",
}

func newKindInfo(k Kind) *kindInfo {
	info := &kindInfo{Kind: k}
	info.head = fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":{`, k.Kind, k.Resource.GroupVersion())
	for _, text := range strings.Fields(builtin[k.Resource.GroupResource().String()]) {
		text, otherwise, _ := strings.Cut(text, "=")
		name, paths, other := strings.Cut(text, ":")
		if !other {
			paths = name
		}
		info.fields = append(info.fields, newField(name, paths, otherwise))
	}
	for _, path := range k.SelectableFields {
		name := strings.TrimPrefix(path, ".")
		info.fields = append(info.fields, newField(name, name, ""))
	}
	return info
}

func newField(name, paths, otherwise string) field {
	f := field{name: name, otherwise: otherwise}
	for path := range strings.SplitSeq(paths, "|") {
		f.paths = append(f.paths, strings.Split(path, "."))
	}
	return f
}

// value returns the value of the field in an object. Values that are not strings have their JSON text.
func (f field) value(object []byte) string {
	for _, path := range f.paths {
		at, ok := find(object, 0, path)
		if !ok {
			continue
		}
		text := at.of(object)
		if text[0] == '{' || text[0] == '[' || string(text) == "null" {
			continue
		}
		if s, err := unquote(text); err == nil && s != "" {
			return s
		}
		if text[0] != '"' {
			return string(text)
		}
	}
	return ""
}

// supports reports whether a field selector may name a field.
func (k *kindInfo) supports(name string) bool {
	return name == "metadata.name" || name == "metadata.namespace" && k.Namespaced ||
		name == "name" && k.Kind.Kind == "Namespace" ||
		slices.ContainsFunc(k.fields, func(f field) bool { return f.name == name })
}
