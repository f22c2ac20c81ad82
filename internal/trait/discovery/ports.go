package discovery

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type portValue = intstr.IntOrString

// tcp is the protocol of ports that HTTP can use.
const tcp = "TCP"

// want is the port that a rule asks for: a number, a name, or any.
type want struct {
	number int32
	name   string
}

// wanted reads the port of a rule. A name of digits is a number.
func wanted(p portValue) want {
	if p.Type == intstr.Int {
		return want{number: p.IntVal}
	}
	if n, err := strconv.ParseInt(p.StrVal, 10, 32); err == nil {
		return want{number: int32(n)}
	}
	return want{name: p.StrVal}
}

func (w want) unset() bool { return w == want{} }

func (w want) String() string {
	switch {
	case w.name != "":
		return w.name
	case w.number != 0:
		return fmt.Sprint(w.number)
	}
	return "at all"
}

// port is a port of a container or Service.
type port struct {
	number   int32
	name     string
	protocol string
	// target is the port of the containers, for a port of a Service. Target.number is 0 for a named port.
	target want
}

// is reports whether this is the wanted port.
func (p port) is(w want) bool {
	return w.unset() || w.number != 0 && p.number == w.number || w.name != "" && p.name == w.name
}

// leadsTo reports whether this port of a Service leads to the wanted port of the containers.
func (p port) leadsTo(w want, containers []port) bool {
	if w.unset() || p.target == w {
		return true
	}
	return number(p.target, containers) != 0 && number(p.target, containers) == number(w, containers)
}

// number returns the number of a port of the containers, or 0 if they have no port of this name.
func number(w want, containers []port) int32 {
	if w.name == "" {
		return w.number
	}
	i := slices.IndexFunc(containers, func(p port) bool { return p.name == w.name && p.protocol == tcp })
	if i < 0 {
		return 0
	}
	return containers[i].number
}

// externalName reports whether a Service only names another host.
func externalName(service *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(service.Object, "spec", "type")
	return kind == "ExternalName"
}

// servicePorts reads the ports of a Service. One without an address of its own in the cluster has none.
func servicePorts(service *unstructured.Unstructured) []port {
	if externalName(service) {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	var out []port
	for _, item := range list {
		p, ok := portOf(item, "port")
		if !ok {
			continue
		}
		p.target = want{number: p.number}
		switch t := item.(map[string]any)["targetPort"].(type) {
		case string:
			p.target = want{name: t}
		case int64:
			if t != 0 {
				p.target = want{number: int32(t)}
			}
		}
		out = append(out, p)
	}
	return out
}

// containerPorts reads the ports of the containers of a PodSpec. Init containers have none, even if they restart: what
// serves requests is a container.
func containerPorts(podSpec map[string]any) []port {
	containers, _, _ := unstructured.NestedSlice(podSpec, "containers")
	var out []port
	for _, c := range containers {
		container, ok := c.(map[string]any)
		if !ok {
			continue
		}
		list, _, _ := unstructured.NestedSlice(container, "ports")
		for _, item := range list {
			p, ok := portOf(item, "containerPort")
			same := func(o port) bool { return o.number == p.number && o.protocol == p.protocol }
			if ok && !slices.ContainsFunc(out, same) {
				out = append(out, p)
			}
		}
	}
	return out
}

func portOf(item any, field string) (port, bool) {
	m, ok := item.(map[string]any)
	if !ok {
		return port{}, false
	}
	p := port{protocol: tcp}
	switch n := m[field].(type) {
	case int64:
		p.number = int32(n)
	case float64:
		p.number = int32(n)
	}
	p.name, _ = m["name"].(string)
	if protocol, _ := m["protocol"].(string); protocol != "" {
		p.protocol = protocol
	}
	return p, p.number > 0
}

// portList is a list of ports for people.
func portList(ports []port) string {
	if len(ports) == 0 {
		return "none"
	}
	var out []string
	for _, p := range ports {
		text := fmt.Sprint(p.number)
		if p.name != "" {
			text += " (" + p.name + ")"
		}
		if p.protocol != tcp {
			text += "/" + p.protocol
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
