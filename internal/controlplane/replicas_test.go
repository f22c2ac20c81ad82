package controlplane

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

func init() {
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())
}

// leads tells whether a replica says that it writes statuses.
func (r *replica) leads() bool {
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "anymesh_leader" {
			return f.GetMetric()[0].GetGauge().GetValue() == 1
		}
	}
	return false
}

// Of two replicas, both serve and one writes. When it is cut off, the other writes what has not been written, and goes
// on when the first is back.
func TestOnlyLeaderWritesStatus(t *testing.T) {
	t.Parallel()
	k := newPopulatedAPI(t, "front")
	var replicas [2]*replica
	var processes [2]*apiProcess
	var writes [2]atomic.Int32
	written := func(name string, by int) {
		t.Helper()
		replicas[by].eventually(name+" has a status", func() bool {
			return condition(k.read(t, workload(name))) == "True"
		})
		if writes[by].Swap(0) == 0 || writes[1-by].Load() != 0 {
			t.Errorf("%s was not written by replica %d alone", name, by)
		}
	}
	for i := range replicas { // each has its own way to the API server
		processes[i] = newAPIProcess(t, k)
		processes[i].inject(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/status") {
				writes[i].Add(1)
			}
			return false
		})
		processes[i].run()
		replicas[i] = startReplica(t, string(rune('a'+i)), processes[i].address)
		replicas[i].ready()
		replicas[0].eventually("the first leads", replicas[0].leads)
	}
	written("front", 0)
	k.put(t, workload("second"))
	written("second", 0)

	processes[0].kill()
	k.put(t, workload("third"))
	replicas[1].has("front_a", "second_a", "third_a")
	replicas[1].eventually("the second leads", replicas[1].leads)
	if replicas[0].leads() || replicas[0].health("/readyz") != nil || len(replicas[0].workloads()) != 2 {
		t.Errorf("the replica that is cut off leads: %v, is not ready: %v, or has forgotten what it knew",
			replicas[0].leads(), replicas[0].health("/readyz"))
	}
	written("third", 1)

	processes[0].run()
	replicas[0].has("front_a", "second_a", "third_a")
	k.put(t, workload("fourth"))
	written("fourth", 1)
	if replicas[0].leads() || !replicas[1].leads() {
		t.Error("the first took the work back")
	}
}
