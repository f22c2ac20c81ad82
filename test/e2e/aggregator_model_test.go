package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
)

// TestAggregatorModel changes objects, clusters, connections and replicas at random. Whenever it ends all faults, each
// informer has the union of the clusters. ANYMESH_MODEL_STEPS and ANYMESH_MODEL_SEED repeat a run.
func TestAggregatorModel(t *testing.T) {
	steps := environment("ANYMESH_MODEL_STEPS", 100)
	seed := environment("ANYMESH_MODEL_SEED", uint64(time.Now().UnixNano()))
	t.Logf("ANYMESH_MODEL_STEPS=%d ANYMESH_MODEL_SEED=%d", steps, seed)
	m := newModel(t, seed)
	began := time.Now()
	for step := range steps {
		m.step(step)
		if step%25 == 24 || step == steps-1 {
			m.quiet()
		}
	}
	t.Logf("%d steps in %v: %v", steps, time.Since(began).Round(time.Second), m.count)
}

func environment(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// model is the state of the world.
type model struct {
	*replicated
	t         *testing.T
	ctx       context.Context
	random    *rand.Rand
	control   runtimeclient.Client
	followers []*follower
	// slow is the connection of further followers, which stop reading at times.
	slow *relay
	// left are the Clusters that were removed. excluded is a cluster that the registry leaves out.
	left     map[string]*clusterv1.Cluster
	excluded string
	// held are relays that pass no bytes on. down are replicas that were killed.
	held  map[*relay]bool
	down  map[*replica]bool
	log   []string
	count map[string]int
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{
		replicated: startReplicated(t), t: t, ctx: context.WithoutCancel(t.Context()), random: rand.New(rand.NewPCG(seed, 0)),
		left: map[string]*clusterv1.Cluster{}, held: map[*relay]bool{}, down: map[*replica]bool{}, count: map[string]int{},
	}
	if err := clusterv1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	var err error
	if m.control, err = runtimeclient.New(m.clusters.config[memberNames[0]], runtimeclient.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range memberNames {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: modelNamespace}}
		_, err := m.kube[name].CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		eventually(t, 20*time.Second, "service account of the namespace", func() error {
			_, err := m.kube[name].CoreV1().ServiceAccounts(modelNamespace).Get(t.Context(), "default", metav1.GetOptions{})
			return err
		})
	}
	if m.slow, err = newRelay(m.balancer.address()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.slow.close)
	slow := rest.CopyConfig(m.config)
	slow.Host = "https://" + m.slow.address()
	m.followers = append(follow(t, m.config), follow(t, slow)...)
	t.Cleanup(m.restore)
	return m
}

// restore makes the clusters as other tests expect them.
func (m *model) restore() {
	m.heal()
	for cluster := range m.left {
		m.leaveOrJoin(cluster)
	}
	m.excluded = ""
	m.register()
}

// step changes something.
func (m *model) step(step uint64) {
	cluster := memberNames[m.random.IntN(len(memberNames))]
	link := m.relays[cluster]
	action := m.random.IntN(1000)
	note := func(what string) {
		m.count[what]++
		m.log = append(m.log, fmt.Sprintf("%d: %s %s", step, what, cluster))
	}
	switch {
	case action < 480:
		note("write")
		m.write(cluster, m.random.IntN(100))
	case action < 660:
		note("delete")
		m.remove(cluster)
	case action < 700:
		note("burst")
		for n := range 40 {
			m.write(cluster, n)
		}
	case action < 740:
		note("connections close")
		link.reset()
	case action < 770:
		note("cut")
		link.cut()
	case action < 800:
		note("half-open")
		m.hold(link)
	case action < 840:
		note("heal")
		m.heal()
	case action < 870:
		note("leave or join")
		m.leaveOrJoin(cluster)
	case action < 890:
		note("registry")
		m.excluded = map[bool]string{true: "", false: cluster}[m.excluded != ""]
		m.register()
	case action < 930:
		note("move")
		m.balancer.move(m.replicas[m.random.IntN(2)].address)
	case action < 950:
		note("replica")
		m.restartReplica(m.replicas[m.random.IntN(2)])
	case action < 980:
		note("slow watcher")
		m.hold(m.slow)
	case action < 990 || cluster == memberNames[0]:
		note("compaction")
		m.compacts(cluster)
	default:
		note("member restarts")
		m.restartMember(cluster)
	}
	if m.random.IntN(3) == 0 {
		time.Sleep(time.Duration(m.random.IntN(40)) * time.Millisecond)
	}
}

