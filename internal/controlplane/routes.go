package controlplane

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"k8s.io/client-go/tools/events"

	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/oam"
	"anymesh.dev/anymesh/internal/trait/provider"
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
	// Providers are the providers of this program, in the order in which they are chosen.
	Providers []provider.Provider `json:"-"`
}

// systemDefinitions is the namespace of the definitions of KubeVela.
const systemDefinitions = "vela-system"

// LoadRouteTrait reads the settings of the Route trait: the file route-trait.json of the ConfigMap preset-mesh-config.
// An empty path means the defaults. Unknown fields are errors.
func LoadRouteTrait(path string) (RouteTrait, error) {
	settings := RouteTrait{Enabled: true}
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

// newRoutes creates the controller of Routes, or nil if the Route trait is disabled.
func (cp *controlPlane) newRoutes(recorder events.EventRecorder) (*controller.Controller, error) {
	settings := cp.RouteTrait
	if !settings.Enabled {
		return nil, nil
	}
	names := []string{settings.DefinitionNamespace, systemDefinitions}
	find := discovery.Options{DefinitionNamespaces: slices.DeleteFunc(names, func(n string) bool { return n == "" })}
	return controller.New(controller.Options{
		Config: withAPIServerRetry(cp.KubeConfig, cp.reportAPIServer), Recorder: recorder, Log: cp.Log,
		Registerer: cp.registry,
		Planners: []controller.Planner{
			&route.Planner{Providers: settings.Providers, Default: settings.Provider, Discovery: find},
			oam.Applications{Discovery: find}, oam.ContainerizedWorkloads{}, oam.PodSpecWorkloads{},
		},
	})
}
