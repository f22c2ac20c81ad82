package osm

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// meshConfigName is the name of the MeshConfig that has effect.
const meshConfigName = "osm-mesh-config"

// meshSettings are the settings of MeshConfig. Without a MeshConfig, all are off, as in Open Service Mesh.
type meshSettings struct {
	// permissive lets every member call every member; TrafficTargets have no effect.
	permissive bool
	// egress passes traffic to destinations that are not members.
	egress bool
	origin model.Origin
}

// Paths of settings.
const (
	permissivePath = "spec.traffic.enablePermissiveTrafficPolicyMode"
	egressPath     = "spec.traffic.enableEgress"
)

// addMeshConfig adds the rules for MeshConfig.
func (r *rules) addMeshConfig(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "MeshConfig")
	incremental.Each(rule, store.Of[*config.MeshConfig](objects), &meshConfigRule{
		incremental.Emits(rule, r.settings), r.out.EmitsFindings(rule),
	}, (*meshConfigRule).evaluate)
	rule = incremental.NewRule(g, "several MeshConfigs")
	incremental.EachSeveral(rule, r.settings, r.out.EmitsFindings(rule),
		func(findings store.Output[model.ObjectRef, model.Finding], _ allKey, all []meshSettings) {
			for _, younger := range all[1:] {
				findings.Emit(model.NewFinding(younger.origin, model.CodeNameConflict,
					fmt.Sprintf("has no effect: %s is older", all[0].origin.Object())))
			}
		})
}

type meshConfigRule struct {
	settings *incremental.Emitter[allKey, meshSettings]
	findings store.Output[model.ObjectRef, model.Finding]
}

func (r *meshConfigRule) evaluate(_ types.NamespacedName, all []*config.MeshConfig) {
	o := all[0]
	at := originOf(config.GroupVersion.Group, "MeshConfig", o)
	if o.Name != meshConfigName {
		r.findings.Emit(model.NewFinding(at.At("metadata.name"), model.CodeInvalidField,
			"has no effect: only the MeshConfig with the name "+meshConfigName+" has"))
		return
	}
	out := meshSettings{origin: at}
	honored := map[string]*bool{permissivePath: &out.permissive, egressPath: &out.egress}
	for _, area := range slices.Sorted(maps.Keys(o.Spec)) {
		for _, name := range slices.Sorted(maps.Keys(o.Spec[area])) {
			path := "spec." + area + "." + name
			into, is := honored[path]
			if !is {
				r.findings.Emit(model.NewFinding(at.At(path), model.CodeFieldNotImplemented, "has no effect"))
				continue
			}
			if err := json.Unmarshal(o.Spec[area][name].Raw, into); err != nil {
				r.findings.Emit(model.NewFinding(at.At(path), model.CodeInvalidField,
					fmt.Sprintf("%s is neither true nor false; false is used", o.Spec[area][name].Raw)))
			}
		}
	}
	r.settings.Emit(allKey{}, out)
}
