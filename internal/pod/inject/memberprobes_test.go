package inject

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/sidecar"
)

// Probes of pods of Open Service Mesh reach the application in each form. OSM had one place for all containers of a
// pod, degraded HTTPS to a connection, and had no gRPC.
func TestProbesOfMembers(t *testing.T) {
	for name, c := range map[string]struct {
		containers string
		// redirected are the paths of the agent, each with the original that the agent runs, and kept are the probes that
		// the kubelet runs itself.
		redirected, kept map[string]string
	}{
		"HTTP": {
			`[{name: app, livenessProbe: {httpGet: {path: /live, port: 8080}}}]`,
			map[string]string{"app/livez": `{"httpGet":{"path":"/live","port":8080}}`}, nil,
		},
		"HTTPS": {
			`[{name: app, readinessProbe: {httpGet: {path: /ready, port: 8443, scheme: HTTPS}}}]`,
			map[string]string{"app/readyz": `{"httpGet":{"path":"/ready","port":8443,"scheme":"HTTPS"}}`}, nil,
		},
		"TCP": {
			`[{name: app, startupProbe: {tcpSocket: {port: 5432}}}]`,
			map[string]string{"app/startupz": `{"tcpSocket":{"port":5432}}`}, nil,
		},
		"gRPC": {
			`[{name: app, livenessProbe: {grpc: {port: 9000}}}]`,
			map[string]string{"app/livez": `{"grpc":{"port":9000,"service":null}}`}, nil,
		},
		"a command": {
			`[{name: app, livenessProbe: {exec: {command: [check]}}}]`,
			nil, map[string]string{"app/livez": `{"exec":{"command":["check"]}}`},
		},
		"a port by name": {
			`[{name: app, ports: [{name: web, containerPort: 8080}], livenessProbe: {httpGet: {path: /, port: web}}}]`,
			map[string]string{"app/livez": `{"httpGet":{"path":"/","port":8080}}`}, nil,
		},
		"a name that no port has": {
			`[{name: app, livenessProbe: {httpGet: {path: /, port: web}}}]`,
			nil, map[string]string{"app/livez": `{"httpGet":{"path":"/","port":"web"}}`},
		},
		"an excluded port": {
			`[{name: app, livenessProbe: {httpGet: {path: /, port: 3500}}}]`,
			nil, map[string]string{"app/livez": `{"httpGet":{"path":"/","port":3500}}`},
		},
		"two containers": {
			`[{name: app, livenessProbe: {httpGet: {path: /a, port: 8080}}}, {name: other, livenessProbe: {httpGet: {path: /b, port: 8081}}}]`,
			map[string]string{
				"app/livez":   `{"httpGet":{"path":"/a","port":8080}}`,
				"other/livez": `{"httpGet":{"path":"/b","port":8081}}`,
			}, nil,
		},
		"all kinds": {
			`[{name: app, livenessProbe: {tcpSocket: {port: 1}}, readinessProbe: {tcpSocket: {port: 2}}, startupProbe: {tcpSocket: {port: 3}}}]`,
			map[string]string{
				"app/livez":    `{"tcpSocket":{"port":1}}`,
				"app/readyz":   `{"tcpSocket":{"port":2}}`,
				"app/startupz": `{"tcpSocket":{"port":3}}`,
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod, _ := injectMemberPod(t, `
apiVersion: v1
kind: Pod
metadata: {name: node, annotations: {openservicemesh.io/inbound-port-exclusion-list: "3500"}}
spec: {containers: `+c.containers+`}
`)
			redirected, kept := map[string]string{}, map[string]string{}
			for _, container := range pod.Spec.Containers {
				for path, p := range map[string]*corev1.Probe{
					"livez": container.LivenessProbe, "readyz": container.ReadinessProbe, "startupz": container.StartupProbe,
				} {
					path = container.Name + "/" + path
					switch {
					case p == nil:
					case p.HTTPGet != nil && p.HTTPGet.Path == "/app-probe/"+path && p.HTTPGet.Port.IntValue() == sidecar.AgentPort:
						redirected[path] = original(t, &pod, path)
					default:
						text, err := json.Marshal(p.ProbeHandler)
						if err != nil {
							t.Fatal(err)
						}
						kept[path] = string(text)
					}
				}
			}
			if !maps.Equal(redirected, c.redirected) {
				t.Errorf("the agent runs %v, want %v", redirected, c.redirected)
			}
			if !maps.Equal(kept, c.kept) {
				t.Errorf("the kubelet runs %v, want %v", kept, c.kept)
			}
		})
	}
}

// original returns what the agent of a pod runs for a path, in JSON.
func original(t *testing.T, pod *corev1.Pod, path string) string {
	t.Helper()
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, e := range c.Env {
			if e.Name != "ANYMESH_PROBES" {
				continue
			}
			var all map[string]json.RawMessage
			if err := yaml.Unmarshal([]byte(e.Value), &all); err != nil {
				t.Fatal(err)
			}
			return string(all[path])
		}
	}
	return ""
}
