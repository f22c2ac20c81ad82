package appmesh

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
)

// AssumeNamespace returns the assumed labels of a Namespace that is not among the objects, and a note for the user.
// If there is exactly one Mesh and its selector can match, the Mesh is assumed to select the Namespace. If exactly one
// VirtualGateway can select a GatewayRoute of the Namespace, it is assumed to do so.
func (Dialect) AssumeNamespace(objects []client.Object, name string,
	set map[string]string) (assumed map[string]string, assumption string) {
	var selecting []string
	assumed = set
	meshes := dialect.ObjectsOf[*api.Mesh](objects)
	if len(meshes) == 1 {
		if more, ok := satisfy(meshes[0].Spec.NamespaceSelector, set); ok {
			assumed, selecting = more, []string{"Mesh " + meshes[0].Name}
		}
	}
	for _, route := range dialect.ObjectsOf[*api.GatewayRoute](objects) {
		g := onlyGateway(route, dialect.ObjectsOf[*api.VirtualGateway](objects), assumed)
		if route.Namespace != name || g == nil {
			continue
		}
		more, ok := satisfy(g.Spec.NamespaceSelector, assumed)
		if !ok || len(selecting) > 0 && !selects(meshes[0].Spec.NamespaceSelector, more) {
			continue
		}
		assumed, selecting = more, append(selecting, "VirtualGateway "+g.Namespace+"/"+g.Name)
	}
	if len(selecting) == 0 {
		return nil, ""
	}
	verb := " selects it"
	if len(selecting) > 1 {
		verb = " select it"
	}
	return assumed, fmt.Sprintf("Namespace %s is not in the files; assuming that %s%s", name, strings.Join(selecting, " and "), verb)
}

// onlyGateway returns the only gateway whose gatewayRouteSelector matches a route, or nil if there are several, or if
// one of them selects the namespace of the route.
func onlyGateway(route *api.GatewayRoute, gateways []*api.VirtualGateway,
	namespaceLabels map[string]string) *api.VirtualGateway {
	var found []*api.VirtualGateway
	for _, g := range gateways {
		if byLabels := g.Spec.GatewayRouteSelector; byLabels != nil && !selects(byLabels, route.Labels) {
			continue
		}
		if selects(g.Spec.NamespaceSelector, namespaceLabels) {
			return nil
		}
		found = append(found, g)
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// AssumeMeshes returns the Meshes that objects lack: one for the namespaces that have objects of App Mesh and that no
// Mesh of the objects selects, and those to which objects belong already. The objects include all Namespaces.
func (Dialect) AssumeMeshes(objects []client.Object) []client.Object {
	selected, known := map[string]bool{}, map[string]bool{}
	for _, m := range dialect.ObjectsOf[*api.Mesh](objects) {
		known[m.Name] = true
		for _, ns := range dialect.ObjectsOf[*corev1.Namespace](objects) {
			selected[ns.Name] = selected[ns.Name] || selects(m.Spec.NamespaceSelector, ns.Labels)
		}
	}
	var out []client.Object
	needed := map[string]bool{}
	for _, o := range objects {
		ref := meshRefField(o)
		switch {
		case ref == nil:
		case *ref == nil:
			needed[o.GetNamespace()] = !selected[o.GetNamespace()]
		case !known[(*ref).Name]:
			known[(*ref).Name] = true
			out = append(out, &api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: (*ref).Name, UID: (*ref).UID}})
		}
	}
	maps.DeleteFunc(needed, func(_ string, is bool) bool { return !is })
	if len(needed) > 0 {
		out = append(out, &api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "assumed"}, Spec: api.MeshSpec{
			NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: slices.Sorted(maps.Keys(needed)),
			}}},
		}})
	}
	return out
}

// AssumeProxy reports whether a pod of a workload gets the proxy of a gateway when it is created: it has the container,
// and injection is enabled. namespace is nil if the Namespace is not among the objects: then it is assumed to enable
// injection.
func (d Dialect) AssumeProxy(pod *corev1.Pod, namespace *corev1.Namespace) bool {
	if !slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == gatewayContainer }) {
		return false
	}
	if namespace == nil {
		return d.InjectionMode(pod, &corev1.Namespace{}) != dialect.InjectionDisabled
	}
	_, reached := namespace.Labels[injectionKey]
	return reached && d.InjectionMode(pod, namespace) != dialect.InjectionDisabled
}

// satisfy adds labels until a selector matches, and reports false if it cannot match. An absent selector matches
// nothing.
func satisfy(selector *metav1.LabelSelector, set map[string]string) (map[string]string, bool) {
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, false
	}
	out := maps.Clone(set)
	if selector != nil {
		for key, value := range selector.MatchLabels {
			out[key] = value
		}
		for _, e := range selector.MatchExpressions {
			_, present := out[e.Key]
			switch {
			case e.Operator == metav1.LabelSelectorOpIn && len(e.Values) > 0 && !slices.Contains(e.Values, out[e.Key]):
				out[e.Key] = e.Values[0]
			case e.Operator == metav1.LabelSelectorOpExists && !present:
				out[e.Key] = ""
			}
		}
		if out[corev1.LabelMetadataName] != set[corev1.LabelMetadataName] {
			return nil, false // the name of the namespace is known
		}
	}
	return out, compiled.Matches(labels.Set(out))
}
