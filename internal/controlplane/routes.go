package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"k8s.io/client-go/tools/events"

	"anymesh.dev/anymesh/internal/trait/builtin"
	"anymesh.dev/anymesh/internal/trait/certificate"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/issuer"
	"anymesh.dev/anymesh/internal/trait/oam"
	"anymesh.dev/anymesh/internal/trait/route"
)

// RouteTrait are the settings of the Route trait.
type RouteTrait struct {
	// Enabled runs the controller of Routes. It waits for their CustomResourceDefinition.
	Enabled bool `json:"enabled"`
	// Provider is the provider of Routes that name none; empty means that which the cluster has.
	Provider string `json:"provider"`
	// DefinitionNamespace is searched for definitions of OAM after the namespace of the Route; it may be empty.
	DefinitionNamespace string `json:"definitionNamespace"`
}

// systemDefinitions is the namespace of the definitions of KubeVela.
const systemDefinitions = "vela-system"

// DefinitionNamespaces are searched for definitions of OAM after the namespace of the Route.
func (t RouteTrait) DefinitionNamespaces() []string {
	names := []string{t.DefinitionNamespace, systemDefinitions}
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

// LoadRouteTrait reads the settings of the Route trait: the file route-trait.json of the ConfigMap preset-mesh-config.
// An empty path means the defaults. Unknown fields are errors.
func LoadRouteTrait(path string) (RouteTrait, error) {
	var settings RouteTrait
	if path == "" {
		return settings, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return settings, fmt.Errorf("settings of the Route trait: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&settings); err != nil {
		return settings, fmt.Errorf("settings of the Route trait: %s: %w", path, err)
	}
	return settings, nil
}

// newRoutes creates the controller of Routes and the authority of their certificates, unless the Route trait is
// disabled.
func (cp *controlPlane) newRoutes(ctx context.Context, recorder events.EventRecorder) error {
	settings := cp.RouteTrait
	if !settings.Enabled {
		return nil
	}
	err := cp.progress.retry(ctx, cp.Log, "the certificate authority of Routes", func(ctx context.Context) (err error) {
		cp.routeCA, err = certificate.OpenStore(ctx, cp.kube, cp.Namespace, cp.TrustDomain)
		return classifyError(err)
	})
	if err != nil {
		return err
	}
	find := discovery.Options{DefinitionNamespaces: settings.DefinitionNamespaces()}
	cp.routes, err = controller.New(controller.Options{
		Config: withAPIServerRetry(cp.KubeConfig, cp.reportAPIServer), Recorder: recorder, Log: cp.Log,
		Registerer: cp.registry,
		Planners: []controller.Planner{
			&route.Planner{
				Providers: builtin.Providers(), Default: settings.Provider, Discovery: find,
				Certificates: issuer.Certificates{Authority: certificate.Authority{CA: cp.routeCA, Client: cp.kube}},
			},
			oam.Applications{Discovery: find}, oam.ContainerizedWorkloads{}, oam.PodSpecWorkloads{},
		},
	})
	return err
}
