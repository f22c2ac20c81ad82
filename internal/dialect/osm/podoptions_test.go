package osm

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

func podWith(annotations map[string]string) *corev1.Pod {
	p := &corev1.Pod{}
	p.Annotations = map[string]string{}
	for name, value := range annotations {
		p.Annotations[prefix+name] = value
	}
	return p
}

func TestExclusionsAndInclusions(t *testing.T) {
	got, err := Dialect{}.PodOptions(podWith(map[string]string{
		"inbound-port-exclusion-list": "6379, 7070", "outbound-port-exclusion-list": "5432,5432",
		"outbound-ip-range-exclusion-list": "10.9.1.2/16", "outbound-ip-range-inclusion-list": "10.0.0.0/8, fd00::/8",
	}), model.Workload{})
	want := dialect.PodOptions{
		AllInbound: true, IPv6: true, InboundPortExclusions: []int{6379, 7070}, OutboundPortExclusions: []int{5432},
		PortExclusionsBy:     prefix + "outbound-port-exclusion-list",
		OutboundIPExclusions: []string{"10.9.0.0/16"}, OutboundIPInclusions: []string{"10.0.0.0/8", "fd00::/8"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	for name, value := range map[string]string{
		"sidecar-resource-limits-cpu": "many", "inbound-port-exclusion-list": "0", "outbound-port-exclusion-list": "http",
		"outbound-ip-range-exclusion-list": "10.0.0.1", "outbound-ip-range-inclusion-list": "10.0.0.0/8,",
	} {
		_, err := Dialect{}.PodOptions(podWith(map[string]string{name: value}), model.Workload{})
		if err == nil || !strings.Contains(err.Error(), prefix+name) {
			t.Errorf("%s: %q: error %v, want one that names the annotation", name, value, err)
		}
	}
}
