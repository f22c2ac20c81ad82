package inject

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// minimalDriver is a driver with a minimal container, so that tests see the changes of the injector.
type minimalDriver struct{}

func (minimalDriver) Patch(ctx context.Context) error {
	injector, ok := ctx.Value(&sidecar.InjectorCtxKey).(*sidecar.InjectorContext)
	if !ok {
		return errors.New("no injector context")
	}
	config := `{"node": "` + injector.Node + `"`
	if !reflect.ValueOf(injector.Proxy).IsZero() {
		text, err := json.Marshal(injector.Proxy)
		if err != nil {
			return err
		}
		config += `, "proxy": ` + string(text)
	}
	injector.Sidecar = &sidecar.Spec{
		Container:      corev1.Container{Name: "envoy", Image: injector.Configurator.GetSidecarImage()},
		Command:        []string{"proxy", "--node", injector.Node},
		Files:          map[string][]byte{"proxy.json": []byte(config + "}")},
		ReadyURL:       "http://127.0.0.1:9901/ready",
		Drain:          []string{"proxy", "leave"},
		ConfigArgument: "--config",
	}
	if injector.Workload.AccessLog != nil {
		injector.Sidecar.AccessLog = sidecar.AccessLogFile
	}
	return nil
}

func (minimalDriver) Start(context.Context) (sidecar.Probes, error) {
	return sidecar.HealthProbes{}, nil
}

// plainDriver is a minimalDriver without an option for configuration files.
type plainDriver struct{ minimalDriver }

func (d plainDriver) Patch(ctx context.Context) error {
	err := d.minimalDriver.Patch(ctx)
	if injector, ok := ctx.Value(&sidecar.InjectorCtxKey).(*sidecar.InjectorContext); ok && err == nil {
		injector.Sidecar.ConfigArgument = ""
	}
	return err
}

// renderingDriver is a minimalDriver with a renderer, of which the injector calls Supports only.
type renderingDriver struct {
	minimalDriver
	sidecar.Renderer
}

func (renderingDriver) Supports() map[model.Feature]bool {
	out := map[model.Feature]bool{}
	for _, f := range model.AllFeatures() {
		out[f] = true
	}
	return out
}

// libraryDriver is a driver for applications that are their own proxy.
type libraryDriver struct{ renderingDriver }

func (libraryDriver) Patch(ctx context.Context) error {
	injector, ok := ctx.Value(&sidecar.InjectorCtxKey).(*sidecar.InjectorContext)
	if !ok {
		return errors.New("no injector context")
	}
	injector.Sidecar = &sidecar.Spec{
		Container:      corev1.Container{Name: "agent", Image: injector.Configurator.GetSidecarImage()},
		ApplicationEnv: []corev1.EnvVar{{Name: "LIBRARY", Value: injector.Node}},
	}
	return nil
}

func init() {
	sidecar.Register("library", libraryDriver{})
	sidecar.Register("small", renderingDriver{})
	sidecar.Register("second", minimalDriver{}) // without a renderer
	sidecar.Register("third", plainDriver{})
	sidecar.Register("unset", renderingDriver{}) // without settings in the mesh
	if err := sidecar.InstallDriver("small"); err != nil {
		panic(err)
	}
}

// fakeCluster returns fixed labels and annotations for the namespace, and a fixed workload, or none.
type fakeCluster struct {
	labels, annotations map[string]string
	workload            *model.Workload
	err                 error
	objects             []client.Object
}

func (p fakeCluster) ObjectsOf(client.Object) []client.Object { return p.objects }

func (p fakeCluster) Namespace(name string) (*corev1.Namespace, bool) {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: p.labels, Annotations: p.annotations}}, true
}

func (p fakeCluster) Await(_ context.Context, _ string, try func() bool) { try() }

func (p fakeCluster) SelectWorkload(dialect.Injection, *corev1.Pod) (model.Workload, bool, error) {
	if p.workload == nil {
		return model.Workload{}, false, p.err
	}
	return *p.workload, true, p.err
}

// front is a workload with a listener on port 8080.
func front() *model.Workload {
	return &model.Workload{
		Key: model.Key{Mesh: "shop", Name: "front_a"}, Role: model.RoleSidecar, NodeID: "mesh/shop/virtualNode/front_a",
		Listeners: []model.Listener{{Port: 8080, Protocol: model.HTTP}},
	}
}

func newWebhook(p fakeCluster) *Webhook {
	return &Webhook{
		Dialects: []dialect.Injection{appmesh.Dialect{}}, Cluster: p, SystemNamespace: "anymesh-system", SigningURL: "https://anymesh.example:15010", PullPolicy: corev1.PullIfNotPresent,
		Mesh: &sidecar.MeshConfig{Sidecar: sidecar.Settings{
			SidecarClass: "small", SidecarImage: "sidecar:1", InitContainerImage: "init:1",
			SidecarDrivers: []sidecar.DriverSettings{
				{SidecarName: "small"}, {SidecarName: "second", SidecarImage: "second:1"}, {SidecarName: "elsewhere"},
			},
		}},
		Roots: func() []byte { return []byte("-----BEGIN CERTIFICATE-----\n") },
		NamesPort: func(class string) (uint32, error) {
			if class == "second" {
				return 15011, nil
			}
			return sidecar.DefaultProxyServerPort, nil
		},
	}
}

// request returns the admission request for a new pod in namespace a.
func request(raw []byte) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: types.UID("6f1d"), Namespace: "a", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw},
	}}
}

// admitted applies the patches of a response to the pod.
func admitted(t testing.TB, raw []byte, response admission.Response) []byte {
	t.Helper()
	if !response.Allowed {
		t.Fatalf("denied: %s", response.Result.Message)
	}
	if len(response.Patches) == 0 {
		return raw
	}
	text, err := json.Marshal(response.Patches)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := patch.Apply(raw)
	if err != nil {
		t.Fatalf("the patch does not apply: %v\n%s", err, text)
	}
	return out
}

func asJSON(t testing.TB, text string) []byte {
	t.Helper()
	out, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

// plainPod is a pod with default settings.
const plainPod = `
apiVersion: v1
kind: Pod
metadata: {name: front-1, labels: {app: front}}
spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 8080}]}]}
`
