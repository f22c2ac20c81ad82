package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// TestSecurityContext checks the securityContext of containers.
func TestSecurityContext(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	const show = `grep -E '^(Uid|Gid|Groups|CapEff|CapBnd|NoNewPrivs)' /proc/self/status | tr -s '\t ' ' ' | sed 's/ $//'; `
	const defaults = "00000000a80425fb" // 14 capabilities, no NET_ADMIN
	caps := func(add, drop string) *corev1.Capabilities {
		out := &corev1.Capabilities{}
		if add != "" {
			out.Add = []corev1.Capability{corev1.Capability(add)}
		}
		if drop != "" {
			out.Drop = []corev1.Capability{corev1.Capability(drop)}
		}
		return out
	}
	for _, test := range []struct {
		name string
		sc   corev1.SecurityContext
		more string
		want []string
	}{
		{"default", corev1.SecurityContext{}, "ip link add x type veth peer name y 2>&1",
			[]string{"Uid: 0 0 0 0", "CapEff: " + defaults, "CapBnd: " + defaults, "NoNewPrivs: 0", "not permitted"}},
		{"user", corev1.SecurityContext{RunAsUser: ptr.To(int64(1337)), RunAsGroup: ptr.To(int64(1338))}, "",
			[]string{"Uid: 1337 1337 1337 1337", "Gid: 1338 1338 1338 1338", "CapEff: 0000000000000000", "CapBnd: " + defaults}},
		{"add", corev1.SecurityContext{Capabilities: caps("NET_ADMIN", "")}, "ip link add x type veth peer name y && echo added",
			[]string{"CapEff: 00000000a80435fb", "added"}},
		{"drop-all", corev1.SecurityContext{Capabilities: caps("NET_BIND_SERVICE", "ALL")}, "chown 5 /etc/hostname 2>&1",
			[]string{"CapEff: 0000000000000400", "CapBnd: 0000000000000400", "not permitted"}},
		{"privileged", corev1.SecurityContext{Privileged: ptr.To(true)}, "sysctl -w net.ipv4.ip_forward=1",
			[]string{"net.ipv4.ip_forward = 1"}},
		{"no-escalation", corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false)}, "", []string{"NoNewPrivs: 1"}},
		{"read-only", corev1.SecurityContext{ReadOnlyRootFilesystem: ptr.To(true)}, "touch /etc/x /x /tmp/x 2>&1; touch /dev/shm/x && echo shm",
			[]string{"'/etc/x': Read-only", "'/x': Read-only", "'/tmp/x': Read-only", "shm"}},
		{"sysctl-refused", corev1.SecurityContext{}, "echo 1 > /proc/sys/net/ipv4/ip_forward", []string{"Read-only"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			box := shell("box", show+test.more+"\ntrue")
			box.SecurityContext = &test.sc
			got := c.succeeded(t, ns, pod(test.name, box))
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("missing %q in:\n%s", want, got)
				}
			}
		})
	}
}

// TestPodSecurityContext checks that groups and sysctls of the Pod apply to its containers, and that every user may
// listen on low ports.
func TestPodSecurityContext(t *testing.T) {
	c := shared.clusters[0]
	box := shell("box", "id -G; cat /proc/sys/net/ipv4/ip_local_port_range; python3 -c 'import socket; socket.socket().bind((\"\", 80)); print(\"bound\")'")
	p := pod("groups", box)
	p.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsUser: ptr.To(int64(1000)), RunAsGroup: ptr.To(int64(2000)), FSGroup: ptr.To(int64(3000)),
		SupplementalGroups: []int64{4000},
		Sysctls:            []corev1.Sysctl{{Name: "net.ipv4.ip_local_port_range", Value: "20000 30000"}},
	}
	got := strings.Fields(c.succeeded(t, c.namespace(t), p))
	if want := "2000 3000 4000 20000 30000 bound"; strings.Join(got, " ") != want &&
		strings.Join(got, " ") != "2000 4000 3000 20000 30000 bound" {
		t.Errorf("got %v, want %s", got, want)
	}
}
