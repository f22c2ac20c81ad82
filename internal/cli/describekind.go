package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/describe"
	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/driver"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// describer finds a mesh item by name and describes it. It returns the object of the item, too.
type describer func(s *engine.State, name, namespace string) (description, model.ObjectRef, error)

// noun is a kind of mesh items, with its names. The first name is used in messages.
type noun struct {
	words    []string
	describe describer
}

// nouns are the kinds of mesh items, each with singular, plural and short name as in kubectl.
var nouns = []noun{
	{[]string{"pod", "pods", "po"}, describePod},
	{[]string{"workload", "workloads"}, describeWorkload},
	{[]string{"service", "services", "svc"}, describeService},
	{[]string{"router", "routers"}, describeRouter},
	{[]string{"mesh", "meshes"}, describeMesh},
	{[]string{"node", "nodes"}, describeWorkload},
	{[]string{"gateway", "gateways"}, describeWorkload},
}

func describePod(s *engine.State, name, namespace string) (description, model.ObjectRef, error) {
	return describeWorkload(s, "pod/"+name, namespace)
}

func describeWorkload(s *engine.State, name, namespace string) (description, model.ObjectRef, error) {
	w, err := lookup.FindWorkload(s, name, namespace)
	if err != nil {
		return nil, model.ObjectRef{}, err
	}
	return describe.OfWorkload(s, w, driver.Default), w.Origin.Object(), nil
}

func describeService(s *engine.State, name, namespace string) (description, model.ObjectRef, error) {
	service, err := lookup.FindService(s, name, namespace)
	if err != nil {
		return nil, model.ObjectRef{}, err
	}
	return describe.OfService(s, service), service.Origin.Object(), nil
}

func describeRouter(s *engine.State, name, namespace string) (description, model.ObjectRef, error) {
	router, err := lookup.FindRouter(s, name, namespace)
	if err != nil {
		return nil, model.ObjectRef{}, err
	}
	return describe.OfRouter(s, router), router.Origin.Object(), nil
}

func describeMesh(s *engine.State, name, _ string) (description, model.ObjectRef, error) {
	mesh, err := lookup.FindMesh(s, name)
	if err != nil {
		return nil, model.ObjectRef{}, err
	}
	return describe.OfMesh(s, mesh), mesh.Origin.Object(), nil
}

// description describes the mesh item or object with the given name.
func (w word) description(s *engine.State, name, namespace string) (description, error) {
	if w.noun != nil {
		d, _, err := w.noun.describe(s, name, namespace)
		if err == nil || lookup.IsAmbiguous(err) {
			return d, err
		}
		// The object may exist, but be invalid and not part of the mesh.
		switch o, found := w.object(s, name, namespace); {
		case found != nil:
			return nil, found
		case o != nil:
			return describe.OfObject(s, o), nil
		}
		return nil, err
	}
	switch o, err := w.object(s, name, namespace); {
	case err != nil:
		return nil, err
	case o != nil:
		return describeObject(s, o), nil
	}
	return w.byModelName(s, name, namespace)
}

