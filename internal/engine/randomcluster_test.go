package engine

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

var (
	dialects   = []dialect.Dialect{appmesh.Dialect{}}
	discardLog = slog.New(slog.DiscardHandler)
)

// cluster simulates an API server with random events, and an informer with its transforms. It has few names, so that
// events affect the same objects.
type cluster struct {
	random   *rand.Rand
	objects  map[id]client.Object
	informer toolscache.ResourceEventHandler
	clock    int
}

func newCluster(seed uint64, f *Engine) *cluster {
	return &cluster{
		random: rand.New(rand.NewPCG(seed, 1)), objects: map[id]client.Object{}, informer: transformed{handler(f)},
	}
}

func (w *cluster) chance(percent int) bool { return w.random.IntN(100) < percent }

func (w *cluster) name(prefix string, n int) string { return prefix + strconv.Itoa(w.random.IntN(n)) }

// randomEvent creates, updates or deletes a random object and calls the event handler like an informer.
func (w *cluster) randomEvent() {
	now := w.randomObject()
	id := id{reflect.TypeOf(now), client.ObjectKeyFromObject(now)}
	old, exists := w.objects[id]
	w.clock++
	now.SetResourceVersion(strconv.Itoa(w.clock))
	switch {
	case exists && w.chance(25):
		delete(w.objects, id)
		var last any = old
		if w.chance(20) { // the informer missed the deletion
			last = toolscache.DeletedFinalStateUnknown{Obj: old}
		}
		w.informer.OnDelete(last)
	case exists:
		now.SetUID(old.GetUID())
		if w.chance(10) {
			// the informer missed a deletion and creation
			now.SetUID(types.UID(fmt.Sprintf("%s-%d", id.name.Name, w.clock)))
		}
		now.SetCreationTimestamp(old.GetCreationTimestamp())
		if old.GetGeneration() > 0 {
			now.SetGeneration(old.GetGeneration() + 1)
		}
		if w.chance(20) { // a status write
			same := old.DeepCopyObject().(client.Object)
			same.SetResourceVersion(now.GetResourceVersion())
			now = same
		}
		w.objects[id] = now
		w.informer.OnUpdate(old, now)
	default:
		now.SetUID(types.UID(id.name.Name))
		now.SetCreationTimestamp(metav1.NewTime(time.Unix(int64(w.random.IntN(5)), 0)))
		w.objects[id] = now
		w.informer.OnAdd(now, false)
	}
}

// list returns the objects in random order.
func (w *cluster) list() []client.Object {
	out := slices.Collect(maps.Values(w.objects))
	w.random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// randomObject returns a random object, which is valid in most cases.
func (w *cluster) randomObject() client.Object {
	meta := metav1.ObjectMeta{Namespace: w.name("ns", 2), Generation: 1}
	switch w.random.IntN(13) {
	case 0:
		return &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: meta.Namespace, Labels: map[string]string{"mesh": w.name("m", 2)}},
		}
	case 1:
		mesh := &api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: w.name("m", 2), Generation: 1}}
		mesh.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"mesh": mesh.Name}}
		if w.chance(30) {
			mesh.Spec.EgressFilter = &api.EgressFilter{Type: api.EgressAllowAll}
		}
		return mesh
	case 2, 3:
		return w.pod(meta.Namespace)
	case 4, 5:
		return w.node(meta)
	case 6:
		return w.gateway(meta)
	case 7, 8:
		return w.gatewayRoute(meta)
	case 11:
		return w.group(meta)
	case 12:
		return w.service(meta)
	case 9:
		meta.Name = w.name("vs", 3)
		vs := &api.VirtualService{ObjectMeta: meta}
		if w.chance(50) {
			vs.Spec.Provider = &api.VirtualServiceProvider{
				VirtualNode: &api.VirtualNodeServiceProvider{
					VirtualNodeRef: &api.VirtualNodeReference{Name: w.name("vn", 3)},
				},
			}
		} else {
			vs.Spec.Provider = &api.VirtualServiceProvider{
				VirtualRouter: &api.VirtualRouterServiceProvider{
					VirtualRouterRef: &api.VirtualRouterReference{Name: w.name("vr", 2)},
				},
			}
		}
		return vs
	}
	return w.router(meta)
}

func (w *cluster) pod(namespace string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: w.name("pod", 4), Labels: map[string]string{"app": w.name("vn", 3)},
		},
	}
	pod.Status.Phase = []corev1.PodPhase{
		corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodSucceeded,
	}[w.random.IntN(4)]
	if w.chance(80) {
		pod.Status.PodIP = w.name("10.0.0.", 4)
	}
	if w.chance(60) && pod.Status.PodIP != "" {
		pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
		if w.chance(30) {
			pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: w.name("fd00::", 3)})
		}
	}
	if w.chance(70) {
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: []corev1.ConditionStatus{"True", "False"}[w.random.IntN(2)]},
		}
	}
	pod.Annotations = map[string]string{}
	for _, a := range []struct {
		name   string
		values []string
	}{
		{sidecar.ClassAnnotation, []string{"class0", "class1"}},
		{sidecar.DNSAnnotation, []string{string(model.DNSAll), string(model.DNSOff)}},
		{sidecar.BypassAnnotation, []string{"container a runs as user 1337", "the pod ignores port 80"}},
	} {
		if w.chance(40) {
			pod.Annotations[a.name] = a.values[w.random.IntN(2)]
		}
	}
	if w.chance(30) {
		pod.Labels[sidecar.UUIDLabel] = w.name("uuid", 2)
	}
	if w.chance(60) {
		pod.Labels["tier"] = w.name("t", 3)
	}
	if w.chance(50) {
		pod.Spec.ServiceAccountName = w.name("account", 2)
	}
	if w.chance(10) {
		pod.DeletionTimestamp = new(metav1.Unix(9, 0))
	}
	return pod
}

