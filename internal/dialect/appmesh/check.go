package appmesh

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
)

// controllerLabel is on the Deployment of the App Mesh controller, as its Helm chart makes it.
const controllerLabel, controllerName = "app.kubernetes.io/name", "appmesh-controller"

// Checks lists what users of App Mesh check besides.
func (Dialect) Checks() []dialect.Check {
	return []dialect.Check{{
		Code: "AppMeshControllerGone", Title: "the App Mesh controller does not run",
		Meaning: "The App Mesh controller runs beside Anymesh: both write the statuses and finalizers of the same objects.",
		Remedy:  "Scale its Deployment to 0 replicas, or uninstall its Helm release with --no-hooks; your objects and their CustomResourceDefinitions stay.",
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
