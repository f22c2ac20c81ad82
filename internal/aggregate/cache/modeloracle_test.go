package cache_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/internal/aggregate/version"
)

// view is what a client selects.
type view struct{ label, field string }

var views = []view{{}, {label: "app=a"}, {field: "spec.nodeName=n1"}}

// scopes are namespaces that registries select.
var scopes = [][]string{nil, {"default"}, {"other"}, {"default", "other"}}

// selects is the specification of the selectors.
func (v view) selects(raw json.RawMessage) bool {
	var p corev1.Pod
	if err := json.Unmarshal(raw, &p); err != nil {
		panic(err) // The member encoded it.
	}
	return (v.label == "" || p.Labels["app"] == "a") && (v.field == "" || p.Spec.NodeName == "n1")
}

func cutKey(key string) (string, string) {
	namespace, name, _ := strings.Cut(key, "/")
	return namespace, name
}

// contents are the clusters and versions of objects by namespace and name, such as c1:1234.
type contents map[string]string

// equal returns an error with the differences.
func equal(who string, got, want contents) error {
	if maps.Equal(got, want) {
		return nil
	}
	var differences []string
	for _, key := range slices.Sorted(maps.Keys(union(got, want))) {
		if got[key] != want[key] {
			differences = append(differences, fmt.Sprintf("%s: %q, want %q", key, got[key], want[key]))
		}
	}
	return fmt.Errorf("%s: %s", who, strings.Join(differences, "; "))
}

func union(a, b contents) contents {
	all := contents{} // a client that has listed nothing yet has nil
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// union is what clients have at last.
func (m *model) union(v view) contents {
	out := contents{}
	for i, member := range m.world.members {
		if m.world.joined[i] {
			m.oracle.add(out, i, member.Version(), m.world.scopes[i], v)
		}
	}
	return out
}

// oracle knows the state of the members at each version.
type oracle struct {
	members []*membertest.Member
	mutex   sync.Mutex
	// identities are those of each member so far.
	identities map[string][]string
}

func (o *oracle) know(member int, identity string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	cluster := fmt.Sprintf("c%d", member+1)
	o.identities[cluster] = append(o.identities[cluster], identity)
}

// add adds the objects of a member, and returns false if the member never had the version.
func (o *oracle) add(to contents, member int, at uint64, scope []string, v view) bool {
	state, ok := o.members[member].StateAt(podPath, at)
	for key, raw := range state {
		namespace, _ := cutKey(key)
		if v.selects(raw) && (len(scope) == 0 || slices.Contains(scope, namespace)) {
			var p corev1.Pod
			if err := json.Unmarshal(raw, &p); err != nil {
				panic(err) // The member encoded it.
			}
			to[key] = fmt.Sprintf("c%d:%s", member+1, p.ResourceVersion)
		}
	}
	return ok
}

// check compares what a client has with the state of the members at a global version.
func (o *oracle) check(text string, got contents, v view) error {
	want := contents{}
	if text != "" { // It is empty while no cluster was listed.
		vector, err := version.Parse(text)
		if err != nil {
			return err
		}
		if vector.Partial {
			return fmt.Errorf("version %s is that of an object", text)
		}
		for _, c := range vector.Components {
			var member int
			if _, err := fmt.Sscanf(c.Cluster, "c%d", &member); err != nil {
				return err
			}
			scope, err := o.scope(c)
			if err != nil {
				return err
			}
			if !o.add(want, member-1, c.Version, scope, v) {
				return fmt.Errorf("cluster %s never had version %d", c.Cluster, c.Version)
			}
		}
	}
	return equal("at version "+decodeVersion(text), got, want)
}

// scope finds the namespaces that the identity in a version stands for.
func (o *oracle) scope(c version.Component) ([]string, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, identity := range o.identities[c.Cluster] {
		for _, scope := range scopes {
			if version.Identity(identity, scope...) == c.Identity {
				return scope, nil
			}
		}
	}
	return nil, fmt.Errorf("version %+v is of no cluster", c)
}

func decodeVersion(text string) string {
	v, err := version.Parse(text)
	if err != nil {
		return text
	}
	return fmt.Sprint(v.Components)
}

// contentOf is the entry of a pod in contents. It checks that the version is that of the object of one cluster.
func contentOf(p *corev1.Pod) (string, version.Component, error) {
	v, err := version.Parse(p.ResourceVersion)
	if err != nil {
		return "", version.Component{}, err
	}
	c := v.Components[0]
	if !v.Partial || p.Annotations[cache.ClusterAnnotation] != c.Cluster {
		return "", c, fmt.Errorf("pod %s has version %+v and annotations %v", p.Name, v, p.Annotations)
	}
	return fmt.Sprintf("%s:%d", c.Cluster, c.Version), c, nil
}
