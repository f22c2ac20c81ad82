package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"anymesh.dev/anymesh/docs/findings"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/sidecar"
)

// completionTimeout limits the requests to a cluster for the completion of one word.
const completionTimeout = 3 * time.Second

// complete sets the values that the shell completes for a flag.
func complete(c *cobra.Command, flag string, values ...string) {
	completeWith(c, flag, func() []string { return values })
}

// completeWith is complete for values that are read when they are needed.
func completeWith(c *cobra.Command, flag string, values func() []string) {
	err := c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the command has no such flag
	}
}

// completeCodes completes codes of findings.
func completeCodes(c *cobra.Command, flag string) { completeWith(c, flag, findings.Codes) }

// completeDrivers completes sidecar drivers.
func completeDrivers(c *cobra.Command, flag string) { completeWith(c, flag, sidecar.Drivers) }

// completeContexts completes contexts of the kubeconfig, whose file is the value of another flag.
func completeContexts(c *cobra.Command, flag string, kubeconfig *string) {
	completeWith(c, flag, func() []string {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = *kubeconfig
		config, err := rules.Load()
		if err != nil {
			return nil
		}
		return slices.Sorted(maps.Keys(config.Contexts))
	})
}

// completeNamespaces completes namespaces of the cluster.
func (s *source) completeNamespaces(c *cobra.Command, flag string) {
	completeWith(c, flag, func() []string {
		ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
		defer cancel()
		var all corev1.NamespaceList
		kube, err := s.client()
		if err == nil {
			err = kube.List(ctx, &all)
		}
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
			return nil
		}
		var names []string
		for _, n := range all.Items {
			names = append(names, n.Name)
		}
		return names
	})
}

// completeWorkloads completes workloads, and pods as pod/NAME, for a flag.
func (s *source) completeWorkloads(c *cobra.Command, flag string) {
	completeWith(c, flag, func() []string { return s.workloadNames(c.Context()) })
}

// workloadNames lists workloads, and pods as pod/NAME.
func (s *source) workloadNames(ctx context.Context) []string {
	state := s.completionState(ctx)
	if state == nil {
		return nil
	}
	var out []string
	for kind, prefix := range map[string]string{"workload": "", "pod": "pod/"} {
		w, _ := wordOf(kind)
		for _, name := range w.names(state, s.namespace) {
			out = append(out, prefix+name)
		}
	}
	slices.Sort(out)
	return out
}

// completeWorkload completes the only argument of a command, a workload.
func (s *source) completeWorkload(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.workloadNames(c.Context()), cobra.ShellCompDirectiveNoFileComp
}

// completeMeshes completes meshes for a flag.
func (s *source) completeMeshes(c *cobra.Command, flag string) {
	completeWith(c, flag, func() []string {
		state := s.completionState(c.Context())
		if state == nil {
			return nil
		}
		var names []string
		for _, m := range state.Index.Model.Meshes {
			names = append(names, m.Name)
		}
		return names
	})
}

// completeTarget completes KIND NAME and KIND/NAME.
func (s *source) completeTarget(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	const noFiles = cobra.ShellCompDirectiveNoFileComp
	kind, slash := "", ""
	switch before, _, has := strings.Cut(start, "/"); {
	case len(args) == 1:
		kind = args[0]
	case len(args) == 0 && has:
		kind, slash = before, before+"/"
	case len(args) == 0:
		words := slices.Concat(nounWords(), kindWords())
		slices.Sort(words)
		return slices.Compact(words), noFiles
	}
	w, known := wordOf(kind)
	if !known {
		return nil, noFiles
	}
	state := s.completionState(c.Context())
	if state == nil {
		return nil, noFiles
	}
	var out []string
	for _, name := range w.names(state, s.namespace) {
		out = append(out, slash+name)
	}
	return out, noFiles
}

// completionState reads the files or the cluster; nil if it cannot. The shell shows no errors: __complete does.
func (s *source) completionState(ctx context.Context) *engine.State {
	if slices.Contains(s.files, "-") {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	state, _, err := s.state(ctx, nil)
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
		return nil
	}
	return state
}

// names lists what the word can name: NAME in the namespace, NAMESPACE/NAME elsewhere.
func (w word) names(s *engine.State, namespace string) []string {
	found := map[string]bool{}
	add := func(of, name string) {
		if of != "" && of != namespace {
			name = of + "/" + name
		}
		found[name] = true
	}
	switch {
	case w.noun == nil:
	case w.noun.words[0] == "pod":
		for _, e := range s.Index.Model.Endpoints {
			add(e.Instance.Namespace, e.Instance.Name)
		}
	case w.noun.words[0] == "workload":
		for _, of := range s.Index.Model.Workloads {
			add(of.Origin.Object().Namespace, of.Origin.Object().Name)
		}
	}
	for _, o := range s.Objects {
		if slices.Contains(w.kinds, o.GetObjectKind().GroupVersionKind().GroupKind()) {
			add(o.GetNamespace(), o.GetName())
		}
	}
	return slices.Sorted(maps.Keys(found))
}
