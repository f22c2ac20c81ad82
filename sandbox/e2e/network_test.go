package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestPodsReachEachOtherAcrossClusters checks that a Pod reaches a Pod of the other cluster by its IPv4 and IPv6
// address, and that its source address is not translated.
func TestPodsReachEachOtherAcrossClusters(t *testing.T) {
	var pods []*corev1.Pod
	for _, c := range shared.clusters {
		pods = append(pods, c.ready(t, c.namespace(t), pod("app", app("app"))))
	}
	for i, c := range shared.clusters {
		from, to := pods[i], pods[1-i]
		if n := len(to.Status.PodIPs); n != 2 {
			t.Fatalf("%d addresses, want one of each family: %v", n, to.Status.PodIPs)
		}
		for f := range 2 {
			got := c.mustAsk(t, from, "get", "url", podURL(to.Status.PodIPs[f].IP, "peer"))
			if want := from.Status.PodIPs[f].IP; netip.MustParseAddr(got) != netip.MustParseAddr(want) {
				t.Errorf("source address of %s is %s, want %s", c.name, got, want)
			}
		}
	}
}

func service(name string, headless bool, selector string) *corev1.Service {
	dual := corev1.IPFamilyPolicyRequireDualStack
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": selector}, IPFamilyPolicy: &dual,
			Ports: []corev1.ServicePort{{Name: "web", Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	if headless {
		s.Spec.ClusterIP = corev1.ClusterIPNone
	}
	return s
}

// TestServices checks that Services distribute connections over their Pods for both families, from Pods, from a Pod
// to itself, and from the node, and that NodePorts work.
func TestServices(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	var backends []*corev1.Pod
	for _, name := range []string{"b1", "b2"} {
		p := pod(name, app("app"))
		p.Labels["app"] = "backend"
		backends = append(backends, c.ready(t, ns, p))
	}
	s := service("web", false, "backend")
	s.Spec.Type = corev1.ServiceTypeNodePort
	s, err := c.client.CoreV1().Services(ns).Create(t.Context(), s, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ip := range s.Spec.ClusterIPs {
		url := "http://" + ip + "/"
		if strings.Contains(ip, ":") {
			url = "http://[" + ip + "]/"
		}
		seen := map[string]bool{}
		eventually(t, "responses of both Pods at "+url, func(ctx context.Context) error {
			got, err := c.ask(ctx, backends[0], "get", "url", url)
			if err != nil {
				return err
			}
			seen[got] = true
			return wantf(seen["b1"] && seen["b2"], "only %v responded", seen)
		})
	}
	for _, url := range []string{"http://" + s.Spec.ClusterIP + "/", fmt.Sprintf("http://%s:%d/", c.nodeIP, s.Spec.Ports[0].NodePort)} {
		out, err := shared.run("exec", "--cluster", c.name, "--", "curl", "-s", "-m", "5", url)
		if err != nil || out != "b1" && out != "b2" {
			t.Errorf("from the node, %s: %q %v", url, out, err)
		}
	}
}

// TestDNS checks names of Services, headless Services, their Pods and ports.
func TestDNS(t *testing.T) {
	c := shared.clusters[1]
	ns := c.namespace(t)
	for _, s := range []*corev1.Service{service("web", false, "app"), service("pods", true, "app")} {
		if _, err := c.client.CoreV1().Services(ns).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	p := pod("app", app("app"))
	p.Spec.Hostname, p.Spec.Subdomain = "first", "pods"
	p = c.ready(t, ns, p)
	svc, err := c.client.CoreV1().Services(ns).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var ips []string
	for _, ip := range p.Status.PodIPs {
		ips = append(ips, ip.IP)
	}
	for name, want := range map[string][]string{
		"web":                              svc.Spec.ClusterIPs,
		"web." + ns + ".svc.cluster.local": svc.Spec.ClusterIPs,
		"pods":                             ips,
		"first.pods." + ns + ".svc":        ips,
		"kubernetes.default":               {"10.142.0.1"},
		"first":                            ips, // from /etc/hosts
	} {
		eventually(t, "the name "+name, func(ctx context.Context) error {
			got, err := c.ask(ctx, p, "lookup", "name", name)
			if err != nil {
				return err
			}
			for _, ip := range want {
				if !strings.Contains(" "+got+" ", " "+ip+" ") {
					return fmt.Errorf("got %s, want %v", got, want)
				}
			}
			return nil
		})
	}
	want := fmt.Sprintf("first.pods.%s.svc.cluster.local.:8080", ns)
	if got := c.mustAsk(t, p, "srv", "service", "web", "name", "pods."+ns+".svc.cluster.local"); got != want {
		t.Errorf("SRV: got %q, want %q", got, want)
	}
	if got, err := c.ask(t.Context(), p, "lookup", "name", "no-such-name.example.com"); err == nil {
		t.Errorf("an external name resolves to %s", got)
	}
}

// TestHostNetwork checks that a Pod with hostNetwork uses the node addresses.
func TestHostNetwork(t *testing.T) {
	c := shared.clusters[0]
	p := pod("host", app("app"))
	p.Spec.HostNetwork = true
	p.Spec.Containers[0].Args = []string{"-http=:18080"}
	p.Spec.Containers[0].ReadinessProbe.HTTPGet.Port = intstr.FromInt32(18080)
	p = c.ready(t, c.namespace(t), p)
	if p.Status.PodIP != c.nodeIP {
		t.Errorf("Pod address %s, want the node's %s", p.Status.PodIP, c.nodeIP)
	}
	out, err := shared.run("exec", "--cluster", c.name, "--", "curl", "-s", "-m", "5", "http://127.0.0.1:18080/")
	if err != nil || out != c.name+"-node" {
		t.Errorf("got %q %v", out, err)
	}
}
