package appmesh

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// cloudMapGate is the readiness gate of pods of VirtualNodes with awsCloudMap. There is no external registry, so that
// the condition is True for every pod with the gate.
const cloudMapGate corev1.PodConditionType = "conditions.appmesh.k8s.aws/aws-cloudmap-healthy"

// cloudMapService is a service of the registry.
type cloudMapService struct{ mesh, namespace, service string }

// cloudMapQuery selects the endpoints of a service that have all of the attributes.
type cloudMapQuery struct {
	name       string
	attributes map[string]string
}

// registeredService returns the service under which the pods of a VirtualNode are registered. A VirtualNode that also
// has dns is not registered: dns takes precedence.
func registeredService(mesh string, o *api.VirtualNode) (cloudMapService, bool) {
	c := cloudMap(o)
	if c == nil || o.Spec.ServiceDiscovery.DNS != nil || c.NamespaceName == "" || c.ServiceName == "" {
		return cloudMapService{}, false
	}
	return cloudMapService{mesh, c.NamespaceName, c.ServiceName}, true
}

func (a cloudMapQuery) compare(b cloudMapQuery) int { return strings.Compare(a.name, b.name) }

// register adds the query of a VirtualNode to the registry. VirtualNodes with the same namespaceName and serviceName
// share endpoints; each gets those that have all of its own attributes.
func (t *nodeRule) register(m *meshMember[*api.VirtualNode]) {
	if service, ok := registeredService(m.key.Mesh, m.object); ok {
		t.registry.Emit(service, cloudMapQuery{groupName(cloudMap(m.object)), nodeAttributes(m.object)})
	}
}

// groupName is equal for VirtualNodes with the same query. The order of the attributes is not significant.
func groupName(c *api.AWSCloudMapServiceDiscovery) string {
	if c == nil {
		return ""
	}
	u := url.URL{Scheme: "cloudmap", Host: c.NamespaceName, Path: "/" + c.ServiceName}
	query := url.Values{}
	for _, a := range c.Attributes {
		query.Set(a.Key, a.Value)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// groups returns the groups of a pod of a VirtualNode, ordered by name.
func (t *podRule) groups(n selectedWorkload, pod *store.Pod) []string {
	if n.service == (cloudMapService{}) {
		return nil
	}
	var out []string
	var has map[string]string
	for _, a := range t.registry.Read(n.service) {
		if has == nil && len(a.attributes) > 0 {
			has = n.attributesOf(pod)
		}
		if includes(has, a.attributes) && !slices.Contains(out, a.name) {
			out = append(out, a.name)
		}
	}
	return out
}

func includes(has, wanted map[string]string) bool {
	for key, value := range wanted {
		if v, ok := has[key]; !ok || v != value {
			return false
		}
	}
	return true
}

// nodeAttributes returns nil for a VirtualNode without attributes.
func nodeAttributes(o *api.VirtualNode) map[string]string {
	all := cloudMap(o).Attributes
	if len(all) == 0 {
		return nil
	}
	out := make(map[string]string, len(all))
	for _, a := range all {
		out[a.Key] = a.Value
	}
	return out
}

// attributesOf returns the attributes that App Mesh registered for a pod, except REGION and AVAILABILITY_ZONE, which
// AWS determined. The order of precedence is: predefined attributes, attributes of the VirtualNode, labels of the
// pod.
func (n selectedWorkload) attributesOf(pod *store.Pod) map[string]string {
	out := map[string]string{}
	maps.Insert(out, pod.Labels.All())
	maps.Copy(out, n.attributes)
	for _, a := range pod.Addresses() {
		if a.Is4() {
			out["AWS_INSTANCE_IPV4"] = a.String()
		} else {
			out["AWS_INSTANCE_IPV6"] = a.String()
		}
	}
	if n.port != "" {
		out["AWS_INSTANCE_PORT"] = n.port
	}
	out["k8s.io/pod"], out["k8s.io/namespace"] = pod.Name, pod.Namespace()
	out["appmesh.k8s.aws/mesh"], out["appmesh.k8s.aws/virtualNode"] = n.key.Mesh, n.key.Name
	return out
}

// discoverCloudMap returns the discovery of a VirtualNode with awsCloudMap.
func (t *translator) discoverCloudMap(m *meshMember[*api.VirtualNode]) (model.Discovery, bool) {
	c, at := cloudMap(m.object), m.origin.At("spec.serviceDiscovery.awsCloudMap")
	if _, ok := registeredService(m.key.Mesh, m.object); !ok {
		t.report(at, model.CodeInvalidField, "namespaceName and serviceName are required")
		return model.Discovery{}, false
	}
	return model.Discovery{
		Kind: model.DiscoverInstances, Group: groupName(c), DNSName: c.ServiceName + "." + c.NamespaceName,
	}, true
}
