package inject

import (
	"encoding/json"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/pod/capture"
)

// fromAnnotations are the variables of "anymesh capture" that a CNI plugin sets from the annotations of a pod.
func fromAnnotations(pod *corev1.Pod) map[string]string {
	const prefix = "appmesh.k8s.aws/"
	out := map[string]string{capture.EnvEnabled: "0", capture.EnvIPv6: "1"}
	if pod.Annotations[prefix+"sidecarInjectorWebhook"] == "enabled" {
		out[capture.EnvEnabled] = "1"
	}
	if pod.Annotations[prefix+"ipv6"] == "disabled" {
		out[capture.EnvIPv6] = "0"
	}
	for variable, annotation := range map[string]string{
		capture.EnvUID: "ignoredUID", capture.EnvIngressPort: "proxyIngressPort", capture.EnvEgressPort: "proxyEgressPort",
		capture.EnvAppPorts: "ports", capture.EnvIgnoredIPs: "egressIgnoredIPs", capture.EnvIgnoredPorts: "egressIgnoredPorts",
	} {
		out[variable] = pod.Annotations[prefix+annotation]
	}
	return out
}

// injected returns a new pod with annotations, after admission.
func injected(t *testing.T, annotations map[string]string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := json.Unmarshal(asJSON(t, plainPod), pod); err != nil {
		t.Fatal(err)
	}
	pod.Annotations = annotations
	raw, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	w := newWebhook(fakeCluster{workload: front()})
	raw = admitted(t, raw, w.Handle(t.Context(), request(raw)))
	if again := w.Handle(t.Context(), request(raw)); !again.Allowed || len(again.Patches) > 0 {
		t.Errorf("the second admission changes the pod: %v %v", again.Result, again.Patches)
	}
	out := &corev1.Pod{}
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func rules(t *testing.T, variables map[string]string) capture.Rules {
	t.Helper()
	config, err := capture.FromEnv(func(name string) (string, bool) { v, ok := variables[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	return config.Rules()
}

// The annotations for CNI plugins are complete: the rules that a plugin makes of them are those of the init container.
func TestCNIAnnotationsAreComplete(t *testing.T) {
	for name, annotations := range map[string]map[string]string{
		"defaults": {},
		"ports":    {"appmesh.k8s.aws/ports": "8080,9090", "appmesh.k8s.aws/egressIgnoredPorts": "5432"},
		"none":     {"appmesh.k8s.aws/ports": "", "appmesh.k8s.aws/egressIgnoredIPs": ""},
		"IPv4":     {"appmesh.k8s.aws/ipv6": "disabled", "appmesh.k8s.aws/egressIgnoredIPs": "10.0.0.0/8, fd00::1"},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(key, value string) map[string]string {
				out := map[string]string{key: value}
				for k, v := range annotations {
					out[k] = v
				}
				return out
			}
			plugin := injected(t, with("appmesh.k8s.aws/appmeshCNI", "enabled"))
			if hasContainer(plugin, captureContainer) {
				t.Error("the pod has an init container for packet rules")
			}
			own := map[string]string{}
			for _, c := range injected(t, with("anymesh.dev/dns", "Off")).Spec.InitContainers {
				if c.Name == captureContainer {
					for _, e := range c.Env {
						own[e.Name] = e.Value
					}
				}
			}
			of, want := rules(t, fromAnnotations(plugin)), rules(t, own)
			if !reflect.DeepEqual(of, want) {
				t.Fatalf("got\n%s\nwant\n%s", of, want)
			}
			if got, kernel := inNetns(t, of), inNetns(t, want); got != kernel || !strings.Contains(got, "redirect") {
				t.Errorf("in a network namespace: got\n%s\nwant\n%s", got, kernel)
			}
		})
	}
}

// inNetns applies rules in a new network namespace and returns what the kernel has.
func inNetns(t *testing.T, r capture.Rules) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	done := make(chan error)
	var list []byte
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = capture.Apply(r)
		}
		if err == nil {
			list, err = exec.Command("nft", "list", "ruleset").CombinedOutput()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatalf("%v: %s", err, list)
	}
	lines := strings.Split(string(list), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" }), "\n")
}
