package osm

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// maxRoots is the number of roots that are trusted at a time.
const maxRoots = 2

// RefusedKinds returns the kinds with refusals.
func (Dialect) RefusedKinds() []client.Object { return []client.Object{&config.MeshRootCertificate{}} }

// Refuse refuses what Open Service Mesh does of a MeshRootCertificate (pkg/validator/validators.go): no provider, a
// change of its provider or trust domain, a role that leaves out passive, a second active one, and a third one that is
// trusted.
func (Dialect) Refuse(before, object client.Object, objects []client.Object) error {
	o := object.(*config.MeshRootCertificate)
	at := originOf(config.GroupVersion.Group, kindRootCertificate, o)
	var was *config.MeshRootCertificate
	if before != nil {
		was = before.(*config.MeshRootCertificate)
	}
	var findings []model.Finding
	refuse := func(path, text string, values ...any) {
		findings = append(findings, model.NewFinding(at.At(path), model.CodeRefused, fmt.Sprintf(text, values...)))
	}
	if was != nil && reflect.DeepEqual(was.Spec, o.Spec) {
		return nil // it may be older than a rule
	}
	if len(o.Spec.Provider) != 1 {
		refuse("spec.provider", "requires one of tresor, vault and certManager")
	}
	if was != nil {
		refuseChanges(was.Spec, o.Spec, refuse)
	}
	if was == nil || was.Spec.Role != o.Spec.Role {
		refuseBeside(o, objects, refuse)
	}
	if len(findings) == 0 {
		return nil
	}
	return &dialect.Refusal{Findings: findings}
}

// refuseChanges refuses changes of an object that a rotation cannot follow.
func refuseChanges(was, now config.MeshRootCertificateSpec, refuse func(path, text string, values ...any)) {
	const another = "cannot be changed: create another object, and rotate to it"
	if !sameProvider(was, now) {
		refuse("spec.provider", another)
	}
	if was.TrustDomain != now.TrustDomain {
		refuse("spec.trustDomain", another)
	}
	if ends := []string{was.Role, now.Role}; was.Role != now.Role && slices.Contains(ends, roleActive) &&
		slices.Contains(ends, roleInactive) {
		refuse("spec.role", "cannot change from %s to %s: make it %s first", was.Role, now.Role, rolePassive)
	}
}

// sameProvider compares providers as JSON values.
func sameProvider(a, b config.MeshRootCertificateSpec) bool {
	decode := func(s config.MeshRootCertificateSpec) map[string]any {
		out := map[string]any{}
		for name, text := range s.Provider {
			var value any
			if err := json.Unmarshal(text.Raw, &value); err != nil {
				value = string(text.Raw)
			}
			out[name] = value
		}
		return out
	}
	return reflect.DeepEqual(decode(a), decode(b))
}

// refuseBeside refuses a second active object, and a third one that is trusted.
func refuseBeside(o *config.MeshRootCertificate, objects []client.Object,
	refuse func(path, text string, values ...any)) {
	if o.Spec.Role != roleActive && o.Spec.Role != rolePassive {
		return
	}
	var trusted []string
	for _, other := range dialect.ObjectsOf[*config.MeshRootCertificate](objects) {
		name := other.Namespace + "/" + other.Name
		_, signed := other.Spec.Provider[tresor]
		if name == o.Namespace+"/"+o.Name || !signed || other.DeletionTimestamp != nil ||
			other.Spec.Role != roleActive && other.Spec.Role != rolePassive {
			continue
		}
		if trusted = append(trusted, name); other.Spec.Role == roleActive && o.Spec.Role == roleActive {
			refuse("spec.role", "only one object can be %s, and %s is: make that %s first", roleActive, name, rolePassive)
		}
	}
	if len(trusted) >= maxRoots {
		refuse("spec.role", "at most %d objects can be %s or %s, as %s and %s are: make one of them %s first", maxRoots,
			roleActive, rolePassive, trusted[0], trusted[1], roleInactive)
	}
}
