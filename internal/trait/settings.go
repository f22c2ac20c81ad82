// Package trait has the settings of the Route trait. The file route-trait.json of the ConfigMap preset-mesh-config
// comes in, settings go out. The control plane and the commands that read Routes share them.
package trait

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// SettingsFile is the file of the settings in the ConfigMap preset-mesh-config.
const SettingsFile = "route-trait.json"

// Settings are the settings of the Route trait.
type Settings struct {
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
func (s Settings) DefinitionNamespaces() []string {
	names := []string{s.DefinitionNamespace, systemDefinitions}
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

// ParseSettings decodes the settings. Unknown fields are errors.
func ParseSettings(text []byte) (Settings, error) {
	var settings Settings
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&settings); err != nil {
		return settings, fmt.Errorf("settings of the Route trait: %w", err)
	}
	return settings, nil
}

// LoadSettings reads the settings from a file. An empty path means the defaults.
func LoadSettings(path string) (Settings, error) {
	if path == "" {
		return Settings{}, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Settings{}, fmt.Errorf("settings of the Route trait: %w", err)
	}
	settings, err := ParseSettings(text)
	if err != nil {
		return settings, fmt.Errorf("%s: %w", path, err)
	}
	return settings, nil
}
