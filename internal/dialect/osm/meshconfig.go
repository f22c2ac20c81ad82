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
	// accessControl is true if objects of AccessControl are enabled.
	accessControl bool
	// kept is true for the copy of a MeshConfig, which has effect if there is no other.
	kept bool
	// logLevel is that of sidecars; empty for none.
	logLevel string
	origin   model.Origin
}

// Paths of settings.
const (
	permissivePath = "spec.traffic.enablePermissiveTrafficPolicyMode"
	egressPath     = "spec.traffic.enableEgress"
	classPath      = "spec.sidecar.sidecarClass"
	driversPath    = "spec.sidecar.sidecarDrivers"
)

// addMeshConfig adds the rules for MeshConfig.
func (r *rules) addMeshConfig(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "copy of the MeshConfig")
	incremental.Each(rule, store.Of[*config.MeshConfig](objects), incremental.Emits(rule, r.keptConfigs),
		func(kept *incremental.Emitter[allKey, *config.MeshConfig], name types.NamespacedName, all []*config.MeshConfig) {
			if name.Name == keptName {
				kept.Emit(allKey{}, all[0])
			}
		})
	rule = incremental.NewRule(g, "MeshConfig")
	incremental.Each(rule, store.Of[*config.MeshConfig](objects), &meshConfigRule{
		r.dialect, incremental.Reads(rule, r.keptConfigs), incremental.Emits(rule, r.settings), r.out.EmitsFindings(rule),
	}, (*meshConfigRule).evaluate)
	rule = incremental.NewRule(g, "MeshConfig with effect")
	incremental.Each(rule, r.settings, r.out.EmitsFindings(rule), reportOthers)
}

// reportOthers reports the MeshConfigs without effect, and a copy that has effect.
func reportOthers(findings store.Output[model.ObjectRef, model.Finding], _ allKey, all []meshSettings) {
	if all[0].kept {
		findings.Emit(model.NewFinding(all[0].origin, model.CodeReferenceNotFound, "is in force with the last settings, "+
			"since there is no MeshConfig "+meshConfigName+" any longer; create it again, or delete this copy to get the defaults"))
	}
	for _, younger := range all[1:] {
		if !younger.kept {
			findings.Emit(model.NewFinding(younger.origin, model.CodeNameConflict,
				fmt.Sprintf("has no effect: %s is older", all[0].origin.Object())))
		}
	}
}

type meshConfigRule struct {
	dialect  Dialect
	kept     *incremental.Reader[allKey, *config.MeshConfig]
	settings *incremental.Emitter[allKey, meshSettings]
	findings store.Output[model.ObjectRef, model.Finding]
}

func (r *meshConfigRule) evaluate(_ types.NamespacedName, all []*config.MeshConfig) {
	o := all[0]
	at := meshConfigOrigin(o)
	if o.Name == keptName {
		spec, _ := readMeshConfig(o, nil, at)
		r.emit(spec, true, at)
		return
	}
	if o.Name != meshConfigName {
		r.findings.Emit(model.NewFinding(at.At("metadata.name"), model.CodeInvalidField,
			"has no effect: only the MeshConfig with the name "+meshConfigName+" has"))
		return
	}
	last, _ := r.kept.ReadFirst(allKey{})
	spec, findings := readMeshConfig(o, last, at)
	if err := r.dialect.checkClass(spec.class); err != nil {
		findings = append(findings, model.NewFinding(at.At(classPath), model.CodeInvalidField,
			err.Error()+". The default of the Helm values is used"))
	}
	for i, driver := range spec.drivers {
		if err := r.dialect.checkClass(driver.SidecarName); err != nil {
			f := model.NewFinding(at.At(fmt.Sprintf("%s[%d].sidecarName", driversPath, i)), model.CodeFieldNotImplemented,
				"the entry has no effect: "+err.Error())
			f.Severity = model.Info
			findings = append(findings, f)
		}
	}
	for _, f := range findings {
		r.findings.Emit(f)
	}
	r.emit(spec, false, at)
}

func (r *meshConfigRule) emit(spec meshSpec, kept bool, at model.Origin) {
	r.settings.Emit(allKey{}, meshSettings{
		permissive: spec.permissive, egress: spec.egress, rootCertificates: spec.rootCertificates,
		accessControl: spec.accessControl, kept: kept, logLevel: spec.logLevel, origin: at,
	})
}

// checkClass returns an error for a class that is not a driver of this program, or that the Helm values do not have. A
// program without drivers knows nothing.
func (d Dialect) checkClass(class string) error {
	named := func(driver string) bool { return strings.EqualFold(driver, class) }
	switch {
	case class == "" || len(sidecar.Drivers()) == 0:
	case !slices.ContainsFunc(sidecar.Drivers(), named):
		return fmt.Errorf("no sidecar driver has the name %q; drivers: %s", class, strings.Join(sidecar.Drivers(), ", "))
	case d.SidecarClasses != nil && !slices.ContainsFunc(d.SidecarClasses, named):
		return fmt.Errorf("%q has no entry in osm.sidecarDrivers of the Helm values, which has the port of a driver; "+
			"entries: %s", class, strings.Join(d.SidecarClasses, ", "))
	}
	return nil
}