// object finds the object of one of the kinds with a name; nil if there is none. Several are an error.
func (w word) object(s *engine.State, name, namespace string) (client.Object, error) {
	var found []client.Object
	var refs []model.ObjectRef
	for _, kind := range w.kinds {
		if o, exists := lookup.FindObject(s, kind, name, namespace); exists {
			found, refs = append(found, o), append(refs, dialect.RefOf(o))
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, lookup.Ambiguous(w.text+"/"+name, refs)
}

// byModelName finds a mesh item by its model name. The kind selects the noun: VirtualRouter selects router. The item is
// of an API group of the word.
func (w word) byModelName(s *engine.State, name, namespace string) (description, error) {
	missing := fmt.Errorf("%s %q not found in namespace %s", dialect.KindNamesOfObjects(s.Objects).Kind(w.kinds[0]), name, cmp.Or(namespace, "default"))
	for _, n := range nouns {
		if !strings.HasSuffix(strings.ToLower(w.kinds[0].Kind), n.words[0]) {
			continue
		}
		d, ref, err := n.describe(s, name, namespace)
		if err == nil && !slices.ContainsFunc(w.kinds, func(k schema.GroupKind) bool { return k.Group == ref.Group }) {
			return nil, missing
		}
		return d, err
	}
	return nil, missing
}

// describeObject describes the mesh item that an object defines, or the object itself.
func describeObject(s *engine.State, o client.Object) description {
	item := lookup.ItemOf(s, dialect.RefOf(o))
	switch {
	case item.Workload != nil:
		return describe.OfWorkload(s, lookup.Workload{Workload: *item.Workload}, driver.Default)
	case item.Service != nil:
		return describe.OfService(s, *item.Service)
	case item.Router != nil:
		return describe.OfRouter(s, *item.Router)
	case item.Mesh != nil:
		return describe.OfMesh(s, *item.Mesh)
	}
	return describe.OfObject(s, o)
}

// word is the KIND argument, resolved to a noun, to object kinds, or to both.
type word struct {
	text  string
	noun  *noun
	kinds []schema.GroupKind
	// route is true for Routes, which are not objects of a dialect.
	route bool
}

// wordOf resolves a KIND argument, case-insensitively. A noun includes the kinds that end with it: router includes
// VirtualRouter. A kind of an API group is KIND.GROUP or KIND.VERSION.GROUP, as in kubectl.
func wordOf(text string) (word, bool) {
	w := word{text: strings.ToLower(text)}
	w.route = slices.Contains(routeWords, w.text)
	name, group, _ := strings.Cut(w.text, ".")
	if i := slices.IndexFunc(nouns, func(n noun) bool {
		return slices.Contains(n.words, name)
	}); i >= 0 && group == "" {
		w.noun = &nouns[i]
	}
	for _, d := range dialect.All() {
		definitions, err := d.Definitions()
		if err != nil {
			return word{}, false
		}
		short := map[string]string{}
		if n, is := d.(dialect.ShortNames); is {
			short = n.ShortNames()
		}
		for _, crd := range definitions {
			names := crd.Spec.Names
			same := names.Singular == name || names.Plural == name || strings.ToLower(names.Kind) == name ||
				short[name] == names.Kind ||
				slices.Contains(names.ShortNames, name)
			part := w.noun != nil && strings.HasSuffix(names.Singular, w.noun.words[0])
			if (same || part) && inGroup(crd, group) {
				w.kinds = append(w.kinds, schema.GroupKind{Group: crd.Spec.Group, Kind: names.Kind})
			}
		}
	}
	return w, w.noun != nil || w.route || len(w.kinds) > 0
}

// inGroup reports whether a kind is of GROUP or VERSION.GROUP; each kind is of an empty group.
func inGroup(crd *apiextensionsv1.CustomResourceDefinition, group string) bool {
	return group == "" || group == crd.Spec.Group ||
		slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return group == v.Name+"."+crd.Spec.Group
		})
}

// parseTarget parses the arguments KIND NAME or KIND/NAME. NAME may be NAMESPACE/NAME.
func parseTarget(args []string) (word, string, bool) {
	if len(args) == 1 {
		args = strings.SplitN(args[0], "/", 2)
	}
	if len(args) != 2 || args[1] == "" {
		return word{}, "", false
	}
	w, ok := wordOf(args[0])
	return w, args[1], ok
}

// kindWords lists the singular names of all kinds of the dialects, with their group if dialects share the name. It does
// not decode their definitions: every command calls it.
func kindWords() []string {
	var out []string
	for _, d := range dialect.All() {
		for _, kind := range dialect.OwnGroupKinds(d) {
			out = append(out, strings.ToLower(dialect.KindName(kind)))
		}
	}
	slices.Sort(out)
	return out
}

// nounWords lists the names of kinds of mesh items.
func nounWords() []string {
	var words []string
	for _, n := range nouns {
		words = append(words, n.words[0])
	}
	return append(words, routeWords[0])
}
