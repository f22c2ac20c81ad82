package engine

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TrimService removes the fields of a Service that neither dialects nor the engine read. It is a transform for the
// informer cache.
func TrimService(object any) (any, error) {
	service, ok := object.(*corev1.Service)
	if !ok {
		return object, nil
	}
	return &corev1.Service{
		TypeMeta: service.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: service.Name, Namespace: service.Namespace, UID: service.UID,
			ResourceVersion: service.ResourceVersion, DeletionTimestamp: service.DeletionTimestamp,
		},
		Spec: corev1.ServiceSpec{
			Type: service.Spec.Type, ClusterIP: service.Spec.ClusterIP, ClusterIPs: service.Spec.ClusterIPs,
			Ports: service.Spec.Ports,
		},
		Status: corev1.ServiceStatus{LoadBalancer: service.Status.LoadBalancer},
	}, nil
}
