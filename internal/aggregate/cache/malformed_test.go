package cache_test

import (
	"fmt"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
)

func malformedPod(name string) membertest.Object {
	o := pod(name, "broken")
	o["metadata"].(membertest.Object)["labels"] = membertest.Object{"app": 5}
	return o
}

// states waits for the nodes of the pods in the cache, and for the number of malformed objects.
func (f *fleet) states(want string, malformed int) {
	f.t.Helper()
	eventually(f.t, func() error {
		l, err := f.List(f.t.Context(), pods, cache.ListOptions{})
		if err != nil {
			return err
		}
		var names []string
		for o := range l.All() {
			node := "n?"
			for _, n := range []string{"n1", "n2"} {
				if strings.Contains(string(o.AppendJSON(nil)), `"`+n+`"`) {
					node = n
				}
			}
			names = append(names, o.Name()+"@"+node)
		}
		s := f.Status()[0]
		if got := strings.Join(names, " "); got != want || s.Malformed != malformed || !s.Connected {
			return fmt.Errorf("%s; %+v; want %s", got, s, want)
		}
		return nil
	})
}

func TestMalformedObjectOfAListHurtsOnlyItself(t *testing.T) {
	f := newFleet(t, 1, fast)
	m := f.members[0]
	m.Set(membertest.Faults{Unreachable: true})
	m.Put(podPath, pod("a", "n1"))
	m.Put(podPath, malformedPod("b"))
	m.Put(podPath, pod("c", "n1"))
	m.Compact()
	m.Set(membertest.Faults{})
	f.states("a@n1 c@n1", 1)
	if s := f.Status()[0]; !s.Synced || !strings.Contains(s.MalformedObject, "default/b: metadata.labels") {
		t.Errorf("%+v", s)
	}
	m.Put(podPath, pod("b", "n2"))
	f.states("a@n1 b@n2 c@n1", 0)
}

func TestMalformedEventKeepsTheLastKnownObject(t *testing.T) {
	f := newFleet(t, 1, fast)
	m := f.members[0]
	m.Put(podPath, pod("a", "n1"))
	f.states("a@n1", 0)
	m.Put(podPath, malformedPod("a"))
	m.Put(podPath, pod("b", "n2"))
	f.states("a@n1 b@n2", 1)
	m.Compact()
	m.CloseWatches()
	m.Put(podPath, pod("b", "n1"))
	f.states("a@n1 b@n1", 1)
	m.Delete(podPath, "default", "a") // The event has the malformed object.
	f.states("b@n1", 0)
}
