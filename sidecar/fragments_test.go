package sidecar_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	_ "anymesh.dev/anymesh/internal/driver/envoy"

	"anymesh.dev/anymesh/sidecar"
	catalog "anymesh.dev/anymesh/sidecar"
	certificate "anymesh.dev/anymesh/sidecar"
	configurator "anymesh.dev/anymesh/sidecar"
	driver "anymesh.dev/anymesh/sidecar"
	health "anymesh.dev/anymesh/sidecar"
	messaging "anymesh.dev/anymesh/sidecar"
)

// The code of this file is that of the documentation of the contract in osm-edge, but for the paths of imports and for
// what it leaves out. The names of the imports are those of its packages, which are one package here.

const (
	driverName = `pipy`
)

func init() {
	sidecar.Register(driverName, new(PipySidecarDriver))
}

// PipySidecarDriver is a sidecar driver
type PipySidecarDriver struct {
	ctx      *driver.ControllerContext
	injected *driver.InjectorContext
}

var _ driver.Driver = (*PipySidecarDriver)(nil)

// Patch is the implement for InjectorDriver.Patch
func (sd *PipySidecarDriver) Patch(ctx context.Context) error {
	parentCtx := ctx.Value(&driver.InjectorCtxKey)
	if parentCtx == nil {
		return errors.New("missing Injector Context")
	}
	injCtx := parentCtx.(*driver.InjectorContext)
	sd.injected = injCtx
	injCtx.Pod.Spec.Containers = append(injCtx.Pod.Spec.Containers, corev1.Container{
		Name: "sidecar", Image: injCtx.Configurator.GetSidecarImage(), ImagePullPolicy: injCtx.ContainerPullPolicy,
	})
	return nil
}

// Start is the implement for ControllerDriver.Start
func (sd *PipySidecarDriver) Start(ctx context.Context) (health.Probes, error) {
	parentCtx := ctx.Value(&driver.ControllerCtxKey)
	if parentCtx == nil {
		return nil, errors.New("missing Controller Context")
	}
	ctrlCtx := parentCtx.(*driver.ControllerContext)
	sd.ctx = ctrlCtx

	ctrlCtx.DebugHandlers["/debug/proxy"] = sd.getProxies()

	return health.HealthProbes{Liveness: &health.HealthProbe{Port: int32(ctrlCtx.ProxyServerPort), TCPSocket: true}}, nil
}

func (sd *PipySidecarDriver) getProxies() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(sd.ctx.OsmNamespace)) })
}

type mutatingWebhook struct {
	meshName, osmNamespace string
	configurator           configurator.Configurator
	kubeClient             kubernetes.Interface
	osmContainerPullPolicy corev1.PullPolicy
}

func (wh *mutatingWebhook) createPatch(pod *corev1.Pod, req *admissionv1.AdmissionRequest,
	proxyUUID uuid.UUID) ([]byte, error) {
	namespace, podOS := req.Namespace, "linux"
	cn := certificate.CommonName(proxyUUID.String() + ".bookbuyer." + namespace)
	bootstrapCertificate := &certificate.Certificate{IssuingCA: []byte("roots")}
	inboundPortExclusionList, outboundPortExclusionList := []int{6379}, []int{5432}
	outboundIPRangeInclusionList, outboundIPRangeExclusionList := []string{"10.0.0.0/8"}, []string{"10.0.0.1/32"}
	originalHealthProbes := health.HealthProbes{Readiness: &health.HealthProbe{Path: "/ready", Port: 8080, HTTP: true}}

	background := driver.InjectorContext{
		Pod:                          pod,
		MeshName:                     wh.meshName,
		OsmNamespace:                 wh.osmNamespace,
		PodNamespace:                 namespace,
		PodOS:                        podOS,
		ProxyCommonName:              cn,
		ProxyUUID:                    proxyUUID,
		Configurator:                 wh.configurator,
		KubeClient:                   wh.kubeClient,
		BootstrapCertificate:         bootstrapCertificate,
		ContainerPullPolicy:          wh.osmContainerPullPolicy,
		InboundPortExclusionList:     inboundPortExclusionList,
		OutboundPortExclusionList:    outboundPortExclusionList,
		OutboundIPRangeInclusionList: outboundIPRangeInclusionList,
		OutboundIPRangeExclusionList: outboundIPRangeExclusionList,
		OriginalHealthProbes:         originalHealthProbes,
		DryRun:                       req.DryRun != nil && *req.DryRun,
	}
	ctx, cancel := context.WithCancel(&background)
	defer cancel()

	var err error
	if err = sidecar.Patch(ctx); err != nil {
		return nil, err
	}

	return json.Marshal(makePatches(req, pod))
}

func makePatches(_ *admissionv1.AdmissionRequest, pod *corev1.Pod) []string {
	var out []string
	for _, c := range pod.Spec.Containers {
		out = append(out, c.Name+" "+c.Image)
	}
	return out
}

// client has the settings as the reference implementation of the configurator reads them.
type client struct{ settings sidecar.Settings }

type meshConfig struct {
	Spec struct{ Sidecar sidecar.Settings }
}

func (c *client) getMeshConfig() (out meshConfig) {
	out.Spec.Sidecar = c.settings
	return out
}

