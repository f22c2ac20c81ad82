package osm

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	access "anymesh.dev/anymesh/api/smi/access/v1alpha3"
	specs "anymesh.dev/anymesh/api/smi/specs/v1alpha4"
	split "anymesh.dev/anymesh/api/smi/split/v1alpha4"
)

// Annotations with what a version cannot say. They come back as fields in the versions that can.
const (
	keptPrefix = "anymesh.dev/smi-"
	// keptPort is the port of a destination of v1alpha1 and v1alpha2. It restricts the TrafficTarget.
	keptPort = keptPrefix + "destination-port"
	// keptSourcePorts are sources of v1alpha1 and v1alpha2 with a port, which has no effect.
	keptSourcePorts = keptPrefix + "source-ports"
	// keptMatches are matches of a TrafficSplit or a TCPRoute, keptHeaders the headers of matches by name.
	keptMatches = keptPrefix + "matches"
	keptHeaders = keptPrefix + "headers"
	// keptWeights are weights of v1alpha1 that are no whole numbers.
	keptWeights = keptPrefix + "weights"
)

// ConvertedKinds lists the kinds whose versions differ.
func (Dialect) ConvertedKinds() []schema.GroupKind {
	return []schema.GroupKind{
		{Group: access.GroupVersion.Group, Kind: "TrafficTarget"}, {Group: specs.GroupVersion.Group, Kind: kindHTTPRouteGroup},
		{Group: specs.GroupVersion.Group, Kind: kindTCPRoute}, {Group: split.GroupVersion.Group, Kind: "TrafficSplit"},
		{Group: config.GroupVersion.Group, Kind: kindMeshConfig},
	}
}

// object is an object as JSON.
type object = map[string]any

// Convert changes an object in place to another version of its kind. What the version cannot say is kept in an
// annotation.
func (Dialect) Convert(o map[string]any, version string) error {
	text, _ := o["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(text)
	if err != nil {
		return err
	}
	from, err := number(gv.Version)
	if err != nil {
		return err
	}
	to, err := number(version)
	if err != nil {
		return err
	}
	kind, _ := o["kind"].(string)
	c, known := conversions[kind]
	if !known {
		return fmt.Errorf("%s has one version", kind)
	}
	// An object goes to the newest version, and from there to the other.
	if err := c.up(o, from); err != nil {
		return err
	}
	c.down(o, to)
	o["apiVersion"] = gv.Group + "/" + version
	return nil
}

// number returns N of a version v1alphaN.
func number(version string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(version, "v1alpha"))
	if err != nil || !strings.HasPrefix(version, "v1alpha") {
		return 0, fmt.Errorf("version %q is not known", version)
	}
	return n, nil
}

var conversions = map[string]struct {
	up   func(o object, from int) error
	down func(o object, to int)
}{
	"TrafficTarget":    {targetUp, targetDown},
	kindHTTPRouteGroup: {groupUp, groupDown},
	kindTCPRoute:       {tcpUp, tcpDown},
	"TrafficSplit":     {splitUp, splitDown},
	kindMeshConfig:     {meshConfigUp, meshConfigDown},
}

// move moves a field of one object to another. It does nothing if there is none.
func move(from object, name string, to object, as string) {
	if value, is := from[name]; is {
		to[as] = value
		delete(from, name)
	}
}

// spec returns the spec of an object, which it adds if there is none.
func spec(o object) object {
	if s, is := o["spec"].(object); is {
		return s
	}
	s := object{}
	o["spec"] = s
	return s
}

// keep writes a value into an annotation; nil removes it.
func keep(o object, annotation string, value any) {
	metadata, is := o["metadata"].(object)
	if !is {
		metadata = object{}
		o["metadata"] = metadata
	}
	annotations, is := metadata["annotations"].(object)
	if !is {
		annotations = object{}
	}
	delete(annotations, annotation)
	if text, err := json.Marshal(value); value != nil && err == nil {
		annotations[annotation] = string(text)
	}
	if metadata["annotations"] = annotations; len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}

