package engine

import (
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TrimService removes the fields of a Service that neither dialects nor the engine read, and shares strings. It is a
// transform for the informer cache.
func TrimService(object any) (any, error) {
	service, ok := object.(*corev1.Service)
	if !ok {
		return object, nil
	}
	ips := service.Spec.ClusterIPs
	if len(ips) > 0 && ips[0] == service.Spec.ClusterIP {
		ips[0] = service.Spec.ClusterIP
	}
	for i := range service.Spec.Ports {
		p := &service.Spec.Ports[i]
		p.Protocol = unique.Make(p.Protocol).Value()
	}
	return &corev1.Service{
		TypeMeta: service.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: service.Name, Namespace: unique.Make(service.Namespace).Value(), UID: service.UID,
			ResourceVersion: service.ResourceVersion, DeletionTimestamp: service.DeletionTimestamp,
			CreationTimestamp: service.CreationTimestamp,
		},
		Spec: corev1.ServiceSpec{
			Type: unique.Make(service.Spec.Type).Value(), ClusterIP: service.Spec.ClusterIP, ClusterIPs: ips,
			Ports: service.Spec.Ports, Selector: service.Spec.Selector,
		},
		Status: corev1.ServiceStatus{LoadBalancer: service.Status.LoadBalancer},
	}, nil
}
