package osm

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// published are objects of each version as they are published: by kind, from the oldest version.
var published = map[string][]string{
	"TrafficTarget": {`
apiVersion: access.smi-spec.io/v1alpha1
kind: TrafficTarget
metadata: {name: api, namespace: shop}
destination: {kind: ServiceAccount, name: api, namespace: shop, port: 8080}
specs: [{kind: HTTPRouteGroup, name: routes, matches: [metrics]}]
sources: [{kind: ServiceAccount, name: client, namespace: shop}, {kind: ServiceAccount, name: old, namespace: shop, port: 80}]`, `
apiVersion: access.smi-spec.io/v1alpha2
kind: TrafficTarget
metadata: {name: api, namespace: shop}
spec:
  destination: {kind: ServiceAccount, name: api, namespace: shop, port: 8080}
  rules: [{kind: HTTPRouteGroup, name: routes, matches: [metrics]}]
  sources: [{kind: ServiceAccount, name: client, namespace: shop}, {kind: ServiceAccount, name: old, namespace: shop, port: 80}]`, `
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: {name: api, namespace: shop, annotations: {anymesh.dev/smi-destination-port: "8080",
  anymesh.dev/smi-source-ports: '[{"kind":"ServiceAccount","name":"old","namespace":"shop","port":80}]'}}
spec:
  destination: {kind: ServiceAccount, name: api, namespace: shop}
  rules: [{kind: HTTPRouteGroup, name: routes, matches: [metrics]}]
  sources: [{kind: ServiceAccount, name: client, namespace: shop}, {kind: ServiceAccount, name: old, namespace: shop}]`},
	"HTTPRouteGroup": {`
apiVersion: specs.smi-spec.io/v1alpha1
kind: HTTPRouteGroup
metadata: {name: routes, namespace: shop, annotations: {anymesh.dev/smi-headers: '{"beta":[{"x-group":"beta"}]}'}}
matches: [{name: metrics, pathRegex: /metrics, methods: [GET]}, {name: beta}]`, `
apiVersion: specs.smi-spec.io/v1alpha2
kind: HTTPRouteGroup
metadata: {name: routes, namespace: shop}
matches: [{name: metrics, pathRegex: /metrics, methods: [GET]}, {name: beta, headers: [{x-group: beta}]}]`, `
apiVersion: specs.smi-spec.io/v1alpha3
kind: HTTPRouteGroup
metadata: {name: routes, namespace: shop}
spec: {matches: [{name: metrics, pathRegex: /metrics, methods: [GET]}, {name: beta, headers: [{x-group: beta}]}]}`, `
apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata: {name: routes, namespace: shop}
spec: {matches: [{name: metrics, pathRegex: /metrics, methods: [GET]}, {name: beta, headers: [{x-group: beta}]}]}`},
	"TCPRoute": {`
apiVersion: specs.smi-spec.io/v1alpha1
kind: TCPRoute
metadata: {name: db, namespace: shop, annotations: {anymesh.dev/smi-matches: '{"ports":[3306]}'}}`, `
apiVersion: specs.smi-spec.io/v1alpha2
kind: TCPRoute
metadata: {name: db, namespace: shop, annotations: {anymesh.dev/smi-matches: '{"ports":[3306]}'}}`, `
apiVersion: specs.smi-spec.io/v1alpha3
kind: TCPRoute
metadata: {name: db, namespace: shop, annotations: {anymesh.dev/smi-matches: '{"ports":[3306]}'}}
spec: {}`, `
apiVersion: specs.smi-spec.io/v1alpha4
kind: TCPRoute
metadata: {name: db, namespace: shop}
spec: {matches: {ports: [3306]}}`},
	"TrafficSplit": {`
apiVersion: split.smi-spec.io/v1alpha1
kind: TrafficSplit
metadata: {name: web, namespace: shop, annotations: {anymesh.dev/smi-matches: '[{"kind":"HTTPRouteGroup","name":"beta"}]'}}
spec: {service: web, backends: [{service: web-v1, weight: 500m}, {service: web-v2, weight: 1}]}`, `
apiVersion: split.smi-spec.io/v1alpha2
kind: TrafficSplit
metadata: {name: web, namespace: shop, annotations: {
  anymesh.dev/smi-matches: '[{"kind":"HTTPRouteGroup","name":"beta"}]',
  anymesh.dev/smi-weights: '{"web-v1":{"from":"500m","to":500},"web-v2":{"from":1,"to":1000}}'}}
spec: {service: web, backends: [{service: web-v1, weight: 500}, {service: web-v2, weight: 1000}]}`, `
apiVersion: split.smi-spec.io/v1alpha3
kind: TrafficSplit
metadata: {name: web, namespace: shop, annotations: {
  anymesh.dev/smi-weights: '{"web-v1":{"from":"500m","to":500},"web-v2":{"from":1,"to":1000}}'}}
spec: {service: web, matches: [{kind: HTTPRouteGroup, name: beta}], backends: [{service: web-v1, weight: 500}, {service: web-v2, weight: 1000}]}`, `
apiVersion: split.smi-spec.io/v1alpha4
kind: TrafficSplit
metadata: {name: web, namespace: shop, annotations: {
  anymesh.dev/smi-weights: '{"web-v1":{"from":"500m","to":500},"web-v2":{"from":1,"to":1000}}'}}
spec: {service: web, matches: [{kind: HTTPRouteGroup, name: beta}], backends: [{service: web-v1, weight: 500}, {service: web-v2, weight: 1000}]}`},
	"MeshConfig": {`
apiVersion: config.openservicemesh.io/v1alpha1
kind: MeshConfig
metadata: {name: osm-mesh-config, namespace: osm-system, annotations: {
  anymesh.dev/meshconfig-settings: '{"sidecar":{"localProxyMode":"PodIP"},"traffic":{"outboundIPRangeInclusionList":["10.0.0.0/8"]}}'}}
spec: {sidecar: {logLevel: error}, traffic: {enableEgress: true}}`, `
apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshConfig
metadata: {name: osm-mesh-config, namespace: osm-system}
spec: {sidecar: {logLevel: error, localProxyMode: PodIP}, traffic: {enableEgress: true, outboundIPRangeInclusionList: [10.0.0.0/8]}}`},
}

