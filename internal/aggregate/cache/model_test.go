package cache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/internal/aggregate/version"
)

// informer is the reflector and store of a client-go informer, with a short backoff.
type informer struct {
	name string
	// selector is the label selector.
	selector string
	store    clientcache.Store
}

// startInformers starts informers with lists and with streamed initial events, for all pods and for a selector.
func startInformers(t *testing.T, server string) []informer {
	client := kubernetes.NewForConfigOrDie(&rest.Config{Host: server, QPS: -1, Transport: http.DefaultTransport})
	var out []informer
	for _, streaming := range []bool{true, false} {
		for _, selector := range []string{"", "app=a"} {
			lw := &clientcache.ListWatch{
				ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
					o.LabelSelector = selector
					return client.CoreV1().Pods("").List(ctx, o)
				},
				WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
					o.LabelSelector = selector
					return client.CoreV1().Pods("").Watch(ctx, o)
				},
			}
			var source clientcache.ListerWatcher = lw
			if !streaming {
				source = noStreaming{lw}
			}
			i := informer{fmt.Sprintf("streaming=%v selector=%q", streaming, selector), selector,
				clientcache.NewStore(clientcache.MetaNamespaceKeyFunc)}
			reflector := clientcache.NewReflectorWithOptions(source, &corev1.Pod{}, i.store, clientcache.ReflectorOptions{
				Backoff: &wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1, Cap: time.Second, Steps: 10},
			})
			go reflector.RunWithContext(t.Context())
			out = append(out, i)
		}
	}
	return out
}

// noStreaming makes an informer list.
type noStreaming struct{ *clientcache.ListWatch }

func (noStreaming) IsWatchListSemanticsUnSupported() bool { return true }

// After any sequence of changes and faults, the store of each informer equals the union of the members. The number of
// steps is ANYMESH_MODEL_STEPS.
func TestInformersEqualTheUnion(t *testing.T) {
	steps := 150
	if s, err := strconv.Atoi(os.Getenv("ANYMESH_MODEL_STEPS")); err == nil {
		steps = s
	}
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("ANYMESH_MODEL_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("seed %d", seed)
	options := fast
	options.WindowEvents = 40 // Small, so that watches are late.
	options.WaitTimeout = 1500 * time.Millisecond
	m := model{fleet: newFleet(t, 3, options), random: rand.New(rand.NewPCG(seed, 0))}
	informers := startInformers(t, m.serve().URL)
	for step := range steps {
		m.step()
		if step%25 == 24 || step == steps-1 {
			m.quiet(informers)
		}
	}
}

type model struct {
	*fleet
	random *rand.Rand
	log    []string
}

// step changes something. Pods of different clusters have different names.
func (m *model) step() {
	i := m.random.IntN(len(m.members))
	member := m.members[i]
	name := fmt.Sprintf("%c%d-c%d", 'a'+rune(m.random.IntN(2)), m.random.IntN(12), i+1)
	action := m.random.IntN(100)
	m.log = append(m.log, fmt.Sprintf("%d c%d %s", action, i+1, name))
	switch {
	case action < 45:
		o := pod(name, fmt.Sprint(action))
		if m.random.IntN(4) == 0 {
			o["metadata"].(membertest.Object)["labels"] = membertest.Object{"app": "other"}
		}
		member.Put(podPath, o)
	case action < 65:
		member.Delete(podPath, "default", name)
	case action < 70:
		member.Advance()
	case action < 74:
		member.CloseWatches()
	case action < 78:
		member.Compact()
	case action < 80:
		member.Compact()
		member.CloseWatches()
	case action < 84:
		member.Set(membertest.Faults{Unreachable: true})
	case action < 87:
		member.Set(membertest.Faults{Repeat: true})
	case action < 90:
		member.Set(membertest.Faults{NoBookmarks: true, Delay: 5 * time.Millisecond})
	case action < 93:
		member.Set(membertest.Faults{})
	case action < 96:
		m.joined[i] = !m.joined[i]
		m.configure()
	case action < 98:
		m.identities[i] += "x"
		m.configure()
	case action < 99:
		member.Restore(500)
	default:
		for n := range 60 { // More than the window.
			member.Put(podPath, pod(fmt.Sprintf("%c%d-c%d", 'a'+rune(n%2), n%12, i+1), "burst"))
		}
	}
	if m.random.IntN(3) == 0 {
		time.Sleep(time.Duration(m.random.IntN(20)) * time.Millisecond)
	}
}

// quiet ends the faults, and waits until the cache and all informers have the union.
func (m *model) quiet(informers []informer) {
	m.t.Helper()
	for _, member := range m.members {
		member.Set(membertest.Faults{})
	}
	m.synced()
	for _, i := range informers {
		end := time.Now().Add(30 * time.Second)
		for {
			got, want := storeOf(m.t, i), map[string]string{}
			for key, v := range m.labeled() {
				if i.selector == "" || strings.HasSuffix(v, "=a") {
					want[key] = strings.Split(v, " ")[0]
				}
			}
			if fmt.Sprint(got) == fmt.Sprint(want) {
				break
			}
			if time.Now().After(end) {
				m.t.Fatalf("informer %s has\n%v, members have\n%v\nafter %v", i.name, got, want, m.log[max(len(m.log)-60, 0):])
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func storeOf(t testing.TB, i informer) map[string]string {
	out := map[string]string{}
	for _, o := range i.store.List() {
		p := o.(*corev1.Pod)
		v, err := version.Parse(p.ResourceVersion)
		if err != nil {
			t.Fatal(err)
		}
		c := v.Components[0]
		if !v.Partial || p.Annotations[cache.ClusterAnnotation] != c.Cluster {
			t.Fatalf("pod %s has version %+v and annotations %v", p.Name, v, p.Annotations)
		}
		out[p.Namespace+"/"+p.Name] = fmt.Sprintf("%s:%d", c.Cluster, c.Version)
	}
	return out
}

// labeled has the version and the label of each object.
func (m *model) labeled() map[string]string {
	list, err := m.List(m.t.Context(), pods, cache.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	labels := map[string]string{}
	for o := range list.All() {
		var p corev1.Pod
		if err := json.Unmarshal(o.AppendJSON(nil), &p); err != nil {
			m.t.Fatal(err)
		}
		labels[o.Namespace()+"/"+o.Name()] = p.Labels["app"]
	}
	out := map[string]string{}
	for key, v := range m.union() {
		out[key] = v + " app=" + labels[key]
	}
	return out
}
