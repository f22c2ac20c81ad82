package inject

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/osm"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// recording is a minimalDriver that keeps its input.
type recording struct {
	minimalDriver
	last **sidecar.InjectorContext
}

func (d recording) Patch(ctx context.Context) error {
	*d.last = ctx.Value(&sidecar.InjectorCtxKey).(*sidecar.InjectorContext)
	return d.minimalDriver.Patch(ctx)
}

var recorded = recording{last: new(*sidecar.InjectorContext)}

func init() { sidecar.Register("recorded", recorded) }

// memberPod is a pod with exclusions of its own.
const memberPod = `
apiVersion: v1
kind: Pod
metadata:
  name: node
  annotations:
    openservicemesh.io/outbound-port-exclusion-list: "80, 50005"
    openservicemesh.io/inbound-port-exclusion-list: "3500"
spec: {containers: [{name: app, image: "app:1"}]}
`

func meshConfig(t *testing.T, spec string) client.Object {
	t.Helper()
	o := &config.MeshConfig{}
	if err := yaml.Unmarshal([]byte("metadata: {name: osm-mesh-config, namespace: osm-system}\nspec: "+spec), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// injectMember admits memberPod, and returns it with the input of the driver.
func injectMember(t *testing.T, objects ...client.Object) (corev1.Pod, *sidecar.InjectorContext) {
	t.Helper()
	return injectMemberPod(t, memberPod, objects...)
}

func injectMemberPod(t *testing.T, text string, objects ...client.Object) (corev1.Pod, *sidecar.InjectorContext) {
	t.Helper()
	w := newWebhook(fakeCluster{
		labels:      map[string]string{"openservicemesh.io/monitored-by": "osm"},
		annotations: map[string]string{"openservicemesh.io/sidecar-injection": "enabled"},
		workload:    &model.Workload{Key: model.Key{Mesh: "osm", Name: "a/default"}, Role: model.RoleSidecar},
		objects:     objects,
	})
	w.Dialects = []dialect.Injection{osm.Dialect{}}
	w.Mesh.Sidecar.SidecarDrivers = append(w.Mesh.Sidecar.SidecarDrivers,
		sidecar.DriverSettings{SidecarName: "recorded", SidecarImage: "recorded:1", ProxyServerPort: 15129})
	raw := asJSON(t, text)
	var pod corev1.Pod
	if err := json.Unmarshal(admitted(t, raw, w.Handle(t.Context(), request(raw))), &pod); err != nil {
		t.Fatal(err)
	}
	return pod, *recorded.last
}

// A MeshConfig changes the driver, images and options of the pods that are created after it, without a restart.
func TestMeshConfigActsOnNewPods(t *testing.T) {
	pod, _ := injectMember(t)
	if got := pod.Annotations[sidecar.ClassAnnotation]; got != "small" {
		t.Errorf("without a MeshConfig: class %q", got)
	}
	pod, c := injectMember(t, meshConfig(t, `
  sidecar:
    sidecarClass: Recorded
    logLevel: debug
    enablePrivilegedInitContainer: true
    initContainerImage: mesh-init:1
    resources: {limits: {memory: 128Mi}, requests: {cpu: 50m}}
  traffic:
    outboundPortExclusionList: [50005, 8201, 6379]
    outboundIPRangeExclusionList: [10.0.0.1/32]
    outboundIPRangeInclusionList: [10.0.0.0/8]
    inboundPortExclusionList: [3501]
  observability: {tracing: {enable: true, address: jaeger.osm-system, sampledFraction: "0.5"}}
`))
	half := 0.5
	got := []any{
		pod.Annotations[sidecar.ClassAnnotation], c.Configurator.GetSidecarImage(), c.Configurator.GetSidecarLogLevel(),
		c.Configurator.GetInitContainerImage(), c.OutboundPortExclusionList, c.OutboundIPRangeExclusionList,
		c.OutboundIPRangeInclusionList, c.InboundPortExclusionList, c.Proxy.Tracing, c.Configurator.GetProxyServerPort(),
		string(c.BootstrapCertificate.GetIssuingCA()), c.BootstrapCertificate.GetCommonName(),
	}
	want := []any{
		"recorded", "recorded:1", "debug", "mesh-init:1", []int{80, 6379, 8201, 50005}, []string{"10.0.0.1/32"},
		[]string{"10.0.0.0/8"}, []int{3500, 3501}, &sidecar.Tracing{
			Protocol: sidecar.TracingZipkin, Address: "jaeger.osm-system", Port: 9411, JSON: true, SamplingRate: &half,
		}, uint32(15129), "-----BEGIN CERTIFICATE-----\n", c.ProxyCommonName,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	i := slices.IndexFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == captureContainer })
	capture, proxy := pod.Spec.InitContainers[i], pod.Spec.InitContainers[i+1]
	if s := capture.SecurityContext; s.Privileged == nil || !*s.Privileged || capture.Image != "mesh-init:1" {
		t.Errorf("init container: image %s, %+v", capture.Image, s)
	}
	if l := proxy.Resources; l.Limits.Memory().String() != "128Mi" || l.Requests.Cpu().String() != "50m" {
		t.Errorf("resources of the sidecar: %+v", l)
	}
}

// Settings that cannot apply leave those of the program: an unknown class, and the image of another driver.
func TestMeshConfigThatCannotApply(t *testing.T) {
	for name, c := range map[string]struct{ spec, class, image string }{
		"an unknown class":            {`{sidecar: {sidecarClass: pipy, sidecarImage: "pipy:1"}}`, "small", "sidecar:1"},
		"a class without a server":    {`{sidecar: {sidecarClass: unset}}`, "small", "sidecar:1"},
		"an image of the default":     {`{sidecar: {sidecarImage: "mesh:1"}}`, "small", "mesh:1"},
		"an image of another driver":  {`{sidecar: {sidecarDrivers: [{sidecarName: second, sidecarImage: "x:1"}]}}`, "small", "sidecar:1"},
		"another class and its image": {`{sidecar: {sidecarClass: second, sidecarImage: "x:1"}}`, "second", "x:1"},
		"a MeshConfig without spec":   {`{}`, "small", "sidecar:1"},
	} {
		t.Run(name, func(t *testing.T) {
			pod, _ := injectMember(t, meshConfig(t, c.spec))
			i := slices.IndexFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == "envoy" })
			if got := pod.Annotations[sidecar.ClassAnnotation]; got != c.class || pod.Spec.InitContainers[i].Image != c.image {
				t.Errorf("got class %s, image %s", got, pod.Spec.InitContainers[i].Image)
			}
		})
	}
}

// With the mode PodIP, the proxy connects to the application at the addresses of the pod, and to its own ports on
// loopback addresses. A repeated injection takes the capture container for its own.
func TestApplicationOnPodIP(t *testing.T) {
	pod, _ := injectMember(t, meshConfig(t, "{sidecar: {localProxyMode: PodIP}}"))
	at := slices.IndexFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == captureContainer })
	got := map[string]corev1.EnvVar{}
	for _, e := range pod.Spec.InitContainers[at].Env {
		got[e.Name] = e
	}
	if from := got["ANYMESH_CAPTURE_APP_IPS"].ValueFrom; from == nil || from.FieldRef.FieldPath != "status.podIPs" {
		t.Errorf("addresses of the application: %+v", from)
	}
	if ports := got["ANYMESH_CAPTURE_PROXY_PORTS"].Value; ports != "15020,15053" {
		t.Errorf("ports of the proxy: %s", ports)
	}
	if bypass := pod.Annotations[sidecar.BypassAnnotation]; bypass != "" {
		t.Errorf("bypass: %s", bypass)
	}
}