func read(t *testing.T, text string) (out map[string]any) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// plain returns an object as it is read from JSON.
func plain(t *testing.T, o map[string]any) any {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, string(text))
}

// Each version becomes each other one, so that nothing is lost on any way there and back.
func TestConversionBetweenAllVersions(t *testing.T) {
	for kind, versions := range published {
		for i, from := range versions {
			for j, to := range versions {
				got, want := read(t, from), read(t, to)
				_, version, _ := strings.Cut(want["apiVersion"].(string), "/")
				if err := (Dialect{}).Convert(got, version); err != nil {
					t.Fatal(err)
				}
				if g := plain(t, got); !reflect.DeepEqual(g, plain(t, want)) {
					t.Errorf("%s: v1alpha%d to v1alpha%d: got %v\nwant %v", kind, i+1, j+1, g, want)
				}
			}
		}
	}
}

// A client of v1alpha2 that keeps metadata and writes a spec without matches changes the weights only.
func TestMatchesSurviveTypedClientsOfOlderVersions(t *testing.T) {
	o := read(t, published["TrafficSplit"][3])
	if err := (Dialect{}).Convert(o, "v1alpha2"); err != nil {
		t.Fatal(err)
	}
	o["spec"] = read(t, "{service: web, backends: [{service: web-v1, weight: 50}, {service: web-v2, weight: 50}]}")
	if err := (Dialect{}).Convert(o, "v1alpha4"); err != nil {
		t.Fatal(err)
	}
	s := o["spec"].(map[string]any)
	if s["matches"] == nil || items(s["backends"])[0]["weight"] != int64(50) {
		t.Errorf("got %v", s)
	}
}

// Settings of MeshConfig that v1alpha1 does not have survive kubectl apply of a file in v1alpha1, which deletes from
// the object in v1alpha1 what the file applied last has, and this file has not. A value in the file counts.
func TestSettingsSurviveApplyOfTheOlderVersion(t *testing.T) {
	o := read(t, published["MeshConfig"][1])
	if err := (Dialect{}).Convert(o, "v1alpha1"); err != nil {
		t.Fatal(err)
	}
	delete(o["spec"].(map[string]any)["sidecar"].(map[string]any), "localProxyMode")
	delete(o["spec"].(map[string]any), "traffic")
	o["spec"].(map[string]any)["traffic"] = read(t, "{outboundIPRangeInclusionList: [10.1.0.0/16]}")
	if err := (Dialect{}).Convert(o, "v1alpha2"); err != nil {
		t.Fatal(err)
	}
	want := read(t, `{sidecar: {logLevel: error, localProxyMode: PodIP}, traffic: {outboundIPRangeInclusionList: [10.1.0.0/16]}}`)
	if got := plain(t, o["spec"].(map[string]any)); !reflect.DeepEqual(got, plain(t, want)) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestConversionsThatAreWrong(t *testing.T) {
	for text, version := range map[string]string{
		"{apiVersion: split.smi-spec.io/v1, kind: TrafficSplit}":                                                       "v1alpha4",
		"{apiVersion: split.smi-spec.io/v1alpha4, kind: TrafficSplit}":                                                 "v2",
		"{apiVersion: config.openservicemesh.io/v1alpha2, kind: MeshRootCertificate}":                                  "v1alpha2",
		"{apiVersion: split.smi-spec.io/v1alpha1, kind: TrafficSplit, spec: {backends: [{service: a, weight: much}]}}": "v1alpha4",
	} {
		if err := (Dialect{}).Convert(read(t, text), version); err == nil {
			t.Errorf("%s to %s is no error", text, version)
		}
	}
}
