package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/routes"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/objects/list"
	"anymesh.dev/anymesh/model"
)

// source is the input of a command: manifest files, or the cluster of the kubeconfig, read with the permissions of the
// user.
type source struct {
	files      []string
	kubeconfig string
	context    string
	namespace  string
	// system is the namespace of the control plane.
	system string
	// dns is the DNS mode of pods in files; empty means the default.
	dns string
}

// dnsFlag describes the flag --dns.
const dnsFlag = "DNS mode of pods in files, without the annotation anymesh.dev/dns on the pod or its namespace (osm.dns of the Helm values): " +
	"Unresolved, All or Off"

// addDNS adds the flag --dns.
func addDNS(c *cobra.Command, mode *string, initial model.DNSMode, more string) {
	c.Flags().StringVar(mode, "dns", string(initial), dnsFlag+more)
	complete(c, "dns", string(model.DNSUnresolved), string(model.DNSAll), string(model.DNSOff))
}

// parseDNSMode parses the flag --dns. The empty mode is the default.
func parseDNSMode(text string) (model.DNSMode, error) {
	mode := model.DNSMode(text)
	if text != "" && !mode.Valid() {
		return "", exitError{
			2, fmt.Errorf("--dns %q: unknown DNS mode; modes are %s, %s and %s", text, model.DNSUnresolved, model.DNSAll, model.DNSOff),
		}
	}
	return mode, nil
}

func (s *source) add(c *cobra.Command) {
	c.Flags().StringArrayVarP(&s.files, "filename", "f", nil,
		"read manifests from a file, a folder, or - for standard input, instead of a cluster; may be repeated")
	addDNS(c, &s.dns, "", "; Unresolved if empty")
	s.addCluster(c)
}

func (s *source) addCluster(c *cobra.Command) {
	c.Flags().StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig file")
	c.Flags().StringVar(&s.context, "context", "", "kubeconfig context; the current context if empty")
	c.Flags().StringVar(&s.system, "system-namespace", "anymesh-system", "namespace of the control plane")
	c.Flags().StringVarP(&s.namespace, "namespace", "n", "",
		"namespace of names without a namespace; if empty, the namespace of the kubeconfig context, or default")
	completeContexts(c, "context", &s.kubeconfig)
	s.completeNamespaces(c, "namespace")
	s.completeNamespaces(c, "system-namespace")
}

// state computes the mesh with the same code as the control plane. notes are the assumptions about missing objects.
func (s *source) state(ctx context.Context, in io.Reader) (state *engine.State, notes []string, err error) {
	mode, err := parseDNSMode(s.dns)
	if err != nil {
		return nil, nil, err
	}
	if len(s.files) == 0 {
		if mode != "" {
			return nil, nil, exitError{2, errors.New("--dns requires -f: pods of a cluster have the mode of their injection")}
		}
		return s.liveState(ctx)
	}
	dialects, objects, notes, err := s.fromFiles(in)
	if err != nil {
		return nil, nil, err
	}
	return engine.Compute(dialects, engine.Settings{DNS: mode}, objects), notes, nil
}

// liveState computes the mesh of the cluster, with the settings of its control plane.
func (s *source) liveState(ctx context.Context) (*engine.State, []string, error) {
	kube, err := s.client()
	if err != nil {
		return nil, nil, err
	}
	dialects, settings, notes, err := s.settings(ctx, kube)
	if err != nil {
		return nil, nil, err
	}
	objects, err := fromCluster(ctx, kube, dialects)
	if err != nil {
		return nil, nil, err
	}
	return engine.Compute(dialects, settings, objects), notes, nil
}

// fromFiles reads the objects of files, with those that the control plane writes for Routes, and enables the dialects
// that these need.
func (s *source) fromFiles(in io.Reader) (dialects []dialect.Dialect, objects []client.Object, notes []string,
	err error) {
	files, err := s.read(in)
	if err != nil {
		return nil, nil, nil, err
	}
	plan := routes.Of(files.Documents, s.namespace)
	dialects, set, assumptions, err := s.decode(files, plan)
	if err != nil {
		return nil, nil, nil, err
	}
	notes = fileNotes(files, len(set.Faults)+len(plan.Faults))
	return dialects, set.Objects, slices.Concat(notes, assumptions, set.Assumptions), nil
}

// decode decodes the objects of files and those that the control plane writes for their Routes.
func (s *source) decode(files *manifest.Files, plan *routes.Plan) (dialects []dialect.Dialect, set *manifest.Set,
	assumptions []string, err error) {
	documents := slices.Concat(files.Documents, plan.PlannedDocuments())
	dialects, made, assumptions := manifest.Enable(documents, dialect.All())
	if set, err = manifest.Decode(documents, dialect.Kinds(dialects), s.namespace); err != nil {
		return nil, nil, nil, err
	}
	set.Objects = append(set.Objects, made...)
	set.Complete(dialects)
	return dialects, set, assumptions, nil
}

// read reads the files.
func (s *source) read(in io.Reader) (*manifest.Files, error) {
	if s.namespace == "" {
		s.namespace = "default"
	}
	files, err := manifest.Read(s.files, in)
	if err != nil {
		return nil, exitError{2, err}
	}
	return files, nil
}

// fileNotes are the notes about what is not read of files, and about their faults and those of their objects.
func fileNotes(files *manifest.Files, more int) []string {
	notes := manifest.Notes(files.Skips)
	faults := len(files.Faults) + more
	if faults == 0 {
		return notes
	}
	return append(notes, "the files have "+terminal.Count(faults, "error", "errors")+"; run anymesh lint")
}

// fromCluster lists the objects of all kinds that the dialects read.
func fromCluster(ctx context.Context, kube client.Client, dialects []dialect.Dialect) ([]client.Object, error) {
	var out []client.Object
	required, optional := dialect.SplitKinds(dialects)
	for i, kind := range slices.Concat(required, optional) {
		objects, err := list.Objects(ctx, kube, kind)
		if meta.IsNoMatchError(err) && i >= len(required) {
			continue
		}
		if meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("%w: Anymesh is not installed in this cluster; run anymesh check --pre", err)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

// client returns a client for the cluster, and sets the namespace.
func (s *source) client() (client.Client, error) {
	config, namespace, err := clusterConfig(s.kubeconfig, s.context)
	if err != nil {
		return nil, err
	}
	if s.namespace == "" {
		s.namespace = namespace
	}
	config.Timeout = clientTimeout
	scheme, err := dialect.Scheme()
	if err != nil {
		return nil, err
	}
	kube, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	return kube, nil
}
