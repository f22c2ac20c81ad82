package osm

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

const (
	rootCertificatePath = "spec.featureFlags.enableMeshRootCertificate"
	kindMeshConfig      = "MeshConfig"
	kindRootCertificate = "MeshRootCertificate"

	roleActive, rolePassive, roleInactive = "active", "passive", "inactive"

	// tresor is the provider whose certificates the control plane signs.
	tresor = "tresor"
)

// addRootCertificates adds the rules for MeshRootCertificates. What they do is in Roots: the mesh itself has no roots.
func (r *rules) addRootCertificates(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, kindRootCertificate)
	incremental.Each(rule, store.Of[*config.MeshRootCertificate](objects), &rootRule{
		incremental.Reads(rule, r.settings), incremental.Emits(rule, r.activeRoots),
		incremental.Emits(rule, r.out.TrustDomains), r.out.EmitsFindings(rule),
	}, (*rootRule).evaluate)
	rule = incremental.NewRule(g, "several active MeshRootCertificates")
	incremental.EachSeveral(rule, r.activeRoots, r.out.EmitsFindings(rule),
		func(findings store.Output[model.ObjectRef, model.Finding], _ allKey, all []model.Origin) {
			for _, younger := range all[1:] {
				findings.Emit(model.NewFinding(younger.At("spec.role"), model.CodeNameConflict,
					fmt.Sprintf("is %s: only one can be %s, and %s is older", rolePassive, roleActive, all[0].Object())))
			}
		})
}

type rootRule struct {
	settings *incremental.Reader[allKey, meshSettings]
	active   *incremental.Emitter[allKey, model.Origin]
	domains  *incremental.Emitter[struct{}, []string]
	findings store.Output[model.ObjectRef, model.Finding]
}

func (r *rootRule) evaluate(_ types.NamespacedName, all []*config.MeshRootCertificate) {
	o := all[0]
	at := originOf(config.GroupVersion.Group, kindRootCertificate, o)
	if settings, _ := r.settings.ReadFirst(allKey{}); !settings.rootCertificates {
		f := model.NewFinding(at, model.CodeNoEffect, "has no effect while "+rootCertificatePath+" of MeshConfig is not true")
		r.findings.Emit(f)
		return
	}
	if problems := rootProblems(o, at); len(problems) > 0 {
		for _, f := range problems {
			r.findings.Emit(f)
		}
		return
	}
	note := model.NewFinding(at.At("spec.provider.tresor"), model.CodeNoEffect,
		"has no effect: the control plane makes the root, and keeps its key in its own Secret")
	note.Severity = model.Info
	r.findings.Emit(note)
	if o.Spec.Role == roleActive {
		r.active.Emit(allKey{}, at)
	}
	// Sidecars accept the names of the domain before a certificate has one.
	if o.Spec.Role != roleInactive && o.Spec.TrustDomain != "" {
		r.domains.Emit(struct{}{}, []string{o.Spec.TrustDomain})
	}
}

// rootProblems returns why an object has no effect.
func rootProblems(o *config.MeshRootCertificate, at model.Origin) []model.Finding {
	var out []model.Finding
	if len(o.Spec.Provider) != 1 {
		out = append(out, model.NewFinding(at.At("spec.provider"), model.CodeInvalidField,
			"requires one of tresor, vault and certManager"))
	} else if _, is := o.Spec.Provider[tresor]; !is {
		out = append(out, model.NewFinding(at.At("spec.provider"), model.CodeFieldNotImplemented,
			"the object has no effect: Anymesh signs certificates itself, as the provider tresor"))
	}
	if d := o.Spec.TrustDomain; d != "" && !model.ValidTrustDomain(d) {
		out = append(out, model.NewFinding(at.At("spec.trustDomain"), model.CodeInvalidField,
			fmt.Sprintf("%q is not the name of a trust domain, of a-z, 0-9, '.', '-' and '_'; the object has no effect", d)))
	}
	if !slices.Contains([]string{roleActive, rolePassive, roleInactive}, o.Spec.Role) {
		out = append(out, model.NewFinding(at.At("spec.role"), model.CodeInvalidField,
			fmt.Sprintf("%q is not active, passive or inactive; the object has no effect", o.Spec.Role)))
	}
	return out
}

// RootReads returns an empty object of each kind that Roots reads.
func (Dialect) RootReads() []client.Object {
	return []client.Object{&config.MeshConfig{}, &config.MeshRootCertificate{}}
}

// Roots returns the MeshRootCertificates that are active or passive. Of several active ones, the oldest is.
func (Dialect) Roots(objects []client.Object) []dialect.Root {
	if !specOf(objects).rootCertificates {
		return nil
	}
	var out []dialect.Root
	for _, o := range dialect.ObjectsOf[*config.MeshRootCertificate](objects) {
		at := originOf(config.GroupVersion.Group, kindRootCertificate, o)
		if len(rootProblems(o, at)) == 0 && o.Spec.Role != roleInactive {
			out = append(out, dialect.Root{
				Origin: at, Active: o.Spec.Role == roleActive, TrustDomain: o.Spec.TrustDomain,
			})
		}
	}
	slices.SortFunc(out, func(a, b dialect.Root) int { return a.Origin.CompareAge(b.Origin) })
	signs := slices.IndexFunc(out, func(r dialect.Root) bool { return r.Active })
	for i := range out {
		out[i].Active = i == signs
	}
	return out
}
