package presubmit

import (
	"slices"
	"strings"
	"testing"
)

// linked says what a program must not consist of: packages that only make it larger, and slower to compile.
type linked struct {
	program string
	// only are the libraries of the program; without any, all that are not in none. "x/..." means x and all packages below
	// it.
	only []string
	none []string
	// but are packages of none that the program needs.
	but []string
}

var programs = []linked{
	{
		program: "cmd/anymesh",
		none: []string{
			// The templates of the chart need the engine of Helm, and no client, repository or registry.
			"helm.sh/helm/v4/...", "oras.land/...", "github.com/containerd/...", "github.com/docker/...", "github.com/moby/...",
			"github.com/opencontainers/...", "github.com/google/go-containerregistry/...",
			// The rules of alerts are data here; a test evaluates them.
			"github.com/prometheus/prometheus/...", "github.com/prometheus/alertmanager/...",
			"cloud.google.com/...", "google.golang.org/api/...", "github.com/aws/...", "github.com/Azure/...",
			"k8s.io/kubernetes/...", "k8s.io/kubectl/...", "k8s.io/cli-runtime/...", "k8s.io/kube-aggregator/...",
			"sigs.k8s.io/kustomize/...", "go.etcd.io/...", "github.com/spf13/viper/...",
			// Objects of others are read without their libraries, and the xDS server is our own.
			"github.com/cert-manager/...", "github.com/projectcontour/...", "istio.io/...",
			"github.com/envoyproxy/go-control-plane/pkg/...",
			// What only tests need.
			"github.com/stretchr/...", "net/http/httptest", "k8s.io/client-go/kubernetes/fake", "k8s.io/client-go/dynamic/fake",
			"sigs.k8s.io/controller-runtime/pkg/client/fake", "sigs.k8s.io/controller-runtime/pkg/envtest/...",
			"anymesh.dev/anymesh/internal/aggregate/membertest", "anymesh.dev/anymesh/internal/trait/providertest",
		},
		but: []string{
			"helm.sh/helm/v4/internal/...", "helm.sh/helm/v4/pkg/chart/...", "helm.sh/helm/v4/pkg/engine",
			"helm.sh/helm/v4/pkg/ignore", "helm.sh/helm/v4/pkg/strvals",
			"github.com/moby/spdystream/...",       // of port-forward
			"cloud.google.com/go/compute/metadata", // of credentials of gRPC
		},
	},
	{
		program: "cmd/anymesh-proxy",
		only: []string{
			"anymesh.dev/anymesh/...", "go.yaml.in/yaml/v3", "golang.org/x/...", "google.golang.org/protobuf/...",
			"go.opentelemetry.io/...", "github.com/go-logr/...", "github.com/google/uuid", "github.com/cespare/xxhash/v2",
		},
	},
}

// refuses reports whether the program must not consist of a package.
func (l linked) refuses(p pkg) bool {
	if len(l.only) > 0 && !p.Standard && !covers(l.only, p.ImportPath) {
		return true
	}
	return covers(l.none, p.ImportPath) && !covers(l.but, p.ImportPath)
}

// TestProgramsLinkOnlyWhatTheyNeed names the packages that import what a program must not consist of.
func TestProgramsLinkOnlyWhatTheyNeed(t *testing.T) {
	for _, l := range programs {
		all := list(t, "-deps", "./"+l.program)
		for _, p := range all {
			if !l.refuses(p) {
				continue
			}
			for _, by := range all {
				if slices.Contains(by.Imports, p.ImportPath) && !l.refuses(by) {
					t.Errorf("%s links %s: %s imports it, by way of %s", l.program, p.ImportPath, by.ImportPath,
						strings.Join(wayTo(all, module+l.program, by.ImportPath), " > "))
				}
			}
		}
		for _, pattern := range slices.Concat(l.but, l.only) {
			if !slices.ContainsFunc(all, func(p pkg) bool { return covers([]string{pattern}, p.ImportPath) }) {
				t.Errorf("%s does not link %s any more: remove it here", l.program, pattern)
			}
		}
	}
}

// wayTo returns a shortest chain of imports from a program to a package.
func wayTo(all []pkg, program, to string) []string {
	byPath := map[string]pkg{}
	for _, p := range all {
		byPath[p.ImportPath] = p
	}
	ways := [][]string{{program}}
	seen := map[string]bool{program: true}
	for len(ways) > 0 {
		way := ways[0]
		ways = ways[1:]
		last := way[len(way)-1]
		if last == to {
			return way
		}
		for _, next := range byPath[last].Imports {
			if !seen[next] {
				seen[next] = true
				ways = append(ways, append(slices.Clone(way), next))
			}
		}
	}
	return nil
}
