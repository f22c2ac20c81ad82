package osm

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// keptName is the name of the copy of the MeshConfig, which has the last valid value of each setting. The values are in
// force while the MeshConfig has an invalid one in their place, and all of them while there is no MeshConfig.
const keptName = meshConfigName + "-last"

// KeptCopy returns an empty copy of the MeshConfig.
func (Dialect) KeptCopy() client.Object {
	return &config.MeshConfig{ObjectMeta: metav1.ObjectMeta{Name: keptName}}
}

// Keep returns the copy of the MeshConfig that has effect.
func (Dialect) Keep(objects []client.Object, namespace string) client.Object {
	o := oldestNamed(objects, meshConfigName)
	if o == nil {
		return nil
	}
	own := slices.DeleteFunc(slices.Clone(objects), func(o client.Object) bool { return o.GetNamespace() != namespace })
	spec := withLastValid(o.Spec, settingsOf(oldestNamed(objects, keptName)))
	if found := oldestNamed(own, keptName); found != nil && equalSettings(found.Spec, spec) {
		return nil
	}
	return &config.MeshConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: keptName}, Spec: spec}
}

// oldestNamed returns the oldest MeshConfig with a name; nil if there is none.
func oldestNamed(objects []client.Object, name string) *config.MeshConfig {
	var oldest *config.MeshConfig
	var at model.Origin
	for _, o := range dialect.ObjectsOf[*config.MeshConfig](objects) {
		origin := meshConfigOrigin(o)
		if o.Name == name && (oldest == nil || origin.CompareAge(at) < 0) {
			oldest, at = o, origin
		}
	}
	return oldest
}

func meshConfigOrigin(o *config.MeshConfig) model.Origin {
	return originOf(config.GroupVersion.Group, kindMeshConfig, o)
}

func settingsOf(o *config.MeshConfig) config.MeshConfigSpec {
	if o == nil {
		return nil
	}
	return o.Spec
}

// withLastValid returns the settings with the last valid value in place of each invalid one. If there is none, they do
// not have the setting.
func withLastValid(spec, last config.MeshConfigSpec) config.MeshConfigSpec {
	out := config.MeshConfigSpec{}
	for area, values := range spec {
		out[area] = maps.Clone(values)
	}
	for _, k := range MeshConfigKeys() {
		area, name := k.parts()
		value, set := out[area][name]
		if !set || k.valid(value.Raw) {
			continue
		}
		delete(out[area], name)
		if by, has := last[area][name]; has && k.valid(by.Raw) {
			out[area][name] = by
		}
	}
	return out
}

// valid reports whether a value has effect, at least in a part, or needs none.
func (k MeshConfigKey) valid(value json.RawMessage) bool {
	var out meshSpec
	return k.set == nil || k.set(&out, value) == nil || !reflect.DeepEqual(out, meshSpec{})
}

// equalSettings reports whether settings have the same values, however they are written.
func equalSettings(a, b config.MeshConfigSpec) bool {
	equal := func(a, b apiextensionsv1.JSON) bool {
		var x, y any
		return json.Unmarshal(a.Raw, &x) == nil && json.Unmarshal(b.Raw, &y) == nil && reflect.DeepEqual(x, y)
	}
	return maps.EqualFunc(a, b, func(a, b map[string]apiextensionsv1.JSON) bool { return maps.EqualFunc(a, b, equal) })
}
