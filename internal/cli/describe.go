package cli

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/describe"
	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/driver"
	"anymesh.dev/anymesh/internal/engine"
)

// description is the description of one mesh item or object.
type description interface {
	Text(io.Writer, terminal.Style) error
}

// describer finds a mesh item by name and describes it.
type describer func(s *engine.State, name, namespace string) (description, error)

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

func describePod(s *engine.State, name, namespace string) (description, error) {
	return describeWorkload(s, "pod/"+name, namespace)
}

func describeWorkload(s *engine.State, name, namespace string) (description, error) {
	w, err := lookup.FindWorkload(s, name, namespace)
	if err != nil {
		return nil, err
	}
	return describe.OfWorkload(s, w, driver.Default), nil
}

func describeService(s *engine.State, name, namespace string) (description, error) {
	service, err := lookup.FindService(s, name, namespace)
	if err != nil {
		return nil, err
	}
	return describe.OfService(s, service), nil
}

func describeRouter(s *engine.State, name, namespace string) (description, error) {
	router, err := lookup.FindRouter(s, name, namespace)
	if err != nil {
		return nil, err
	}
	return describe.OfRouter(s, router), nil
}

func describeMesh(s *engine.State, name, _ string) (description, error) {
	mesh, err := lookup.FindMesh(s, name)
	if err != nil {
		return nil, err
	}
	return describe.OfMesh(s, mesh), nil
}

// description describes the mesh item or object with the given name.
func (w word) description(s *engine.State, name, namespace string) (description, error) {
	if w.noun != nil {
		d, err := w.noun.describe(s, name, namespace)
		if err == nil {
			return d, nil
		}
		for _, kind := range w.kinds { // the object exists, but is invalid and not part of the mesh
			if o, exists := lookup.FindObject(s, kind, name, namespace); exists {
				return describe.OfObject(s, o), nil
			}
		}
		return nil, err
	}
	var found []client.Object
	for _, kind := range w.kinds {
		if o, exists := lookup.FindObject(s, kind, name, namespace); exists {
			found = append(found, o)
		}
	}
	switch len(found) {
	case 1:
		return describeObject(s, found[0]), nil
	case 0:
		return w.byModelName(s, name, namespace)
	}
	return nil, fmt.Errorf("%s %q exists in the API groups %s and %s; use KIND.GROUP", w.text, name, w.kinds[0].Group,
		w.kinds[1].Group)
}

// byModelName finds a mesh item by its model name. The kind selects the noun: VirtualRouter selects router.
func (w word) byModelName(s *engine.State, name, namespace string) (description, error) {
	kind := w.kinds[0].Kind
	for _, n := range nouns {
		if strings.HasSuffix(strings.ToLower(kind), n.words[0]) {
			return n.describe(s, name, namespace)
		}
	}
	return nil, fmt.Errorf("%s %q not found in namespace %s", kind, name, namespace)
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
// VirtualRouter.
func wordOf(text string) (word, bool) {
	w := word{text: text, route: slices.Contains(routeWords, strings.ToLower(text))}
	text, group, _ := strings.Cut(strings.ToLower(text), ".")
	if i := slices.IndexFunc(nouns, func(n noun) bool {
		return slices.Contains(n.words, text)
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
			same := names.Singular == text || names.Plural == text || short[text] == names.Kind ||
				slices.Contains(names.ShortNames, text)
			part := w.noun != nil && strings.HasSuffix(names.Singular, w.noun.words[0])
			if (same || part) && (group == "" || group == crd.Spec.Group) {
				w.kinds = append(w.kinds, schema.GroupKind{Group: crd.Spec.Group, Kind: names.Kind})
			}
		}
	}
	return w, w.noun != nil || w.route || len(w.kinds) > 0
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

// kindWords lists the singular names of all kinds of the dialects. It does not decode their definitions: every command
// calls it.
func kindWords() []string {
	var out []string
	for _, d := range dialect.All() {
		for _, kind := range dialect.OwnKinds(d) {
			out = append(out, strings.ToLower(reflect.TypeOf(kind).Elem().Name()))
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

func describeCommand() *cobra.Command {
	var s source
	var output *format
	words := nounWords()
	c := &cobra.Command{
		Use:   "describe KIND NAME | KIND/NAME",
		Short: "Describe a mesh item or object: what it can reach and what can reach it",
		Long: "Describe a mesh item or object: what it can reach, what can reach it, the fields that configure this, and its findings.\n\n" +
			"KIND is one of " + strings.Join(words, ", ") + ",\nor the kind of an object as in kubectl: " +
			strings.Join(kindWords(), ", ") + ".\n" +
			"NAME is the object name, NAMESPACE/NAME, or the name in the mesh.",
		Example: "  anymesh describe pod front-775cbc6bd8-tjqlb -n colors\n  anymesh describe workload/front -n colors\n" +
			"  anymesh describe router colors/color\n  anymesh describe service color.colors.svc.cluster.local -f manifests/",
		ValidArgsFunction: s.completeTarget,
		Args: func(_ *cobra.Command, args []string) error {
			if _, _, ok := parseTarget(args); ok {
				return nil
			}
			return exitError{
				2,
				fmt.Errorf("KIND and NAME are required; KIND is one of %s, or the kind of an object",
					strings.Join(words, ", ")),
			}
		},
		RunE: func(c *cobra.Command, args []string) error {
			w, name, _ := parseTarget(args)
			if w.route {
				d, notes, err := s.describeRoute(c.Context(), c.InOrStdin(), name)
				if err != nil {
					return err
				}
				return show(c, output, d, notes, d.Text)
			}
			state, notes, err := s.state(c.Context(), c.InOrStdin())
			if err != nil {
				return err
			}
			d, err := w.description(state, name, s.namespace)
			if err != nil {
				return err
			}
			return show(c, output, d, notes, d.Text)
		},
	}
	s.add(c)
	output = addFormat(c, "text", "json")
	return c
}
