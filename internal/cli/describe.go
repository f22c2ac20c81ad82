package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/cli/describe"
	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/engine"
)

// description is something that can be shown.
type description interface {
	Text(io.Writer, terminal.Style) error
}

// describer finds a thing by name and describes it.
type describer func(s *engine.State, name, namespace string) (description, error)

// noun is a word for things that can be described, and other words for the same. The first is for messages.
type noun struct {
	words []string
	// kind is that of the object behind the thing, which is described if there is no such thing in the mesh; empty if any may be.
	kind     string
	describe describer
}

// nouns are all things that can be described: by words of the mesh and by kinds, with their plural and a short form, as kubectl's users
// expect.
var nouns = []noun{
	{[]string{"pod", "pods", "po"}, "", describePod},
	{[]string{"workload", "workloads"}, "", describeWorkload},
	{[]string{"service", "services", "svc", "virtualservice", "virtualservices", "vs"}, api.KindVirtualService, describeService},
	{[]string{"router", "routers", "virtualrouter", "virtualrouters", "vr"}, api.KindVirtualRouter, describeRouter},
	{[]string{"mesh", "meshes"}, api.KindMesh, describeMesh},
	{[]string{"node", "nodes", "virtualnode", "virtualnodes", "vn"}, api.KindVirtualNode, describeWorkload},
	{[]string{"gateway", "gateways", "virtualgateway", "virtualgateways", "vg"}, api.KindVirtualGateway, describeWorkload},
	{[]string{"gatewayroute", "gatewayroutes", "gr"}, api.KindGatewayRoute, nil},
	{[]string{"backendgroup", "backendgroups", "bg"}, api.KindBackendGroup, nil},
}

func describePod(s *engine.State, name, namespace string) (description, error) {
	return describeWorkload(s, "pod/"+name, namespace)
}

func describeWorkload(s *engine.State, name, namespace string) (description, error) {
	w, err := lookup.FindWorkload(s, name, namespace)
	if err != nil {
		return nil, err
	}
	return describe.OfWorkload(s, w), nil
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

// of describes the thing of a name. An object of the kind that means no such thing, because something is wrong with it, is described as
// what it is.
func (n noun) of(s *engine.State, name, namespace string) (description, error) {
	if n.kind == "" {
		return n.describe(s, name, namespace)
	}
	o, exists := lookup.FindObject(s, n.kind, name, namespace)
	if exists && (n.describe == nil || !lookup.Served(s, o)) {
		return describe.OfObject(s, o), nil
	}
	if n.describe == nil {
		return nil, fmt.Errorf("there is no %s %q in namespace %s", n.kind, name, namespace)
	}
	if exists && o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + o.GetName() // and nothing else that has the name
	}
	return n.describe(s, name, namespace)
}

// nounOf finds the noun of a word, in any case, with or without the API group behind it.
func nounOf(word string) (noun, bool) {
	word, _, _ = strings.Cut(strings.ToLower(word), ".")
	i := slices.IndexFunc(nouns, func(n noun) bool { return slices.Contains(n.words, word) })
	if i < 0 {
		return noun{}, false
	}
	return nouns[i], true
}

// thing reads the arguments KIND NAME or KIND/NAME; names may begin with a namespace.
func thing(args []string) (noun, string, bool) {
	if len(args) == 1 {
		args = strings.SplitN(args[0], "/", 2)
	}
	if len(args) != 2 || args[1] == "" {
		return noun{}, "", false
	}
	n, ok := nounOf(args[0])
	return n, args[1], ok
}

func describeCommand() *cobra.Command {
	var s source
	var output string
	var words []string
	for _, n := range nouns {
		words = append(words, n.words[0])
	}
	c := &cobra.Command{
		Use:   "describe KIND NAME | KIND/NAME",
		Short: "Say what something is in the mesh, what it may reach and who may reach it",
		Long: "Say what something is in the mesh, what it may reach and who may reach it, which field makes it so, and what is wrong with it.\n\n" +
			"KIND is one of " + strings.Join(words, ", ") + ",\nor the kind of an object, as virtualnode, virtualnodes or vn. NAME is that of the object, NAMESPACE/NAME, or the name in the mesh.",
		Example: "  anymesh describe pod front-775cbc6bd8-tjqlb -n colors\n  anymesh describe virtualnode/front -n colors\n" +
			"  anymesh describe router colors/color\n  anymesh describe service color.colors.svc.cluster.local -f manifests/",
		ValidArgs: words,
		Args: func(_ *cobra.Command, args []string) error {
			if _, _, ok := thing(args); ok {
				return nil
			}
			return exitError{2, fmt.Errorf("say what to describe: one of %s, and a name", strings.Join(words, ", "))}
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := terminal.CheckFormat(output, "text", "json"); err != nil {
				return exitError{2, err}
			}
			state, notes, err := s.state(c.Context(), c.InOrStdin())
			if err != nil {
				return err
			}
			n, name, _ := thing(args)
			d, err := n.of(state, name, s.namespace)
			if err != nil {
				return err
			}
			return show(c, output, d, notes, d.Text)
		},
	}
	s.add(c)
	c.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return c
}
