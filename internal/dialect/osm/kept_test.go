package osm

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/internal/dialect"
)

const lifetimePath = "certificate.serviceCertValidityDuration"

func copyWith(path, value string) *config.MeshConfig {
	out := meshConfigWith(path, value)
	out.Name, out.Namespace = keptName, "anymesh-system"
	return out
}

// The copy has effect if there is no MeshConfig, and for a setting whose value is invalid.
func TestLastSettingsHaveEffect(t *testing.T) {
	member := &corev1.Namespace{}
	member.Name, member.Labels = "shop", map[string]string{monitoredLabel: "osm"}
	last := copyWith(lifetimePath, `"2m"`)
	for name, c := range map[string]struct {
		objects []client.Object
		want    time.Duration
	}{
		"deleted":         {[]client.Object{last}, 2 * time.Minute},
		"there":           {[]client.Object{last, meshConfigWith(lifetimePath, `"3m"`)}, 3 * time.Minute},
		"removed setting": {[]client.Object{last, meshConfigWith("traffic.enableEgress", `true`)}, 0},
		"invalid":         {[]client.Object{last, meshConfigWith(lifetimePath, `"3"`)}, 2 * time.Minute},
		"always invalid":  {[]client.Object{copyWith(lifetimePath, `"2"`), meshConfigWith(lifetimePath, `"3"`)}, 0},
	} {
		if got := (Dialect{}).CertificateLifetime(c.objects, member); got != c.want {
			t.Errorf("%s: certificates live for %s, want %s", name, got, c.want)
		}
	}
}

// The copy has the last valid value of each setting. It is written if it differs, and in one namespace only.
func TestCopyOfTheSettings(t *testing.T) {
	last := copyWith(lifetimePath, `"2m"`)
	elsewhere := copyWith(lifetimePath, `"2m"`)
	elsewhere.Namespace = "old-system"
	withUnknown := meshConfigWith(lifetimePath, `"2"`)
	withUnknown.Spec["traffic"] = map[string]apiextensionsv1.JSON{"enableEgres": {Raw: json.RawMessage("true")}}
	const two = `{"certificate":{"serviceCertValidityDuration":"2m"}}`
	const three = `{"certificate":{"serviceCertValidityDuration":"3m"}}`
	const unknown = `{"certificate":{"serviceCertValidityDuration":"2m"},"traffic":{"enableEgres":true}}`
	loglevel := meshConfigWith("sidecar.logLevel", `"info"`)
	for name, c := range map[string]struct {
		objects []client.Object
		want    string // spec of the copy, or "" if nothing is written
	}{
		"first":           {[]client.Object{meshConfigWith(lifetimePath, `"2m"`)}, two},
		"copy elsewhere":  {[]client.Object{elsewhere, meshConfigWith(lifetimePath, `"2m"`)}, two},
		"equal":           {[]client.Object{last, meshConfigWith(lifetimePath, ` "2m"`)}, ""},
		"changed":         {[]client.Object{last, meshConfigWith(lifetimePath, `"3m"`)}, three},
		"removed setting": {[]client.Object{last, loglevel}, `{"sidecar":{"logLevel":"info"}}`},
		"invalid":         {[]client.Object{last, meshConfigWith(lifetimePath, `"3"`)}, ""},
		"never valid":     {[]client.Object{meshConfigWith(lifetimePath, `"3"`)}, `{"certificate":{}}`},
		"unknown setting": {[]client.Object{last, withUnknown}, unknown},
		"deleted":         {[]client.Object{last}, ""},
		"nothing":         {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := json.Marshal(c.objects)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := (Dialect{}).Keep(c.objects, "anymesh-system").(*config.MeshConfig)
			if got == nil {
				if c.want != "" {
					t.Error("no copy is written")
				}
				return
			}
			spec, err := json.Marshal(got.Spec)
			if err != nil || string(spec) != c.want || got.Name != keptName || got.Namespace != "anymesh-system" {
				t.Errorf("got %s/%s %s, error %v", got.Namespace, got.Name, spec, err)
			}
			if after, err := json.Marshal(c.objects); err != nil || !slices.Equal(before, after) {
				t.Errorf("the objects changed: %s, error %v", after, err)
			}
		})
	}
}

// The settings of pods name the MeshConfig that is in force.
func TestSettingsNameTheirObject(t *testing.T) {
	last, own := copyWith(lifetimePath, `"2m"`), meshConfigWith(lifetimePath, `"3m"`)
	for want, objects := range map[string][]client.Object{
		own.Namespace + "/" + own.Name: {last, own}, last.Namespace + "/" + last.Name: {last}, "/": nil,
	} {
		var o dialect.PodOptions
		if err := (Dialect{}).AddPodOptions(objects, nil, &o); err != nil {
			t.Error(err)
		}
		if at := o.Settings.Object(); at.Namespace+"/"+at.Name != want {
			t.Errorf("got settings of %s, want %s", at, want)
		}
	}
}