func (w *cluster) node(meta metav1.ObjectMeta) *api.VirtualNode {
	meta.Name = w.name("vn", 3)
	vn := &api.VirtualNode{ObjectMeta: meta}
	if w.chance(15) {
		vn.Spec.AWSName = new("shared") // duplicate name
	}
	vn.Spec.PodSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": w.name("vn", 3)}}
	if w.chance(40) {
		vn.Spec.PodSelector.MatchExpressions = []metav1.LabelSelectorRequirement{w.tiers()}
		if w.chance(30) {
			vn.Spec.PodSelector.MatchLabels = nil
		}
	}
	if w.chance(80) {
		vn.Spec.Listeners = []api.Listener{
			{PortMapping: api.PortMapping{Port: api.PortNumber(80 + w.random.IntN(2)), Protocol: api.ProtocolHTTP}},
		}
		vn.Spec.ServiceDiscovery = &api.ServiceDiscovery{
			DNS: &api.DNSServiceDiscovery{Hostname: meta.Name + ".example"},
		}
		w.limit(&vn.Spec.Listeners[0])
	}
	for range w.random.IntN(3) {
		vn.Spec.Backends = append(vn.Spec.Backends, api.Backend{
			VirtualService: api.VirtualServiceBackend{
				VirtualServiceRef: &api.VirtualServiceReference{Name: w.name("vs", 3)},
			},
		})
	}
	for range w.random.IntN(3) {
		vn.Spec.BackendGroups = append(vn.Spec.BackendGroups, api.BackendGroupReference{
			Name: w.name("bg", 2), Namespace: new(w.name("ns", 2)),
		})
	}
	return vn
}

// tiers returns a requirement that some pods meet.
func (w *cluster) tiers() metav1.LabelSelectorRequirement {
	r := metav1.LabelSelectorRequirement{Key: "tier", Operator: []metav1.LabelSelectorOperator{
		metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist, metav1.LabelSelectorOpIn,
		metav1.LabelSelectorOpNotIn,
	}[w.random.IntN(4)]}
	if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
		r.Values = []string{w.name("t", 3), w.name("t", 3)}
	}
	return r
}

// limit adds a health check and a connection pool to some listeners.
func (w *cluster) limit(l *api.Listener) {
	if w.chance(40) {
		l.HealthCheck = &api.HealthCheck{
			Protocol: api.ProtocolHTTP, IntervalMillis: 5000 + w.random.Int64N(2), TimeoutMillis: 2000, HealthyThreshold: 2,
			UnhealthyThreshold: 1 + w.random.Int64N(3), // 1 is invalid
		}
	}
	if w.chance(40) {
		l.ConnectionPool = &api.VirtualNodeConnectionPool{
			HTTP: &api.HTTPConnectionPool{MaxConnections: 1 + w.random.Int64N(2)},
		}
	}
}

func (w *cluster) group(meta metav1.ObjectMeta) *api.BackendGroup {
	meta.Name = w.name("bg", 2)
	bg := &api.BackendGroup{ObjectMeta: meta}
	for range w.random.IntN(4) {
		ref := api.VirtualServiceReference{Name: w.name("vs", 3), Namespace: new(w.name("ns", 2))}
		if w.chance(40) {
			ref.Name = "*"
		}
		bg.Spec.VirtualServices = append(bg.Spec.VirtualServices, ref)
	}
	if w.chance(10) {
		bg.DeletionTimestamp = new(metav1.Unix(9, 0))
	}
	return bg
}

func (w *cluster) router(meta metav1.ObjectMeta) *api.VirtualRouter {
	meta.Name = w.name("vr", 2)
	vr := &api.VirtualRouter{ObjectMeta: meta}
	vr.Spec.Listeners = []api.VirtualRouterListener{
		{PortMapping: api.PortMapping{Port: 80, Protocol: api.ProtocolHTTP}},
	}
	for i := range w.random.IntN(4) {
		r := api.Route{Name: "r" + strconv.Itoa(i), HTTPRoute: &api.HTTPRoute{}}
		r.HTTPRoute.Match.Prefix = new("/" + w.name("p", 3))
		for range 1 + w.random.IntN(2) {
			r.HTTPRoute.Action.WeightedTargets = append(r.HTTPRoute.Action.WeightedTargets, api.WeightedTarget{
				VirtualNodeRef: &api.VirtualNodeReference{Name: w.name("vn", 3)}, Weight: int64(w.random.IntN(3)),
			})
		}
		vr.Spec.Routes = append(vr.Spec.Routes, r)
	}
	if w.chance(50) {
		slices.Reverse(vr.Spec.Routes) // another order
	}
	return vr
}
