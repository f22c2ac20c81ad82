package osm

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// Labels and annotations of Open Service Mesh.
const (
	prefix = "openservicemesh.io/"
	// monitoredLabel is the label of a member namespace, with the name of its mesh.
	monitoredLabel = prefix + "monitored-by"
	// ignoreLabel excludes a namespace, whatever its value is.
	ignoreLabel = prefix + "ignore"
	// injectionAnnotation of a namespace or a pod enables or disables injection.
	injectionAnnotation = prefix + "sidecar-injection"
)

// systemNamespaces are never members.
var systemNamespaces = []string{metav1.NamespaceSystem, metav1.NamespacePublic}

// meshOf returns the mesh of a namespace. It reports false if the namespace is not a member of the mesh of the dialect.
func (d Dialect) meshOf(ns *corev1.Namespace) (string, bool) {
	_, ignored := ns.Labels[ignoreLabel]
	is := ns.Labels[monitoredLabel] == d.meshName() && !ignored && !slices.Contains(systemNamespaces, ns.Name)
	return d.meshName(), is
}

// LeavesAlone reports whether a selector requires that the namespace is a member of no mesh, or of one with another
// name.
func (d Dialect) LeavesAlone(selector *metav1.LabelSelector) bool {
	if selector == nil {
		return false
	}
	if mesh, is := selector.MatchLabels[monitoredLabel]; is && mesh != d.meshName() {
		return true
	}
	return slices.ContainsFunc(selector.MatchExpressions, func(e metav1.LabelSelectorRequirement) bool {
		named := slices.Contains(e.Values, d.meshName())
		return e.Key == monitoredLabel && (e.Operator == metav1.LabelSelectorOpDoesNotExist ||
			e.Operator == metav1.LabelSelectorOpIn && !named || e.Operator == metav1.LabelSelectorOpNotIn && named)
	})
}

// membership is the part of a rule that finds the meshes of namespaces.
type membership struct {
	dialect    Dialect
	namespaces *incremental.Reader[types.NamespacedName, *corev1.Namespace]
}

func (r *rules) readsMembership(rule *incremental.Rule) membership {
	return membership{r.dialect, incremental.Reads(rule, r.namespaces)}
}

// of returns the mesh of a namespace, and false if it is not a member of one.
func (m membership) of(namespace string) (string, bool) {
	ns, known := m.namespaces.ReadFirst(types.NamespacedName{Name: namespace})
	if !known {
		return "", false
	}
	return m.dialect.meshOf(ns)
}

// foreign reports whether a namespace is a member of a mesh with another name, which is left alone: another control
// plane serves its objects.
func (m membership) foreign(namespace string) bool {
	ns, known := m.namespaces.ReadFirst(types.NamespacedName{Name: namespace})
	if !known {
		return false
	}
	mesh, monitored := ns.Labels[monitoredLabel]
	return monitored && mesh != m.dialect.meshName()
}

// notMember is the text of findings about objects of a namespace that is not a member.
func (m membership) notMember(namespace string) string {
	return fmt.Sprintf("namespace %s has no label %s: %s", namespace, monitoredLabel, m.dialect.meshName())
}

// addMeshes adds the rules that emit the meshes of member namespaces.
func (r *rules) addMeshes(g *incremental.Graph) {
	rule := incremental.NewRule(g, "Namespace")
	incremental.Each(rule, r.namespaces, incremental.Emits(rule, r.meshNames),
		func(names *incremental.Emitter[string, model.Origin], _ types.NamespacedName, all []*corev1.Namespace) {
			if mesh, is := r.dialect.meshOf(all[0]); is {
				names.Emit(mesh, originOf("", "Namespace", all[0]))
			}
		})
	rule = incremental.NewRule(g, "mesh")
	incremental.Each(rule, r.meshNames, &meshRule{
		trustDomain: r.dialect.trustDomain(), settings: incremental.Reads(rule, r.settings),
		meshes: r.out.EmitsMeshes(rule), findings: r.out.EmitsFindings(rule),
	}, (*meshRule).evaluate)
}

// meshRule emits the mesh of namespaces.
type meshRule struct {
	trustDomain string
	settings    *incremental.Reader[allKey, meshSettings]
	meshes      store.Output[string, model.Mesh]
	findings    store.Output[model.ObjectRef, model.Finding]
}

func (r *meshRule) evaluate(name string, namespaces []model.Origin) {
	settings, known := r.settings.ReadFirst(allKey{})
	m := model.Mesh{Name: name, TrustDomain: r.trustDomain, Egress: model.EgressDeny, Origin: namespaces[0]}
	if known {
		m.Origin = settings.origin.At(egressPath)
	} else {
		f := model.NewFinding(namespaces[0].At(monitoredPath), model.CodeReferenceNotFound,
			"there is no MeshConfig "+meshConfigName+": permissive mode and egress are off")
		f.Severity = model.Warning
		r.findings.Emit(f)
	}
	if m.SidecarLogLevel = settings.logLevel; m.SidecarLogLevel == "warn" {
		m.SidecarLogLevel = "warning"
	}
	if settings.egress {
		m.Egress = model.EgressAllow
	}
	r.meshes.Emit(m)
}

// monitoredPath is the path of the label.
const monitoredPath = "metadata.labels[" + monitoredLabel + "]"

// originOf returns the origin of an object.
func originOf(group, kind string, o metav1.Object) model.Origin {
	return model.NewOrigin(model.ObjectRef{
		Group: group, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(),
	}).CreatedAt(store.CreatedAt(o))
}
