package check

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"anymesh.dev/anymesh/internal/engine"
)

func TestOverlaps(t *testing.T) {
	for name, c := range map[string]struct {
		ranges, used []string
		want         string
	}{
		"no addresses":       {[]string{"240.240.0.0/16"}, nil, ""},
		"neighbors":          {[]string{"240.240.0.0/16"}, []string{"240.239.255.255", "240.241.0.0/16"}, ""},
		"an address":         {[]string{"240.240.0.0/16"}, []string{"240.240.0.0"}, "240.240.0.0/16 overlaps a (f 240.240.0.0)"},
		"the last address":   {[]string{"240.240.0.0/16"}, []string{"240.240.255.255"}, "240.240.0.0/16 overlaps a (f 240.240.255.255)"},
		"a larger range":     {[]string{"240.240.0.0/16"}, []string{"240.0.0.0/4"}, "240.240.0.0/16 overlaps a (f 240.0.0.0/4)"},
		"a smaller range":    {[]string{"240.240.0.0/16"}, []string{"240.240.7.0/24"}, "240.240.0.0/16 overlaps a (f 240.240.7.0/24)"},
		"another family":     {[]string{"fd6d:6573:6800::/112"}, []string{"0.0.0.0/0", "240.240.0.1"}, ""},
		"IPv6":               {[]string{"fd6d:6573:6800::/112"}, []string{"fd6d:6573:6800::ffff", "fd6d:6573:6800::1:0"}, "fd6d:6573:6800::/112 overlaps a (f fd6d:6573:6800::ffff)"},
		"IPv4 in IPv6":       {[]string{"240.240.0.0/16"}, []string{"::ffff:240.240.1.1"}, "240.240.0.0/16 overlaps a (f 240.240.1.1)"},
		"a range and others": {[]string{"240.240.0.0/16"}, []string{"240.240.0.1", "240.240.0.0/24"}, "240.240.0.0/16 overlaps b (f 240.240.0.0/24), a (f 240.240.0.1)"},
		"many addresses": {
			[]string{"240.240.0.0/16"}, []string{"240.240.0.1", "240.240.0.2", "240.240.0.3", "240.240.0.4", "240.240.0.5"},
			"240.240.0.0/16 overlaps a (f 240.240.0.1), b (f 240.240.0.2), c (f 240.240.0.3), and 2 more",
		},
		"both ranges": {
			[]string{"240.240.0.0/16", "fd00::/64"}, []string{"fd00::1", "240.240.0.1"},
			"240.240.0.0/16 overlaps b (f 240.240.0.1); fd00::/64 overlaps a (f fd00::1)",
		},
		"no address": {[]string{"240.240.0.0/16"}, []string{"None", "", "node-1", "240.240.0.0/99"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var ranges []netip.Prefix
			for _, text := range c.ranges {
				ranges = append(ranges, netip.MustParsePrefix(text))
			}
			var used []usage
			for i, text := range c.used {
				if p, ok := prefixOf(text); ok {
					used = append(used, usage{p, string(rune('a' + i)), "f"})
				}
			}
			got := ""
			if err := overlapError(overlaps(ranges, used)); err != nil {
				got = strings.TrimPrefix(err.Error(), "osm.reservedRanges: ")
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// ranges returns settings with the given reserved ranges.
func ranges(texts ...string) func(context.Context) (engine.Settings, error) {
	var s engine.Settings
	for _, text := range texts {
		s.ReservedRanges = append(s.ReservedRanges, netip.MustParsePrefix(text))
	}
	return func(context.Context) (engine.Settings, error) { return s, nil }
}

func TestReservedRangesOfCluster(t *testing.T) {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "a", Name: name} }
	objects := []client.Object{
		&networkingv1.ServiceCIDR{
			ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"},
			Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/16"}},
		},
		&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: corev1.NodeSpec{PodCIDRs: []string{"10.244.0.0/24", "fd00:244::/64"}},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeHostName, Address: "one"}, {Type: corev1.NodeInternalIP, Address: "192.168.0.7"},
			}},
		},
		&corev1.Service{ObjectMeta: named("s"), Spec: corev1.ServiceSpec{
			ClusterIPs: []string{"10.97.0.1"}, ExternalIPs: []string{"198.51.100.1"},
		}, Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{
			Ingress: []corev1.LoadBalancerIngress{{Hostname: "lb.example.com"}, {IP: "203.0.113.1"}},
		}}},
		&corev1.Service{ObjectMeta: named("headless"), Spec: corev1.ServiceSpec{ClusterIPs: []string{"None"}}},
		&corev1.Pod{ObjectMeta: named("p"), Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "172.16.0.1"}}}},
	}
	for name, c := range map[string]struct {
		ranges []string
		want   string
	}{
		"default":           {nil, "240.240.0.0/16, fd6d:6573:6800::/112"},
		"free":              {[]string{"100.64.0.0/10"}, "100.64.0.0/10"},
		"ServiceCIDR":       {[]string{"10.96.0.0/12"}, "osm.reservedRanges: 10.96.0.0/12 overlaps ServiceCIDR kubernetes (spec.cidrs 10.96.0.0/16), Service a/s (spec.clusterIPs 10.97.0.1)"},
		"pods of a Node":    {[]string{"fd00::/16"}, "osm.reservedRanges: fd00::/16 overlaps Node one (spec.podCIDRs fd00:244::/64)"},
		"address of a Node": {[]string{"192.168.0.0/16"}, "osm.reservedRanges: 192.168.0.0/16 overlaps Node one (status.addresses 192.168.0.7)"},
		"externalIP":        {[]string{"198.51.100.0/24"}, "osm.reservedRanges: 198.51.100.0/24 overlaps Service a/s (spec.externalIPs 198.51.100.1)"},
		"load balancer":     {[]string{"203.0.113.0/24"}, "osm.reservedRanges: 203.0.113.0/24 overlaps Service a/s (status.loadBalancer 203.0.113.1)"},
		"Pod":               {[]string{"172.16.0.0/12"}, "osm.reservedRanges: 172.16.0.0/12 overlaps Pod a/p (status.podIPs 172.16.0.1)"},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).Build()
			got, err := reservedRanges(t.Context(), &Cluster{Client: kube, Settings: ranges(c.ranges...)})
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A kind that the user may not list gives a warning; overlaps with other kinds still fail. A cluster without the kind
// ServiceCIDR passes.
func TestReservedRangesWithoutPermission(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: corev1.NodeSpec{PodCIDRs: []string{"10.244.0.0/24"}}}
	list := func(_ context.Context, c client.WithWatch, l client.ObjectList, options ...client.ListOption) error {
		switch l.(type) {
		case *corev1.PodList:
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
		case *networkingv1.ServiceCIDRList:
			return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "networking.k8s.io", Kind: "ServiceCIDR"}}
		}
		return c.List(context.Background(), l, options...)
	}
	kube := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(node).
		WithInterceptorFuncs(interceptor.Funcs{List: list}).Build()
	var w warning
	_, err := reservedRanges(t.Context(), &Cluster{Client: kube, Settings: ranges("240.240.0.0/16")})
	if want := "osm.reservedRanges: 240.240.0.0/16 cannot be compared with the addresses of Pods: missing permission to list them"; !errors.As(err, &w) || w.text != want {
		t.Errorf("got %v, want a warning: %s", err, want)
	}
	_, err = reservedRanges(t.Context(), &Cluster{Client: kube, Settings: ranges("10.244.0.0/16")})
	if err == nil || errors.As(err, &w) {
		t.Errorf("overlap with a Node: got %v, want an error", err)
	}
}