// write creates or changes a pod that no scheduler and no kubelet knows. Some pods are large.
func (m *model) write(cluster string, value int) {
	m.t.Helper()
	pods := m.kube[cluster].CoreV1().Pods(modelNamespace)
	app := []string{"a", "a", "b"}[m.random.IntN(3)]
	text := strings.Repeat("x", []int{10, 10, 10, 60_000}[m.random.IntN(4)])
	name := m.podName(cluster)
	patch := fmt.Sprintf(`{"metadata":{"labels":{"app":%q},"annotations":{"value":"%d","text":%q}}}`, app, value, text)
	_, err := pods.Patch(m.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		pod := unscheduled(name)
		pod.Labels = map[string]string{"app": app}
		_, err = pods.Create(m.ctx, pod, metav1.CreateOptions{})
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) podName(cluster string) string {
	return fmt.Sprintf("p%d-%s", m.random.IntN(12), cluster)
}

func (m *model) remove(cluster string) {
	err := m.kube[cluster].CoreV1().Pods(modelNamespace).Delete(m.ctx, m.podName(cluster), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		m.t.Fatal(err)
	}
}

func (m *model) hold(r *relay) {
	if !m.held[r] {
		r.hold()
		m.held[r] = true
	}
}

// heal ends the faults of connections, and starts the replicas that were killed.
func (m *model) heal() {
	for r := range m.held {
		r.release()
	}
	clear(m.held)
	for _, r := range m.relays {
		r.heal()
	}
	for r := range m.down {
		if err := r.start(); err != nil {
			m.t.Error(err)
		}
	}
	clear(m.down)
}

// leaveOrJoin removes a member, or adds it again.
func (m *model) leaveOrJoin(cluster string) {
	if c, ok := m.left[cluster]; ok {
		delete(m.left, cluster)
		c.ResourceVersion, c.UID = "", ""
		if err := m.control.Create(m.ctx, c); err != nil {
			m.t.Fatal(err)
		}
		return
	}
	c := &clusterv1.Cluster{}
	if err := m.control.Get(m.ctx, runtimeclient.ObjectKey{Name: cluster}, c); err != nil {
		m.t.Fatal(err)
	}
	if err := m.control.Delete(m.ctx, c); err != nil {
		m.t.Fatal(err)
	}
	m.left[cluster] = c
}

// register makes the registry select all clusters but the excluded one.
func (m *model) register() {
	registry := strings.Replace(registryManifest, "targetCluster: {}", "targetCluster: {exclude: ["+m.excluded+"]}", 1)
	if err := m.storeRegistry(m.ctx, registry); err != nil {
		m.t.Fatal(err)
	}
}

// restartReplica kills a replica. Clients use the other one until it is started again.
func (m *model) restartReplica(r *replica) {
	if len(m.down) > 0 {
		return // one runs always
	}
	r.kill()
	m.down[r] = true
	other := m.replicas[1-slices.Index(m.replicas, r)]
	m.balancer.move(other.address)
}

// compacts removes the history of a cluster, so that watches cannot go back.
func (m *model) compacts(cluster string) {
	list, err := m.kube[cluster].CoreV1().Pods(modelNamespace).List(m.ctx, metav1.ListOptions{Limit: 1})
	if err == nil {
		err = m.compact(m.ctx, cluster, list.ResourceVersion)
	}
	if err != nil {
		m.t.Log("compaction: ", err) // two in a row at the same revision
	}
}

// restartMember restarts etcd, API server and controllers of a cluster, with the same data.
func (m *model) restartMember(cluster string) {
	for _, action := range []string{"kill", "start"} {
		if _, err := anymesh(m.ctx, "sandbox", "apiserver", action, "--name", m.name, "--cluster", cluster); err != nil {
			m.t.Fatal(err)
		}
	}
}

// quiet ends all faults, and waits until all informers have the union.
func (m *model) quiet() {
	m.t.Helper()
	m.heal()
	names := slices.DeleteFunc(slices.Clone(memberNames), func(name string) bool {
		return m.left[name] != nil || name == m.excluded
	})
	for _, f := range m.followers {
		f.equal(m.t, m.clusters, names, func() string { return strings.Join(m.log[max(0, len(m.log)-60):], "\n") })
	}
}
