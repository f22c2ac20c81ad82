package appmesh

import (
	"maps"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// CloudMapGate is the readiness gate that App Mesh's injector gave to pods of VirtualNodes with awsCloudMap. There is no registry to
// wait for any more, so that it holds for every pod that has it, and new pods are not given it.
const CloudMapGate corev1.PodConditionType = "conditions.appmesh.k8s.aws/aws-cloudmap-healthy"

// registry is what AWS Cloud Map was to a mesh: who is registered under a service, and who asks for whom. VirtualNodes that give one
// namespaceName and serviceName share their endpoints; each sees those that have all of its own attributes.
type registry struct {
	// groups are those asked for, by the service that they are a part of.
	groups map[registered][]asked
}

// registered is a service of the registry.
type registered struct{ mesh, namespace, service string }

// asked is a group of endpoints that some VirtualNode asks for: those of a service with all of the attributes.
type asked struct {
	name       string
	attributes map[string]string
}

// registers gives the service under which the pods of a VirtualNode are registered. A node with DNS discovery too is found by that.
func registers(mesh string, o *api.VirtualNode) (registered, bool) {
	c := cloudMap(o)
	if c == nil || o.Spec.ServiceDiscovery.DNS != nil || c.NamespaceName == "" || c.ServiceName == "" {
		return registered{}, false
	}
	return registered{mesh, c.NamespaceName, c.ServiceName}, true
}

func newRegistry(nodes []*member[*api.VirtualNode]) registry {
	r := registry{map[registered][]asked{}}
	for _, m := range nodes {
		service, ok := registers(m.key.Mesh, m.object)
		name := groupName(cloudMap(m.object))
		if !ok || slices.ContainsFunc(r.groups[service], func(a asked) bool { return a.name == name }) {
			continue
		}
		r.groups[service] = append(r.groups[service], asked{name, givenAttributes(m.object)})
	}
	return r
}

// groupName is equal for VirtualNodes that ask for the same endpoints, in whatever order they write the attributes.
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

// groupsOf gives the groups that a pod of a VirtualNode belongs to, ordered by name.
func (r registry) groupsOf(m *member[*api.VirtualNode], pod *corev1.Pod) []string {
	service, ok := registers(m.key.Mesh, m.object)
	if !ok {
		return nil
	}
	var out []string
	var has map[string]string
	for _, a := range r.groups[service] {
		if has == nil && len(a.attributes) > 0 {
			has = attributes(m, pod)
		}
		if includes(has, a.attributes) {
			out = append(out, a.name)
		}
	}
	slices.Sort(out)
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

func givenAttributes(o *api.VirtualNode) map[string]string {
	out := map[string]string{}
	for _, a := range cloudMap(o).Attributes {
		out[a.Key] = a.Value
	}
	return out
}

// attributes are those that App Mesh registered a pod with, but for REGION and AVAILABILITY_ZONE, which were AWS's. The attributes of
// its VirtualNode win over its labels, what is known of it over both.
func attributes(m *member[*api.VirtualNode], pod *corev1.Pod) map[string]string {
	out := map[string]string{}
	maps.Copy(out, pod.Labels)
	maps.Copy(out, givenAttributes(m.object))
	for _, a := range addresses(pod) {
		if a.Is4() {
			out["AWS_INSTANCE_IPV4"] = a.String()
		} else {
			out["AWS_INSTANCE_IPV6"] = a.String()
		}
	}
	if l := m.object.Spec.Listeners; len(l) > 0 {
		out["AWS_INSTANCE_PORT"] = strconv.Itoa(int(l[0].PortMapping.Port))
	}
	out["k8s.io/pod"], out["k8s.io/namespace"] = pod.Name, pod.Namespace
	out["appmesh.k8s.aws/mesh"], out["appmesh.k8s.aws/virtualNode"] = m.key.Mesh, m.key.Name
	return out
}

// discoverCloudMap says how others find a VirtualNode with awsCloudMap.
func (t *translator) discoverCloudMap(m *member[*api.VirtualNode]) (model.Discovery, bool) {
	c, at := cloudMap(m.object), m.origin.At("spec.serviceDiscovery.awsCloudMap")
	if _, ok := registers(m.key.Mesh, m.object); !ok {
		t.report(at, model.CodeInvalidField, "needs namespaceName and serviceName")
		return model.Discovery{}, false
	}
	return model.Discovery{Kind: model.DiscoverInstances, Group: groupName(c)}, true
}
