package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// istioRoutes is the kind of Istio's routes.
var istioRoutes = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "VirtualService"}

// apply makes a change of the kind. It corresponds to that of Anymesh with the same number.
func (p istiod) apply(ctx context.Context, m *bench, i int) ([]int, error) {
	service := i / 2 * 7 % m.services
	again := i%2 == 1
	switch p.kind {
	case "weights":
		return nil, m.routeService(ctx, service, m.size, map[bool]int64{false: 100, true: 50}[again], "/")
	case "routes":
		return nil, m.routeService(ctx, service, m.size, 50, map[bool]string{false: "/v1", true: "/"}[again])
	case "services":
		return nil, m.toggleKubernetesService(ctx, service, again)
	case "workloads":
		number, at := m.clients+i, m.workloads+i
		for _, o := range istioWorkload(number, workloadName(at), m.reached) {
			if err := m.create(ctx, o); err != nil {
				return nil, err
			}
		}
		return m.receivers(number), m.fleet.add(ctx, number, at)
	case "endpoints":
		return nil, p.setReady(ctx, m.cluster, service, 0, again)
	}
	return nil, fmt.Errorf("kind %q is unknown", p.kind)
}

// istioWorkload returns a workload with a pod, and the Service without which it has no inbound port: Istio requires one
// for each pod ("Application Requirements", message IST0117). If others do not reach the workload, the Service is exported
// to none of them.
func istioWorkload(number int, name string, reached bool) []client.Object {
	out := istioService(0)
	service, slice := out[0].(*corev1.Service), out[1].(*discoveryv1.EndpointSlice)
	service.Name, service.Spec.Selector = name, map[string]string{"app": name}
	if !reached {
		service.Annotations = map[string]string{"networking.istio.io/exportTo": "~"}
	}
	slice.Name, slice.Labels = name, map[string]string{discoveryv1.LabelServiceName: name}
	slice.Endpoints = slice.Endpoints[:1]
	slice.Endpoints[0].Addresses = []string{clientAddress(number)}
	return append(out, pod(clientPod(number), name))
}

// toggleKubernetesService deletes a Service with its endpoints, or creates them again.
func (m *bench) toggleKubernetesService(ctx context.Context, i int, create bool) error {
	if !create {
		for _, o := range []client.Object{
			&corev1.Service{ObjectMeta: meta(serviceName(i))}, &discoveryv1.EndpointSlice{ObjectMeta: meta(serviceName(i))},
		} {
			if err := client.IgnoreNotFound(m.client.Delete(ctx, o)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, o := range istioService(i) {
		if err := m.create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// routeService creates or updates the VirtualService of a service: requests with the prefix go to the service, by its
// weight in percent, and to the next service.
func (c *cluster) routeService(ctx context.Context, i int, s size, weight int64, prefix string) error {
	target := func(i int, weight int64) map[string]any {
		return map[string]any{
			"destination": map[string]any{"host": serviceName(i), "port": map[string]any{"number": int64(port)}},
			"weight":      weight,
		}
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"hosts": []any{serviceName(i)},
		"http": []any{map[string]any{
			"match": []any{map[string]any{"uri": map[string]any{"prefix": prefix}}},
			"route": []any{target(i, weight), target((i+1)%s.services, 100-weight)},
		}},
	}}}
	o.SetGroupVersionKind(istioRoutes)
	o.SetNamespace(namespace)
	o.SetName(serviceName(i))
	return c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("bench"),
		client.ForceOwnership)
}

// defineVirtualService installs the CRD of VirtualServices without a schema, and waits until it is served.
func (c *cluster) defineVirtualService(ctx context.Context) error {
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "virtualservices." + istioRoutes.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: istioRoutes.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "virtualservices", Singular: "virtualservice", Kind: istioRoutes.Kind,
				ListKind: istioRoutes.Kind + "List",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: istioRoutes.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
	if err := c.client.Create(ctx, crd); err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(istioRoutes)
	return eventually(ctx, "VirtualServices are not served", func() error { return c.client.List(ctx, list) })
}
