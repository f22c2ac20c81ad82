package osm

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// settings are values of settings that are not what applies without them.
var settings = []string{
	`true`, `{"enable": true, "address": "jaeger"}`, `"debug"`, `"example:1"`, `"24h"`, `7`,
	`[{"sidecarName": "envoy", "sidecarImage": "example:1"}]`, `["10.0.0.0/8"]`, `[80]`, `{"limits": {"cpu": "1"}}`,
	`{"enable": true}`, `false`, `[{"plugin": "p"}]`, `{"secret": {"name": "s"}}`, `"PodIP"`,
}

func meshConfigWith(path, value string) *config.MeshConfig {
	area, name, _ := strings.Cut(path, ".")
	return &config.MeshConfig{
		ObjectMeta: metav1.ObjectMeta{Name: meshConfigName, Namespace: "osm-system"},
		Spec:       config.MeshConfigSpec{area: {name: apiextensionsv1.JSON{Raw: json.RawMessage(value)}}},
	}
}

// Each setting has an effect, or a finding at its field for some value. No value of a setting without effect changes
// anything.
func TestNoSettingIsSilentlyIgnored(t *testing.T) {
	for _, k := range MeshConfigKeys() {
		t.Run(k.Path, func(t *testing.T) {
			changed, reported := false, false
			for _, value := range settings {
				spec, findings := readMeshConfig(meshConfigWith(k.Path, value), nil, model.Origin{})
				changed = changed || !reflect.DeepEqual(spec, meshSpec{})
				for _, f := range findings {
					reported = reported || f.Path == "spec."+k.Path
				}
			}
			if changed != k.Honored() || !changed && !reported {
				t.Errorf("changed %v, reported %v; honored is %v", changed, reported, k.Honored())
			}
		})
	}
}

func TestSettingsThatAreWrong(t *testing.T) {
	for path, value := range map[string]string{
		"certificate.serviceCertValidityDuration": `"24"`, "traffic.enableEgress": `"yes"`, "sidecar.logLevel": `"loud"`,
		"traffic.outboundPortExclusionList": `["redis"]`, "traffic.outboundIPRangeExclusionList": `["10.0.0.1"]`,
		"sidecar.sidecarDrivers": `[{"sidecarNmae": "x"}]`, "observability.tracing": `{"enable": true}`,
		"sidecar.resources": `{"limits": {"cpu": "much"}}`, "traffic.enableEgres": `true`,
		"sidecar.tlsMinProtocolVersion": `"TLSv1_3"`,
	} {
		spec, findings := readMeshConfig(meshConfigWith(path, value), nil, model.Origin{})
		if !reflect.DeepEqual(spec, meshSpec{}) || len(findings) != 1 || findings[0].Path != "spec."+path {
			t.Errorf("%s: %s: got %+v, findings %v", path, value, spec, findings)
		}
	}
	// A port that is wrong does not take the others with it.
	spec, findings := readMeshConfig(meshConfigWith("traffic.outboundPortExclusionList", `[80, 70000]`), nil, model.Origin{})
	if len(findings) != 1 || !reflect.DeepEqual(spec.outboundPorts, []int{80}) {
		t.Errorf("got ports %v, findings %v", spec.outboundPorts, findings)
	}
}

func TestCertificateLifetimeOfMembers(t *testing.T) {
	member := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{monitoredLabel: "osm"}}}
	objects := []client.Object{meshConfigWith("certificate.serviceCertValidityDuration", `"2m"`)}
	if got := (Dialect{}).CertificateLifetime(objects, member); got != 2*time.Minute {
		t.Errorf("a member has certificates for %s", got)
	}
	if got := (Dialect{}).CertificateLifetime(objects, &corev1.Namespace{}); got != 0 {
		t.Errorf("a namespace that is no member has certificates for %s", got)
	}
}

// idle is a driver that is not called.
type idle struct{ sidecar.Driver }

func init() {
	sidecar.Register("first", idle{})
	sidecar.Register("second", idle{})
}

// The class needs a driver of the program, and an entry of the Helm values, if these are known.
func TestClassesWithoutDriver(t *testing.T) {
	for class, c := range map[string]struct {
		served []string
		want   string
	}{
		"":       {[]string{"first"}, ""},
		"First":  {[]string{"first"}, ""},
		"second": {nil, ""},
		"SECOND": {[]string{"first"}, `"SECOND" has no entry in osm.sidecarDrivers`},
		"third":  {nil, `no sidecar driver has the name "third"`},
	} {
		err := Dialect{SidecarClasses: c.served}.checkClass(class)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("class %q, with entries %v: got %v, want %s", class, c.served, err, c.want)
		}
	}
}
