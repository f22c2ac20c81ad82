package osm

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// meshConfigName is the name of the MeshConfig that has effect.
const meshConfigName = "osm-mesh-config"

// meshSettings are the settings of MeshConfig that act on the model. Without a MeshConfig, all are off, as in Open
// Service Mesh.
type meshSettings struct {
	// permissive lets every member call every member; TrafficTargets have no effect.
	permissive bool
	// egress passes traffic to destinations that are not members.
	egress bool
	// rootCertificates is true if objects of MeshRootCertificate are enabled.
	rootCertificates bool
	origin           model.Origin
}

// Paths of settings.
const (
	permissivePath = "spec.traffic.enablePermissiveTrafficPolicyMode"
	egressPath     = "spec.traffic.enableEgress"
	classPath      = "spec.sidecar.sidecarClass"
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
	spec, findings := readMeshConfig(o, at)
	if err := unknownClass(spec.class); err != nil {
		findings = append(findings, model.NewFinding(at.At(classPath), model.CodeInvalidField, err.Error()))
	}
	for _, f := range findings {
		r.findings.Emit(f)
	}
	r.settings.Emit(allKey{}, meshSettings{spec.permissive, spec.egress, spec.rootCertificates, at})
}

// unknownClass returns an error for a class that is not a driver of this program. A program without drivers knows
// nothing.
func unknownClass(class string) error {
	named := func(driver string) bool { return strings.EqualFold(driver, class) }
	if class == "" || len(sidecar.Drivers()) == 0 || slices.ContainsFunc(sidecar.Drivers(), named) {
		return nil
	}
	return fmt.Errorf("no sidecar driver has the name %q; drivers: %s. The default of the Helm values is used", class,
		strings.Join(sidecar.Drivers(), ", "))
}
