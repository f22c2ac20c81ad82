package controlplane

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// bootstrap creates the objects that an installer would create: the DNS Service, which points to CoreDNS on the node,
// and the roles of CoreDNS.
func bootstrap(ctx context.Context, client kubernetes.Interface, c plan.Cluster) error {
	meta := metav1.ObjectMeta{
		Name: "kube-dns", Namespace: metav1.NamespaceSystem, Labels: map[string]string{"k8s-app": "kube-dns"},
	}
	ports := []corev1.ServicePort{
		{Name: "dns", Protocol: corev1.ProtocolUDP, Port: plan.DNSPort, TargetPort: intstr.FromInt32(plan.DNSPort)},
		{Name: "dns-tcp", Protocol: corev1.ProtocolTCP, Port: plan.DNSPort, TargetPort: intstr.FromInt32(plan.DNSPort)},
	}
	svc := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: c.DNSService().String(), Ports: ports}}
	// After a restart the Service exists; creating it again would fail because its address is in use.
	_, err := client.CoreV1().Services(meta.Namespace).Get(ctx, svc.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.CoreV1().Services(meta.Namespace).Create(ctx, svc, metav1.CreateOptions{})
	}
	if err := created("Service kube-dns", err); err != nil {
		return err
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: "kube-dns-node", Namespace: meta.Namespace,
			Labels: map[string]string{
				discoveryv1.LabelServiceName: "kube-dns", discoveryv1.LabelManagedBy: "anymesh-sandbox",
			},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{c.Node4.String()}}},
	}
	for _, p := range ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &p.Name, Protocol: &p.Protocol, Port: &p.Port})
	}
	_, err = client.DiscoveryV1().EndpointSlices(meta.Namespace).Create(ctx, slice, metav1.CreateOptions{})
	if err := created("EndpointSlice kube-dns-node", err); err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "system:coredns"},
		Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{""}, Resources: []string{"services", "pods", "namespaces"},
				Verbs: []string{"list", "watch"},
			},
			{
				APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"},
				Verbs: []string{"list", "watch"},
			},
		},
	}
	_, err = client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if err := created("ClusterRole system:coredns", err); err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "system:coredns"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:coredns"}},
	}
	_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	return created("ClusterRoleBinding system:coredns", err)
}

func created(what string, err error) error {
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %s: %w", what, err)
	}
	return nil
}
