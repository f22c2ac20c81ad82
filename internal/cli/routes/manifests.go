// Package routes plans and describes the Routes of manifests and of clusters.
//
// In: documents of package manifest, or the objects of a cluster. Out: descriptions of Routes, findings about them, and
// the objects that the control plane would write for them.
package routes

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	strictjson "sigs.k8s.io/json"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/dryrun"
	"anymesh.dev/anymesh/internal/trait/gateway"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/model"
)

// Types are the types of the kinds of OAM.
func Types() map[schema.GroupVersionKind]reflect.Type {
	out := map[schema.GroupVersionKind]reflect.Type{}
	for gvk, t := range scheme.AllKnownTypes() {
		if strings.HasSuffix(gvk.Group, ".oam.dev") && !strings.HasSuffix(gvk.Kind, "List") {
			out[gvk] = t
		}
	}
	return out
}

// Plan is the plan of the Routes and applications of manifests.
type Plan struct {
	*dryrun.Result
	// Documents are those of the kinds of OAM.
	Documents []*manifest.Document
	// Faults are documents that cannot be read, and unknown fields.
	Faults []manifest.Fault
	byKey  map[controller.ObjectKey]*manifest.Document
}

// scheme has the kinds of OAM.
var scheme = newScheme()

func newScheme() *runtime.Scheme {
	out := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{core.AddToScheme, standard.AddToScheme} {
		if err := add(out); err != nil {
			panic(err)
		}
	}
	return out
}

// Of plans the Routes of documents, of which those without a namespace get the given one.
func Of(documents []*manifest.Document, namespace string) *Plan {
	p := &Plan{byKey: map[controller.ObjectKey]*manifest.Document{}}
	var objects []*unstructured.Unstructured
	clusterScoped := clusterScopedKinds(documents)
	for _, d := range documents {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(d.Content()); err != nil || o.GetName() == "" {
			continue // package manifest, or the decoding of the kind, reports it
		}
		if o.GetNamespace() == "" && !clusterScoped[d.GVK.GroupKind()] {
			o.SetNamespace(namespace)
		}
		if scheme.Recognizes(d.GVK) {
			if d.Ref.Namespace = o.GetNamespace(); !p.decode(d) {
				continue
			}
		}
		key := controller.KeyOf(o)
		if p.byKey[key] != nil { // the last definition is used
			objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return controller.KeyOf(o) == key })
		}
		p.byKey[key] = d
		objects = append(objects, o)
	}
	p.Result = dryrun.Run(objects)
	return p
}

// decode decodes a document of a kind of OAM strictly, and reports whether it can be read.
func (p *Plan) decode(d *manifest.Document) bool {
	p.Documents = append(p.Documents, d)
	into, err := scheme.New(d.GVK)
	if err != nil {
		return false
	}
	strict, err := strictjson.UnmarshalStrict(d.Content(), into)
	if err != nil {
		return true // the schema, or the plan, reports it
	}
	for _, fault := range strict {
		path := ""
		var f strictjson.FieldError
		if errors.As(fault, &f) {
			path = f.FieldPath()
		}
		p.Faults = append(p.Faults, manifest.Fault{Document: d, Finding: model.NewFinding(model.NewOrigin(d.Ref).At(path),
			model.CodeUnknownField, fmt.Sprintf("unknown field of %s; the API server refuses or drops it", d.GVK.Kind))})
	}
	return true
}

// clusterScopedKinds returns the kinds without namespaces that Routes read, and those of definitions in documents.
func clusterScopedKinds(documents []*manifest.Document) map[schema.GroupKind]bool {
	out := map[schema.GroupKind]bool{
		{Kind: "Namespace"}:                                                  true,
		provider.IngressClassKind.GroupKind():                                true,
		gateway.ClassKind.GroupKind():                                        true,
		{Group: "cert-manager.io", Kind: "ClusterIssuer"}:                    true,
		{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}: true,
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:            true,
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:     true,
	}
	for _, d := range documents {
		var crd apiextensionsv1.CustomResourceDefinition
		if d.GVK.Group == apiextensionsv1.GroupName && json.Unmarshal(d.JSON, &crd) == nil &&
			crd.Spec.Scope == apiextensionsv1.ClusterScoped {
			out[schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}] = true
		}
	}
	return out
}

// PlannedDocuments are the planned objects as documents that are in no file.
func (p *Plan) PlannedDocuments() []*manifest.Document {
	var out []*manifest.Document
	for _, o := range p.Planned {
		text, err := o.MarshalJSON()
		if err != nil {
			continue // unreachable: the planners make objects of JSON
		}
		kind := o.GroupVersionKind()
		out = append(out, &manifest.Document{JSON: text, GVK: kind, Ref: refOf(controller.KeyOf(o))})
	}
	return out
}

// Find returns a Route by NAMESPACE/NAME or NAME.
func (p *Plan) Find(name, namespace string) (*unstructured.Unstructured, error) {
	return find(p.Routes(), name, namespace)
}

func find(all []*unstructured.Unstructured, name, namespace string) (*unstructured.Unstructured, error) {
	if before, after, qualified := strings.Cut(name, "/"); qualified {
		namespace, name = before, after
	}
	var names []string
	for _, o := range all {
		if o.GetNamespace() == namespace && o.GetName() == name {
			return o, nil
		}
		names = append(names, o.GetNamespace()+"/"+o.GetName())
	}
	const most = 10
	switch {
	case len(names) == 0:
		names = []string{"none"}
	case len(names) > most:
		names = append(names[:most], "...")
	}
	return nil, fmt.Errorf("Route %s/%s not found; Routes are %s", namespace, name, strings.Join(slices.Compact(names), ", "))
}

func refOf(key controller.ObjectKey) model.ObjectRef {
	return model.ObjectRef{Group: key.Kind.Group, Kind: key.Kind.Kind, Namespace: key.Namespace, Name: key.Name}
}
