package aggregate

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/api/aggregatecrds"
	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
)

// crdTimeout limits the wait for the control plane to serve new CustomResourceDefinitions.
const crdTimeout = 30 * time.Second

// InstallCRDs creates the CustomResourceDefinitions that the control plane lacks.
func InstallCRDs(ctx context.Context, config *rest.Config) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	_, err = installCRDs(ctx, config, scheme)
	return err
}

// installCRDs returns true if Clusters are stored by a CustomResourceDefinition, so that no other control plane writes
// their status.
func installCRDs(ctx context.Context, config *rest.Config, scheme *runtime.Scheme) (bool, error) {
	kube, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return false, fmt.Errorf("connection to the control plane: %w", err)
	}
	all, err := aggregatecrds.All()
	if err != nil {
		return false, err
	}
	owned := true
	for _, crd := range all {
		existing := &apiextensionsv1.CustomResourceDefinition{}
		err := kube.Get(ctx, client.ObjectKeyFromObject(crd), existing)
		if err == nil {
			continue
		}
		if !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("reading CustomResourceDefinition %s of the control plane: %w", crd.Name, err)
		}
		if crd.Spec.Group == clusterv1.GroupVersion.Group && servesClusters(config) {
			owned = false
			continue
		}
		if err := kube.Create(ctx, crd); err != nil && !apierrors.IsAlreadyExists(err) {
			return false, fmt.Errorf("creating CustomResourceDefinition %s in the control plane: %w", crd.Name, err)
		}
		if err := established(ctx, kube, crd); err != nil {
			return false, err
		}
	}
	return owned, nil
}

func established(ctx context.Context, kube client.Client, crd *apiextensionsv1.CustomResourceDefinition) error {
	check := func(ctx context.Context) (bool, error) {
		if err := kube.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			return false, err
		}
		for _, c := range crd.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, crdTimeout, true, check); err != nil {
		return fmt.Errorf("the control plane does not serve CustomResourceDefinition %s: %w", crd.Name, err)
	}
	return nil
}

// servesClusters reports whether another server of the control plane has Clusters, as in Karmada.
func servesClusters(config *rest.Config) bool {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return false
	}
	list, err := d.ServerResourcesForGroupVersion(clusterv1.GroupVersion.String())
	return err == nil && len(list.APIResources) > 0
}
