package gateway

import (
	"unique"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Transforms returns the transforms of cached objects. A cluster has an EndpointSlice for each Service, with an
// endpoint for each of its pods.
func Transforms() map[client.Object]cache.TransformFunc {
	return map[client.Object]cache.TransformFunc{&discoveryv1.EndpointSlice{}: trimSlice}
}

// trimSlice removes the fields of an EndpointSlice that sliceRule does not read.
func trimSlice(object any) (any, error) {
	slice, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return object, nil
	}
	out := &discoveryv1.EndpointSlice{
		TypeMeta: slice.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: slice.Name, Namespace: slice.Namespace, UID: slice.UID, ResourceVersion: slice.ResourceVersion,
			Generation: slice.Generation, DeletionTimestamp: slice.DeletionTimestamp,
		},
		AddressType: unique.Make(slice.AddressType).Value(),
		Endpoints:   make([]discoveryv1.Endpoint, 0, len(slice.Endpoints)),
	}
	if service, has := slice.Labels[discoveryv1.LabelServiceName]; has {
		out.Labels = map[string]string{discoveryv1.LabelServiceName: service}
	}
	for _, p := range slice.Ports {
		out.Ports = append(out.Ports, discoveryv1.EndpointPort{Name: p.Name, Protocol: p.Protocol, Port: p.Port})
	}
	for _, e := range slice.Endpoints {
		out.Endpoints = append(out.Endpoints, trimEndpoint(e))
	}
	return out, nil
}

// Shared values of conditions.
var isReady, isNotReady = new(true), new(false)

func trimEndpoint(e discoveryv1.Endpoint) discoveryv1.Endpoint {
	out := discoveryv1.Endpoint{Addresses: e.Addresses}
	if ready := e.Conditions.Ready; ready != nil && *ready {
		out.Conditions.Ready = isReady
	} else if ready != nil {
		out.Conditions.Ready = isNotReady
	}
	if ref := e.TargetRef; ref != nil {
		out.TargetRef = &corev1.ObjectReference{
			Kind: unique.Make(ref.Kind).Value(), Namespace: unique.Make(ref.Namespace).Value(), Name: ref.Name, UID: ref.UID,
		}
	}
	return out
}
