package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/routes"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/trait"
	"anymesh.dev/anymesh/model"
)

// routeWords are the names of Routes, which are not objects of a dialect.
var routeWords = []string{"route", "routes", "route.standard.oam.dev", "routes.standard.oam.dev"}

// describeRoute describes a Route of the files or of the cluster.
func (s *source) describeRoute(ctx context.Context, in io.Reader, name string) (description, []string, error) {
	if len(s.files) > 0 {
		files, err := s.read(in)
		if err != nil {
			return nil, nil, err
		}
		plan := routes.Of(files.Documents, s.namespace)
		o, err := plan.Find(name, s.namespace)
		if err != nil {
			return nil, nil, err
		}
		findings, err := s.planFindings(files, plan)
		if err != nil {
			return nil, nil, err
		}
		return plan.Description(o, findings), fileNotes(files, len(plan.Faults)), nil
	}
	kube, err := s.client()
	if err != nil {
		return nil, nil, err
	}
	settings, notes, err := s.routeSettings(ctx, kube)
	if err != nil {
		return nil, nil, err
	}
	d, more, err := routes.Live(ctx, kube, name, s.namespace, settings)
	return d, slices.Concat(notes, more), err
}

// planFindings returns the findings about the objects of files and those that their Routes plan.
func (s *source) planFindings(files *manifest.Files, plan *routes.Plan) ([]model.Finding, error) {
	dialects, set, _, err := s.decode(files, plan)
	if err != nil {
		return nil, err
	}
	return engine.Compute(dialects, engine.Settings{}, set.Objects).Findings, nil
}

// routeSettings reads the settings of the Route trait from the ConfigMap of the control plane.
func (s *source) routeSettings(ctx context.Context, kube client.Client) (routes.Settings, []string, error) {
	out := routes.Settings{System: s.system}
	var config corev1.ConfigMap
	key := client.ObjectKey{Namespace: s.system, Name: settingsName}
	err := kube.Get(ctx, key, &config)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return out, []string{assumedDefaults(key, err)}, nil
	}
	if err != nil {
		return out, nil, err
	}
	settings := trait.Settings{}
	if text := config.Data[trait.SettingsFile]; text != "" {
		if settings, err = trait.ParseSettings([]byte(text)); err != nil {
			return out, nil, fmt.Errorf("ConfigMap %s: %w", key, err)
		}
	}
	out.Provider, out.DefinitionNamespaces = settings.Provider, settings.DefinitionNamespaces()
	return out, nil, nil
}
