package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// bypassManifests are a namespace whose label has another case, and the workload of its pods.
const bypassManifests = `
{apiVersion: v1, kind: Namespace, metadata: {name: bypass, labels: {mesh: colors, appmesh.k8s.aws/sidecarInjectorWebhook: Enabled}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: bypass, name: bypass}
spec: {podSelector: {matchLabels: {app: bypass}}}
`

// bypassingPod is a pod of the workload that is not scheduled.
const bypassingPod = `
apiVersion: v1
kind: Pod
metadata: {namespace: bypass, name: %s, labels: {app: bypass%s}, annotations: {%s}}
spec:
  nodeSelector: {scheduled: "no"}
  containers: [{name: app, image: anymesh.dev/colors, args: [serve]}%s]
  %s
`

// bypass is a way around the sidecar of a pod.
type bypass struct {
	name, labels, annotations, containers, spec string
	// warning is what kubectl prints; empty for none. Pods with a reported bypass have a finding, and can be refused.
	warning  string
	reported bool
}

func (b bypass) pod() string {
	return fmt.Sprintf(bypassingPod, b.name, b.labels, b.annotations, b.containers, b.spec)
}

var bypasses = []bypass{
	{name: "none"},
	{name: "host-network", spec: "hostNetwork: true", warning: "spec.hostNetwork is true", reported: true},
	{
		name: "own-capture", spec: "initContainers: [{name: proxyinit, image: anymesh.dev/colors}]",
		warning: "container proxyinit is not the one that injection adds", reported: true,
	},
	{
		name: "own-agent", labels: `, anymesh.dev/proxy-uuid: mine`,
		containers: ", {name: agent, image: anymesh.dev/colors, command: [anymesh, agent]}",
		warning:    "label anymesh.dev/proxy-uuid is set, but there is no container proxyinit", reported: true,
	},
	{
		name: "ignored-ipv4", annotations: `appmesh.k8s.aws/egressIgnoredIPs: "0.0.0.0/0"`,
		warning: "appmesh.k8s.aws/egressIgnoredIPs contains all IPv4 addresses", reported: true,
	},
	{
		name: "ignored-ipv6", annotations: `appmesh.k8s.aws/egressIgnoredIPs: "::/1,8000::/1"`,
		warning: "appmesh.k8s.aws/egressIgnoredIPs contains all IPv6 addresses", reported: true,
	},
	{name: "no-ipv6", annotations: `appmesh.k8s.aws/ipv6: disabled`, warning: "appmesh.k8s.aws/ipv6", reported: true},
	{
		name: "setuid", containers: ", {name: root, image: anymesh.dev/colors, securityContext: {capabilities: {add: [SETUID]}}}",
		warning: "container root may bypass the mesh: capability SETUID",
	},
	{
		name: "user-of-proxy", containers: ", {name: proxy, image: anymesh.dev/colors, securityContext: {runAsUser: 1337}}",
		warning: "container proxy may bypass the mesh: it runs as user 1337",
	},
}

// admit creates pods in a dry run, and returns the warnings and errors of kubectl.
func admit(t *testing.T, all ...bypass) string {
	t.Helper()
	var pods []string
	for _, b := range all {
		pods = append(pods, b.pod())
	}
	_, err := kubectlInput(t.Context(), strings.Join(pods, "---"), "create", "--dry-run=server", "--warnings-as-errors", "-f", "-")
	if err == nil {
		return ""
	}
	return err.Error()
}

// renamed returns the bypasses with other names of their pods.
func renamed(prefix string) []bypass {
	all := slices.Clone(bypasses)
	for i := range all {
		all[i].name = prefix + "-" + all[i].name
	}
	return all
}

// TestBypassesAreReported creates pods whose connections bypass their sidecars: kubectl prints a warning, the
// VirtualNode has a finding, and with osm.bypass=Refuse the pod is refused.
func TestBypassesAreReported(t *testing.T) {
	apply(t, bypassManifests)
	var pods []string
	printed, warnings := admit(t, bypasses...), 0
	for _, b := range bypasses {
		pods = append(pods, b.pod())
		if b.warning == "" {
			continue
		}
		warnings++
		if !strings.Contains(printed, b.warning) {
			t.Errorf("%s: there is no warning %q", b.name, b.warning)
		}
	}
	if n := strings.Count(printed, "Warning: "); n != warnings {
		t.Errorf("%d warnings, want %d:\n%s", n, warnings, printed)
	}
	apply(t, strings.Join(pods, "---"))
	t.Run("namespace label in another case", func(t *testing.T) {
		got := strings.Fields(run(t, "-n", "bypass", "get", "pod", "none", "-o",
			"jsonpath={.spec.initContainers[*].name} {.spec.containers[*].name}"))
		if !slices.Equal(got, []string{"proxyinit", "envoy", "app"}) {
			t.Errorf("containers %v", got)
		}
	})
	t.Run("name of the sidecar", func(t *testing.T) {
		got := admit(t, bypass{name: "own-sidecar", containers: ", {name: envoy, image: anymesh.dev/colors}"})
		if !strings.Contains(got, "denied the request") || !strings.Contains(got, "a container named envoy") {
			t.Errorf("a pod with a container envoy: %s", got)
		}
	})
	t.Run("findings", func(t *testing.T) {
		eventually(t, 10*time.Second, "findings of the VirtualNode", func() error {
			got, err := kubectl(t.Context(), "-n", "bypass", "get", "virtualnode.appmesh.k8s.aws", "bypass", "-o", "yaml")
			if err != nil {
				return err
			}
			text := strings.Join(strings.Fields(got), " ")
			for _, b := range bypasses {
				if has := strings.Contains(text, "pod "+b.name+" bypasses its sidecar"); has != b.reported {
					return fmt.Errorf("pod %s has a finding: %v, want %v:\n%s", b.name, has, b.reported, got)
				}
			}
			return nil
		})
	})
	t.Run("refused", func(t *testing.T) {
		t.Cleanup(func() {
			if err := installAnymesh(contextOf(t)); err != nil {
				t.Error(err)
			}
		})
		if err := installAnymesh(t.Context(), "--set", "osm.bypass=Refuse"); err != nil {
			t.Fatal(err)
		}
		printed := admit(t, renamed("refused")...)
		for _, b := range renamed("refused") {
			refused := strings.Contains(printed, b.name+" bypasses the mesh, which osm.bypass of the Helm values refuses: ")
			if refused != b.reported || !strings.Contains(printed, b.warning) {
				t.Errorf("%s is refused: %v, want %v:\n%s", b.name, refused, b.reported, printed)
			}
		}
	})
}
