package engine

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	cachetest "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/sidecar"
)

func TestChangesMesh(t *testing.T) {
	base := &api.VirtualNode{ObjectMeta: metav1.ObjectMeta{
		Name: "n", UID: "u", Generation: 3, ResourceVersion: "7", Labels: map[string]string{"a": "b"},
		Annotations: map[string]string{"c": "d"},
	}}
	for _, c := range []struct {
		name   string
		change func(*api.VirtualNode)
		want   bool
	}{
		{"no change", func(*api.VirtualNode) {}, false},
		{"status", func(o *api.VirtualNode) { o.ResourceVersion = "8"; o.Status.VirtualNodeARN = new("arn") }, false},
		{"managed fields", func(o *api.VirtualNode) { o.ResourceVersion = "8"; o.ManagedFields = []metav1.ManagedFieldsEntry{{}} }, false},
		{"spec", func(o *api.VirtualNode) { o.Generation = 4 }, true},
		{"replaced object", func(o *api.VirtualNode) { o.UID = "v" }, true},
		{"deletion timestamp", func(o *api.VirtualNode) { o.DeletionTimestamp = new(metav1.Unix(1, 0)) }, true},
		{"label", func(o *api.VirtualNode) { o.Labels = map[string]string{"a": "c"} }, true},
		{"annotation", func(o *api.VirtualNode) { o.Annotations = nil }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := base.DeepCopy()
			c.change(now)
			if got := changesMesh(base, now); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// Namespaces have no metadata.generation: any other resourceVersion is a change.
func TestChangesMeshWithoutGeneration(t *testing.T) {
	old := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "1"}}
	if changesMesh(old, old.DeepCopy()) {
		t.Error("got true for an equal resourceVersion")
	}
	now := old.DeepCopy()
	now.ResourceVersion = "2"
	if !changesMesh(old, now) {
		t.Error("got false for another resourceVersion")
	}
}

// An update of a pod is an event only if the part that the engine holds changes.
func TestPodChanged(t *testing.T) {
	base := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", ResourceVersion: "1", Labels: map[string]string{"app": "a"}},
		Spec:       corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "gate"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}},
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: "gate", Status: corev1.ConditionFalse},
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
			},
		},
	}
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		want   bool
	}{
		{"heartbeat", func(p *corev1.Pod) { p.ResourceVersion = "2"; p.Status.Conditions[0].LastProbeTime = metav1.Unix(1, 0) }, false},
		{"restart", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", RestartCount: 1}}
		}, false},
		{"node", func(p *corev1.Pod) { p.Spec.NodeName, p.Status.HostIP = "n1", "10.1.0.1" }, false},
		{"metadata", func(p *corev1.Pod) {
			p.Generation, p.Finalizers, p.OwnerReferences = 2, []string{"f"}, []metav1.OwnerReference{{UID: "o"}}
			p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
		}, false},
		{"condition without a gate", func(p *corev1.Pod) { p.Status.Conditions[2].Status = corev1.ConditionFalse }, false},
		{"condition of a gate", func(p *corev1.Pod) { p.Status.Conditions[1].Status = corev1.ConditionTrue }, true},
		{"no condition of a gate", func(p *corev1.Pod) { p.Status.Conditions = p.Status.Conditions[:1] }, true},
		{"from Pending to Running", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, false},
		{"phase", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, true},
		{"labels", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "b"} }, true},
		{"sidecarClass annotation", func(p *corev1.Pod) { p.Annotations = map[string]string{sidecar.ClassAnnotation: "b"} }, true},
		{"DNS annotation", func(p *corev1.Pod) { p.Annotations = map[string]string{sidecar.DNSAnnotation: "All"} }, true},
		{"bypass annotation", func(p *corev1.Pod) { p.Annotations = map[string]string{sidecar.BypassAnnotation: "b"} }, true},
		{"other annotation", func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }, false},
		{"readiness", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, true},
		{"no readiness condition", func(p *corev1.Pod) { p.Status.Conditions = nil }, true},
		{"second address", func(p *corev1.Pod) { p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: "fd00::1"}) }, true},
		{"second address of a family", func(p *corev1.Pod) { p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: "10.0.0.2"}) }, false},
		{"podIP without podIPs", func(p *corev1.Pod) { p.Status.PodIP, p.Status.PodIPs = "10.0.0.2", nil }, true},
		{"deletion timestamp", func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Unix(1, 0)) }, true},
		{"replaced pod", func(p *corev1.Pod) { p.UID = "v" }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := base.DeepCopy()
			c.change(now)
			if got := changesMesh(transform(base).(*Pod), transform(now).(*Pod)); got != c.want {
				t.Errorf("got %v", got)
			}
			f := New(discardLog, dialects, Settings{})
			handler(f).OnUpdate(transform(base), transform(now))
			if got := len(f.pending) == 1; got != c.want {
				t.Errorf("the engine has %d events", len(f.pending))
			}
		})
	}
}

// An informer holds trimmed pods, and passes on their changes.
func TestInformerOfTrimmedPods(t *testing.T) {
	source := cachetest.NewFakeControllerSource()
	informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := informer.SetTransform(TrimPod); err != nil {
		t.Fatal(err)
	}
	f := New(discardLog, dialects, Settings{})
	if _, err := informer.AddEventHandler(handler(f)); err != nil {
		t.Fatal(err)
	}
	name := types.NamespacedName{Namespace: "a", Name: "p"}
	await := func(what string, holds func(p *Pod, there bool) bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
			f.Sync()
			if holds(f.Pod(name)) {
				return
			}
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", UID: "u"}}
	source.Add(p)
	go informer.RunWithContext(t.Context())
	await("no pod", func(_ *Pod, there bool) bool { return there })
	if held, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, "a"); err != nil || len(held) != 1 {
		t.Errorf("got %v, error %v", held, err)
	} else if _, is := held[0].(*Pod); !is {
		t.Errorf("the informer holds a %T", held[0])
	}
	p = p.DeepCopy()
	p.Status.PodIP = "10.0.0.1"
	source.Modify(p)
	await("no address", func(p *Pod, _ bool) bool { return len(p.Addresses()) == 1 })
	source.Delete(p)
	await("not deleted", func(_ *Pod, there bool) bool { return !there })
}

// Informers may send events without an object.
func TestEventsWithoutObjectAreIgnored(t *testing.T) {
	f := New(discardLog, dialects, Settings{})
	h := handler(f)
	h.OnAdd("text", false)
	h.OnUpdate(nil, nil)
	h.OnDelete(nil)
	h.OnUpdate(nil, client.Object(pod("a", "u")))
	if len(f.pending) != 1 {
		t.Errorf("got %d pending events, want 1", len(f.pending))
	}
}
