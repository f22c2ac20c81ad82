package osm

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

const (
	rootCertificatePath = "spec.featureFlags.enableMeshRootCertificate"
	roleActive          = "active"
)

// addRootCertificates adds the rules for MeshRootCertificates, which have no effect: the authority of the mesh has a
// root of its own.
func (r *rules) addRootCertificates(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "MeshRootCertificate")
	incremental.Each(rule, store.Of[*config.MeshRootCertificate](objects), &rootRule{
		incremental.Reads(rule, r.settings), incremental.Emits(rule, r.activeRoots), r.out.EmitsFindings(rule),
	}, (*rootRule).evaluate)
	rule = incremental.NewRule(g, "several active MeshRootCertificates")
	incremental.EachSeveral(rule, r.activeRoots, r.out.EmitsFindings(rule),
		func(findings store.Output[model.ObjectRef, model.Finding], _ allKey, all []model.Origin) {
			for _, younger := range all[1:] {
				findings.Emit(model.NewFinding(younger.At("spec.role"), model.CodeNameConflict,
					fmt.Sprintf("only one can be %s, and %s is older", roleActive, all[0].Object())))
			}
		})
}

type rootRule struct {
	settings *incremental.Reader[allKey, meshSettings]
	active   *incremental.Emitter[allKey, model.Origin]
	findings store.Output[model.ObjectRef, model.Finding]
}

func (r *rootRule) evaluate(_ types.NamespacedName, all []*config.MeshRootCertificate) {
	o := all[0]
	at := originOf(config.GroupVersion.Group, "MeshRootCertificate", o)
	if settings, _ := r.settings.ReadFirst(allKey{}); !settings.rootCertificates {
		f := model.NewFinding(at, model.CodeNoEffect, "has no effect while "+rootCertificatePath+" of MeshConfig is not true")
		r.findings.Emit(f)
		return
	}
	r.findings.Emit(model.NewFinding(at, model.CodeFieldNotImplemented,
		"has no effect: Anymesh has a root certificate of its own, which anymesh identity rotate replaces without downtime"))
	if len(o.Spec.Provider) != 1 {
		r.findings.Emit(model.NewFinding(at.At("spec.provider"), model.CodeInvalidField,
			"requires one of tresor, vault and certManager"))
	}
	if o.Spec.Role == roleActive {
		r.active.Emit(allKey{}, at)
	}
}