// GetSidecarImage returns the sidecar image
func (c *client) GetSidecarImage() string {
	image := c.getMeshConfig().Spec.Sidecar.SidecarImage
	if len(image) == 0 {
		sidecarClass := c.getMeshConfig().Spec.Sidecar.SidecarClass
		sidecarDrivers := c.getMeshConfig().Spec.Sidecar.SidecarDrivers
		for _, sidecarDriver := range sidecarDrivers {
			if strings.EqualFold(strings.ToLower(sidecarClass), strings.ToLower(sidecarDriver.SidecarName)) {
				image = sidecarDriver.SidecarImage
				break
			}
		}
	}
	if len(image) == 0 {
		image = os.Getenv("OSM_DEFAULT_SIDECAR_IMAGE")
	}
	return image
}

func install(t *testing.T, cfg configurator.Configurator) {
	t.Helper()
	err := sidecar.InstallDriver(cfg.GetSidecarClass())
	if err != nil {
		t.Fatal(err, "Error creating sidecar driver")
	}
}

func TestFragmentsOfTheInjector(t *testing.T) {
	cfg := &sidecar.MeshConfig{Sidecar: sidecar.Settings{SidecarClass: driverName, SidecarImage: "pipy:1"}}
	install(t, cfg)
	wh := &mutatingWebhook{meshName: "osm", osmNamespace: "osm-system", configurator: cfg, osmContainerPullPolicy: "Always"}
	yes, id := true, uuid.New()
	pod := &corev1.Pod{}
	got, err := wh.createPatch(pod, &admissionv1.AdmissionRequest{Namespace: "bookbuyer", DryRun: &yes}, id)
	if err != nil || string(got) != `["sidecar pipy:1"]` || pod.Spec.Containers[0].ImagePullPolicy != "Always" {
		t.Fatalf("got %s, %v", got, err)
	}
	// A second driver, registered by its import, sees the same context.
	install(t, &sidecar.MeshConfig{Sidecar: sidecar.Settings{SidecarClass: "envoy"}})
	if _, err := wh.createPatch(pod, &admissionv1.AdmissionRequest{}, id); err != nil {
		t.Error(err)
	}
	if err := sidecar.InitDriver("unknown"); err == nil || !strings.Contains(err.Error(), `unknown driver "unknown"`) {
		t.Errorf("an unknown driver: got error %v", err)
	}
}

func TestFragmentsOfTheController(t *testing.T) {
	cfg := &sidecar.MeshConfig{Sidecar: sidecar.Settings{SidecarClass: driverName}}
	install(t, cfg)
	var (
		proxyServiceCert *certificate.Certificate
		kubeConfig       *rest.Config
		meshCatalog      catalog.MeshCataloger
		certManager      certificate.Manager
		msgBroker        *messaging.Broker
		osmNamespace     = "osm-system"
		stop             = make(chan struct{})
	)

	background := driver.ControllerContext{
		ProxyServerPort:  cfg.GetProxyServerPort(),
		ProxyServiceCert: proxyServiceCert,
		OsmNamespace:     osmNamespace,
		KubeConfig:       kubeConfig,
		Configurator:     cfg,
		MeshCatalog:      meshCatalog,
		CertManager:      certManager,
		MsgBroker:        msgBroker,
		DebugHandlers:    make(map[string]http.Handler),
		Stop:             stop,
	}
	ctx, cancel := context.WithCancel(&background)
	defer cancel()
	background.CancelFunc = cancel

	// Create and start the sidecar proxy service
	healthProbes, err := sidecar.Start(ctx)
	if err != nil {
		t.Fatal(err, "Error initializing proxy control server")
	}

	funcProbes := []health.Probes{healthProbes}
	if got := funcProbes[0].GetHealthProbes().Liveness; got.Port != 15128 || !got.TCPSocket {
		t.Errorf("got liveness probe %+v", got)
	}
	response := httptest.NewRecorder()
	background.DebugHandlers["/debug/proxy"].ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/debug/proxy", nil))
	if got := response.Body.String(); got != osmNamespace {
		t.Errorf("the debug handler answers %q", got)
	}
	background.CancelFunc()
	if ctx.Err() == nil {
		t.Error("CancelFunc does not end the context of the driver")
	}
}

// Every combination of settings has the image of the reference implementation.
func TestImageOfTheReferenceImplementation(t *testing.T) {
	for _, environment := range []string{"", "env:1"} {
		t.Setenv("OSM_DEFAULT_SIDECAR_IMAGE", environment)
		for _, image := range []string{"", "mesh:1"} {
			for _, class := range []string{"", "pipy", "PIPY", "other"} {
				for _, drivers := range [][]sidecar.DriverSettings{
					nil, {{SidecarName: "Pipy", SidecarImage: "pipy:1"}, {SidecarName: "pipy", SidecarImage: "pipy:2"}},
					{{SidecarName: "pipy"}, {SidecarName: "other", SidecarImage: "other:1"}},
				} {
					s := sidecar.Settings{SidecarImage: image, SidecarClass: class, SidecarDrivers: drivers}
					want := (&client{s}).GetSidecarImage()
					if got := (&sidecar.MeshConfig{Sidecar: s}).GetSidecarImage(); got != want {
						t.Errorf("%+v: got %q, the reference has %q", s, got, want)
					}
				}
			}
		}
	}
}
