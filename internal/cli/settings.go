package cli

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/sidecar"
)

// settingsName is the name of the ConfigMap with the settings of the control plane.
const settingsName = "preset-mesh-config"

// assumedDefaults is the note about settings that cannot be read.
func assumedDefaults(key client.ObjectKey, err error) string {
	return fmt.Sprintf("the default settings are assumed: ConfigMap %s cannot be read: %s", key, apierrors.ReasonForError(err))
}

// settings reads the settings of the control plane: its ConfigMap preset-mesh-config. If the user may not read it, or
// it does not exist, the defaults apply, and a note says so.
func (s *source) settings(ctx context.Context, kube client.Client) (dialects []dialect.Dialect,
	settings engine.Settings, notes []string, err error) {
	var config corev1.ConfigMap
	key := client.ObjectKey{Namespace: s.system, Name: settingsName}
	err = kube.Get(ctx, key, &config)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return dialect.All(), settings, []string{assumedDefaults(key, err)}, nil
	}
	if err != nil {
		return nil, settings, nil, fmt.Errorf("reading ConfigMap %s: %w", key, err)
	}
	var mesh sidecar.MeshConfig
	var values dialect.Settings
	if err := unmarshal(config, "preset-mesh-config.json", &mesh); err != nil {
		return nil, settings, nil, err
	}
	if err := unmarshal(config, "dialects.json", &values.Values); err != nil {
		return nil, settings, nil, err
	}
	values.SidecarClasses = mesh.Classes()
	if settings, err = engine.SettingsOf(&mesh); err == nil {
		dialects, err = dialect.Configured(values)
	}
	if err != nil {
		return nil, settings, nil, fmt.Errorf("ConfigMap %s: %w", key, err)
	}
	return dialects, settings, nil, nil
}

// unmarshal decodes a file of a ConfigMap. A missing file leaves the value as it is.
func unmarshal(c corev1.ConfigMap, file string, into any) error {
	text, there := c.Data[file]
	if !there {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("ConfigMap %s/%s: %s: %w", c.Namespace, c.Name, file, err)
	}
	return nil
}
