package appmesh

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
)

// controllerLabel and controllerName identify the Deployment of the App Mesh controller's Helm chart.
const controllerLabel, controllerName = "app.kubernetes.io/name", "appmesh-controller"

// Checks lists the cluster checks of App Mesh.
func (Dialect) Checks() []dialect.Check {
	return []dialect.Check{{
		Code: "AppMeshControllerGone", Title: "the App Mesh controller does not run",
		Meaning: "The App Mesh controller runs at the same time as Anymesh: both write the status and the finalizers of the same objects.",
		Remedy:  "Scale its Deployment to 0 replicas, or uninstall its Helm release with --no-hooks. Both keep your objects and their CustomResourceDefinitions.",
		Run:     controllerGone,
	}}
}

func controllerGone(ctx context.Context, c client.Client) (string, error) {
	var all appsv1.DeploymentList
	if err := c.List(ctx, &all, client.MatchingLabels{controllerLabel: controllerName}); err != nil {
		return "", fmt.Errorf("listing Deployments: %w", err)
	}
	var running []string
	for _, d := range all.Items {
		if d.Spec.Replicas == nil || *d.Spec.Replicas > 0 {
			running = append(running, d.Namespace+"/"+d.Name)
		}
	}
	if len(running) > 0 {
		return "", fmt.Errorf("Deployment %s runs", strings.Join(running, ", "))
	}
	return "", nil
}
