package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
)

// source is where verbs take the mesh from: files, or the cluster that the kubeconfig names, read with the user's own rights.
type source struct {
	files      []string
	kubeconfig string
	context    string
	namespace  string
}

func (s *source) add(c *cobra.Command) {
	c.Flags().StringArrayVarP(&s.files, "filename", "f", nil, "file or folder with manifests, or - for standard input, in place of a cluster; may be repeated")
	s.addCluster(c)
}

func (s *source) addCluster(c *cobra.Command) {
	c.Flags().StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig file")
	c.Flags().StringVar(&s.context, "context", "", "context of the kubeconfig; its current one if empty")
	c.Flags().StringVarP(&s.namespace, "namespace", "n", "", "namespace of names without one; that of the kubeconfig's context, or default, if empty")
}

// state computes the mesh, just as a control plane does. Notes say what was taken for granted.
func (s *source) state(ctx context.Context, in io.Reader) (state *engine.State, notes []string, err error) {
	dialects := dialect.All(dialect.Settings{})
	var kinds []client.Object
	for _, d := range dialects {
		kinds = append(kinds, d.Kinds()...)
	}
	var objects []client.Object
	if len(s.files) > 0 {
		objects, notes, err = s.fromFiles(in, kinds)
	} else {
		objects, err = s.fromCluster(ctx, kinds)
	}
	if err != nil {
		return nil, nil, err
	}
	return engine.Compute(dialects, objects), notes, nil
}

func (s *source) fromFiles(in io.Reader, kinds []client.Object) (objects []client.Object, notes []string, err error) {
	if s.namespace == "" {
		s.namespace = "default"
	}
	documents, faults, err := manifest.Read(s.files, in)
	if err != nil {
		return nil, nil, exitError{2, err}
	}
	set, err := manifest.Decode(documents, kinds, s.namespace)
	if err != nil {
		return nil, nil, err
	}
	set.Complete()
	if n := len(faults) + len(set.Faults); n > 0 {
		notes = append(notes, fmt.Sprintf("the files have %d faults; anymesh lint tells them", n))
	}
	return set.Objects, append(notes, set.Assumptions...), nil
}

func (s *source) fromCluster(ctx context.Context, kinds []client.Object) ([]client.Object, error) {
	kube, err := s.client()
	if err != nil {
		return nil, err
	}
	var out []client.Object
	for _, kind := range kinds {
		gvk, err := apiutil.GVKForObject(kind, kube.Scheme())
		if err != nil {
			return nil, err
		}
		gvk.Kind += "List"
		made, err := kube.Scheme().New(gvk)
		if err != nil {
			return nil, err
		}
		list := made.(client.ObjectList)
		if err := kube.List(ctx, list); err != nil {
			if meta.IsNoMatchError(err) {
				return nil, fmt.Errorf("the cluster does not know %s: Anymesh is not installed there; see anymesh check --pre", gvk.GroupKind())
			}
			return nil, fmt.Errorf("listing %s: %w", gvk.Kind, err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			out = append(out, item.(client.Object))
		}
	}
	return out, nil
}

// client connects to the cluster and finds the namespace that is meant.
func (s *source) client() (client.Client, error) {
	config, namespace, err := clusterConfig(s.kubeconfig, s.context)
	if err != nil {
		return nil, err
	}
	if s.namespace == "" {
		s.namespace = namespace
	}
	config.Timeout = clientTimeout
	scheme, err := manifest.Scheme()
	if err != nil {
		return nil, err
	}
	kube, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	return kube, nil
}
