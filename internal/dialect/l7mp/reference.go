package l7mp

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/model"
)

// reference is a name of an object.
type reference struct {
	types.NamespacedName
	// kind is that of a full name, empty for a short one.
	kind string
}

// plurals are the kinds by their names in paths of the API server, and by lower-case names.
var kindNames = map[string]string{
	"virtualservices": api.KindVirtualService, "virtualservice": api.KindVirtualService,
	"routes": api.KindRoute, "route": api.KindRoute, "targets": api.KindTarget, "target": api.KindTarget,
}

// parseReference reads a name in one of the forms that manifests use: NAME; /l7mp.io/v1/KIND/NAMESPACE/NAME;
// /apis/l7mp.io/v1/namespaces/NAMESPACE/PLURAL/NAME; NAME.NAMESPACE.KIND.cluster.local. A short name is one of the
// given namespace. It reports an error for another text.
func parseReference(text, namespace string) (reference, error) {
	group := api.GroupVersion.String()
	if rest, is := strings.CutPrefix(text, "/apis/"+group+"/namespaces/"); is {
		if parts := strings.Split(rest, "/"); len(parts) == 3 {
			return fullReference(text, parts[0], parts[1], parts[2])
		}
	}
	if rest, is := strings.CutPrefix(text, "/"+group+"/"); is {
		if parts := strings.Split(rest, "/"); len(parts) == 3 {
			return fullReference(text, parts[1], parts[0], parts[2])
		}
	}
	if rest, is := strings.CutSuffix(text, ".cluster.local"); is {
		if parts := strings.Split(rest, "."); len(parts) == 3 {
			return fullReference(text, parts[1], parts[2], parts[0])
		}
	}
	if text == "" || strings.ContainsAny(text, "/ ") {
		return reference{}, fmt.Errorf("%q is neither the name of an object nor a full name such as /%s/%s/NAMESPACE/NAME",
			text, group, api.KindTarget)
	}
	return reference{NamespacedName: types.NamespacedName{Namespace: namespace, Name: text}}, nil
}

func fullReference(text, namespace, kind, name string) (reference, error) {
	known, is := kindNames[strings.ToLower(kind)]
	if !is || namespace == "" || name == "" {
		return reference{}, fmt.Errorf("%q is not the full name of an object of %s", text, api.GroupVersion.Group)
	}
	return reference{types.NamespacedName{Namespace: namespace, Name: name}, known}, nil
}

// reference reads the name of an object of a kind, and reports another name.
func (p *parser) reference(text, kind, path string) (reference, bool) {
	ref, err := parseReference(text, p.namespace)
	if err == nil && ref.kind != "" && ref.kind != kind {
		err = fmt.Errorf("%q is the name of a %s, and a %s is needed", text, ref.kind, kind)
	}
	if err != nil {
		p.report(path, model.CodeInvalidField, "%v", err)
		return reference{}, false
	}
	return ref, true
}