// kept returns the value in an annotation, and removes it.
func kept(o object, annotation string) any {
	metadata, _ := o["metadata"].(object)
	annotations, _ := metadata["annotations"].(object)
	text, is := annotations[annotation].(string)
	if !is {
		return nil
	}
	keep(o, annotation, nil)
	var out any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&out) != nil {
		return nil // somebody else wrote it
	}
	return out
}

func targetUp(o object, from int) error {
	if from == 1 {
		s := spec(o)
		move(o, "destination", s, "destination")
		move(o, "sources", s, "sources")
		move(o, "specs", s, "rules")
	}
	destination, _ := spec(o)["destination"].(object)
	if port, is := destination["port"]; from <= 2 && is {
		delete(destination, "port")
		keep(o, keptPort, port)
	}
	if from <= 2 {
		keepSourcePorts(o)
	}
	return nil
}

// keepSourcePorts moves the ports of sources into an annotation.
func keepSourcePorts(o object) {
	var out []object
	for _, source := range items(spec(o)["sources"]) {
		if _, is := source["port"]; is {
			out = append(out, maps.Clone(source))
			delete(source, "port")
		}
	}
	if len(out) > 0 {
		keep(o, keptSourcePorts, out)
	}
}

// restoreSourcePorts moves the ports of sources out of the annotation. A source that is gone takes its port with it.
func restoreSourcePorts(o object) {
	all := items(kept(o, keptSourcePorts))
	for _, source := range items(spec(o)["sources"]) {
		i := slices.IndexFunc(all, func(k object) bool {
			return k["kind"] == source["kind"] && k["name"] == source["name"] && k["namespace"] == source["namespace"]
		})
		if i >= 0 {
			source["port"] = all[i]["port"]
			all = slices.Delete(all, i, i+1)
		}
	}
}

func targetDown(o object, to int) {
	if to > 2 {
		return
	}
	s := spec(o)
	if destination, is := s["destination"].(object); is {
		if port := kept(o, keptPort); port != nil {
			destination["port"] = port
		}
	}
	restoreSourcePorts(o)
	if to == 1 {
		move(s, "destination", o, "destination")
		move(s, "sources", o, "sources")
		move(s, "rules", o, "specs")
		delete(o, "spec")
	}
}

func groupUp(o object, from int) error {
	if from <= 2 {
		move(o, "matches", spec(o), "matches")
	}
	if headers, is := kept(o, keptHeaders).(object); is && from == 1 {
		for _, m := range items(spec(o)["matches"]) {
			name, _ := m["name"].(string)
			if h, is := headers[name]; is && m["headers"] == nil {
				m["headers"] = h
			}
		}
	}
	return nil
}

func groupDown(o object, to int) {
	s := spec(o)
	if to == 1 {
		headers := object{}
		for _, m := range items(s["matches"]) {
			name, _ := m["name"].(string)
			move(m, "headers", headers, name)
		}
		if len(headers) > 0 {
			keep(o, keptHeaders, headers)
		}
	}
	if to <= 2 {
		move(s, "matches", o, "matches")
		delete(o, "spec")
	}
}

func tcpUp(o object, from int) error {
	if matches := kept(o, keptMatches); from <= 3 && matches != nil {
		spec(o)["matches"] = matches
	}
	return nil
}

func tcpDown(o object, to int) {
	s, _ := o["spec"].(object)
	if matches, is := s["matches"]; is && to <= 3 {
		keep(o, keptMatches, matches)
		delete(s, "matches")
	}
	if to <= 2 {
		delete(o, "spec")
	}
}

// items returns the objects of a list.
func items(list any) []object {
	all, _ := list.([]any)
	var out []object
	for _, item := range all {
		if o, is := item.(object); is {
			out = append(out, o)
		}
	}
	return out
}

// port returns the port to which a TrafficTarget is restricted, by its annotation; none if it is not.
func port(annotations map[string]string) (ports []uint16, err error) {
	text, is := annotations[keptPort]
	if !is {
		return nil, nil
	}
	n, err := strconv.ParseUint(strings.Trim(text, `"`), 10, 16)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("%s is not a port from 1 to 65535", text)
	}
	return []uint16{uint16(n)}, nil
}
