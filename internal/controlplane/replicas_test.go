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

// isLeader reads the leader metric of a replica.
func (r *replica) isLeader() bool {
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

// Both replicas serve sidecars, and only the leader writes statuses. If the leader is partitioned, the other replica
// writes the missing statuses, and stays the leader.
func TestOnlyLeaderWritesStatus(t *testing.T) {
	t.Parallel()
	k := newPopulatedAPI(t, "front")
	var replicas [2]*replica
	var processes [2]*apiProcess
	var writes [2]atomic.Int32
	written := func(name string, by int) {
		t.Helper()
		replicas[by].eventually(name+" has a status", func() bool {
			return condition(k.getObject(t, workload(name))) == "True"
		})
		if writes[by].Swap(0) == 0 || writes[1-by].Load() != 0 {
			t.Errorf("%s was not written only by replica %d", name, by)
		}
	}
	for i := range replicas { // each has its own connection to the API server
		processes[i] = newAPIProcess(t, k)
		processes[i].inject(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/status") {
				writes[i].Add(1)
			}
			return false
		})
		processes[i].run()
		replicas[i] = startReplica(t, string(rune('a'+i)), processes[i].address)
		replicas[i].expectReady()
		replicas[0].eventually("the first replica leads", replicas[0].isLeader)
	}
	written("front", 0)
	k.applyObject(t, workload("second"))
	written("second", 0)

	processes[0].kill()
	k.applyObject(t, workload("third"))
	replicas[1].expectWorkloads("front_a", "second_a", "third_a")
	replicas[1].eventually("the second replica leads", replicas[1].isLeader)
	if replicas[0].isLeader() || replicas[0].health("/readyz") != nil || len(replicas[0].workloads()) != 2 {
		t.Errorf("partitioned replica: got leader %v, readiness error %v, %d workloads",
			replicas[0].isLeader(), replicas[0].health("/readyz"), len(replicas[0].workloads()))
	}
	written("third", 1)

	processes[0].run()
	replicas[0].expectWorkloads("front_a", "second_a", "third_a")
	k.applyObject(t, workload("fourth"))
	written("fourth", 1)
	if replicas[0].isLeader() || !replicas[1].isLeader() {
		t.Error("the first replica leads again")
	}
}
