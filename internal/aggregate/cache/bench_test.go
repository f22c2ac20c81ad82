package cache_test

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"testing"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
)

// largePod is a pod of about 6.2 kB with two containers and managedFields, most of which is in all pods.
func largePod(i int) membertest.Object {
	o := pod(fmt.Sprintf("web-%05d-%x", i, i*7919), fmt.Sprintf("node-%d", i%100))
	metadata := o["metadata"].(membertest.Object)
	metadata["uid"] = fmt.Sprintf("%08x-0000-4000-8000-%012x", i*31, i*17)
	container := func(name string) membertest.Object {
		var env []any
		for n := range 24 {
			env = append(env, membertest.Object{"name": fmt.Sprintf("VARIABLE_%d", n), "value": fmt.Sprintf("value-%d-of-%s", n, name)})
		}
		return membertest.Object{
			"name": name, "image": "registry.example.com/team/" + name + ":v1.2.3", "env": env,
			"resources":      membertest.Object{"limits": membertest.Object{"cpu": "1", "memory": "1Gi"}},
			"readinessProbe": membertest.Object{"httpGet": membertest.Object{"path": "/ready", "port": 8080}, "periodSeconds": 10},
			"volumeMounts":   []any{membertest.Object{"name": "config", "mountPath": "/etc/config", "readOnly": true}},
		}
	}
	o["spec"].(membertest.Object)["containers"] = []any{container("application"), container("sidecar")}
	ip := fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)
	var conditions []any
	fields := membertest.Object{".": membertest.Object{}}
	for _, c := range []string{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		time := fmt.Sprintf("2026-08-01T10:%02d:%02dZ", i/60%60, i%60)
		conditions = append(conditions, membertest.Object{"type": c, "status": "True", "lastTransitionTime": time})
		fields[fmt.Sprintf("k:{\"type\":%q}", c)] = membertest.Object{"f:lastTransitionTime": membertest.Object{}, "f:status": membertest.Object{}}
	}
	o["status"] = membertest.Object{
		"phase": "Running", "podIP": ip, "podIPs": []any{membertest.Object{"ip": ip}}, "conditions": conditions,
		"containerStatuses": []any{
			membertest.Object{"name": "application", "containerID": fmt.Sprintf("containerd://%064x", i), "ready": true},
			membertest.Object{"name": "sidecar", "containerID": fmt.Sprintf("containerd://%064x", i+1), "ready": true},
		},
	}
	spec := membertest.Object{}
	for n := range 32 {
		spec[fmt.Sprintf("f:fieldOfTheSpecification%d", n)] = membertest.Object{"f:nested": membertest.Object{}}
	}
	metadata["managedFields"] = []any{
		membertest.Object{"manager": "kube-controller-manager", "operation": "Update", "time": "2026-08-01T10:00:00Z", "fieldsV1": spec},
		membertest.Object{"manager": "kubelet", "operation": "Update", "subresource": "status", "fieldsV1": membertest.Object{
			"f:status": membertest.Object{"f:conditions": fields, "f:podIPs": membertest.Object{
				fmt.Sprintf("k:{\"ip\":%q}", ip): membertest.Object{"f:ip": membertest.Object{}},
			}},
		}},
	}
	return o
}

// BenchmarkList10000Pods reports the CPU time of a full list, and the live heap of a pod.
func BenchmarkList10000Pods(b *testing.B) {
	options := fast
	options.PageSize = 500
	members, size := loaded(b)
	before := heap()
	f := &fleet{Cache: cache.New(options), t: b, members: members}
	for i := range members {
		f.joined, f.identities = append(f.joined, true), append(f.identities, fmt.Sprint(i))
	}
	b.Cleanup(f.Close)
	f.configure()
	eventually(b, func() error {
		for _, s := range f.Status() {
			if s.Objects != 1000 {
				return fmt.Errorf("%+v", s)
			}
		}
		return nil
	})
	used := heap() - before
	for b.Loop() {
		l, err := f.List(b.Context(), pods, cache.ListOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if n, err := l.WriteTo(io.Discard); err != nil || n < 40_000_000 {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/list")
	b.ReportMetric(float64(used)/10000, "heap-B/pod")
	b.ReportMetric(float64(size), "json-B/pod")
}

// loaded returns ten members with 1000 pods each, and the size of a pod.
func loaded(b *testing.B) ([]*membertest.Member, int) {
	var members []*membertest.Member
	size := 0
	for i := range 10 {
		m := membertest.New()
		b.Cleanup(m.Close)
		for n := range 1000 {
			o := largePod(i*1000 + n)
			if n == 0 {
				text, _ := json.Marshal(o)
				size = len(text)
			}
			m.Put(podPath, o)
		}
		m.Compact()
		members = append(members, m)
	}
	return members, size
}

func heap() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
