package cache_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
)

// A client that keys objects by namespace and name loses that of another cluster with a DELETED event: the event that
// follows says that it exists.
func TestDeletionIsFollowedByTheObjectOfAnotherCluster(t *testing.T) {
	for name, c := range map[string]struct {
		labels  string
		options cache.WatchOptions
		want    []string
	}{
		"all":              {want: []string{"DELETED a of c2", "ADDED a of c1", "DELETED z of c2"}},
		"selected":         {labels: "app=a", want: []string{"DELETED a of c2", "ADDED a of c1"}},
		"other labels":     {labels: "only=c2", want: []string{"DELETED a of c2", "DELETED z of c2"}},
		"one cluster":      {options: cache.WatchOptions{Selection: cache.Selection{Clusters: []string{"c2"}}}, want: []string{"DELETED a of c2", "DELETED z of c2"}},
		"keyed by cluster": {options: cache.WatchOptions{ByCluster: true}, want: []string{"DELETED a of c2", "DELETED z of c2"}},
	} {
		for _, integers := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, integers %v", name, integers), func(t *testing.T) {
				options := fast
				options.Integers = integers
				f := newFleet(t, 2, options)
				f.members[0].Put(podPath, pod("a", "n1"))
				for _, name := range []string{"a", "z"} {
					o := pod(name, "n1")
					o["metadata"].(membertest.Object)["labels"].(membertest.Object)["only"] = "c2"
					f.members[1].Put(podPath, o)
				}
				eventually(t, func() error { return f.has(3) })
				l, err := f.List(t.Context(), pods, cache.ListOptions{
					Selection: cache.Selection{Clusters: c.options.Clusters},
				})
				if err != nil {
					t.Fatal(err)
				}
				o := c.options
				o.ResourceVersion = l.ResourceVersion
				if o.Labels, err = labels.Parse(c.labels); err != nil {
					t.Fatal(err)
				}
				next := f.follow(o)
				f.members[1].Delete(podPath, "default", "a")
				f.members[1].Delete(podPath, "default", "z")
				var got []string
				for range c.want {
					text, e := next()
					got = append(got, text+" of "+e.Object.Cluster())
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		}
	}
}

// has returns an error unless the cache has a number of objects.
func (f *fleet) has(n int) error {
	l, err := f.List(f.t.Context(), pods, cache.ListOptions{})
	if err != nil {
		return err
	}
	got := 0
	for range l.All() {
		got++
	}
	if got != n {
		return fmt.Errorf("the cache has %d objects, want %d", got, n)
	}
	return nil
}

// A client that resumes after each event, with integers, gets all of them; a write with the version of an event is for
// the object of the event.
func TestResumeBetweenDeletionAndTheOtherObject(t *testing.T) {
	options := fast
	options.Integers = true
	f := newFleet(t, 2, options)
	f.members[0].Put(podPath, pod("a", "n1"))
	f.members[1].Put(podPath, pod("a", "n1"))
	eventually(t, func() error { return f.has(2) })
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next := f.follow(cache.WatchOptions{ResourceVersion: l.ResourceVersion})
	f.members[1].Delete(podPath, "default", "a")
	_, deleted := next()
	again := f.follow(cache.WatchOptions{ResourceVersion: deleted.Object.ResourceVersion()})
	if text, _ := again(); text != "DELETED a" {
		t.Errorf("after the deletion: %s", text)
	}
	text, added := again()
	if text != "ADDED a" || added.Object.Cluster() != "c1" {
		t.Errorf("then %s of %s", text, added.Object.Cluster())
	}
	member, err := f.MemberVersion(pods, "c1", "default", "a", added.Object.ResourceVersion())
	if want := fmt.Sprint(added.Object.MemberVersion()); err != nil || member != want {
		t.Errorf("a write with the version of the event has %s, %v; want %s", member, err, want)
	}
	f.members[0].Put(podPath, pod("a", "n2"))
	for range 2 { // that of the first watch, then that of the change
		_, _ = next()
	}
	if _, err := f.MemberVersion(pods, "c1", "default", "a", added.Object.ResourceVersion()); err == nil {
		t.Error("a write with the version from before the change is accepted")
	}
}

// After any sequence of changes in three clusters with equal names, the store of each informer has the keys of the
// union, and for each an object that exists.
func TestInformersHaveObjectsOfEqualNames(t *testing.T) {
	for _, integers := range []bool{false, true} {
		t.Run(fmt.Sprintf("integers %v", integers), func(t *testing.T) {
			t.Parallel()
			seed := environment("ANYMESH_MODEL_SEED", uint64(time.Now().UnixNano()))
			t.Logf("ANYMESH_MODEL_SEED=%d", seed)
			random := rand.New(rand.NewPCG(seed, 1))
			options := fast
			options.WindowEvents, options.Integers = 40, integers
			f := newFleet(t, 3, options)
			front := newFront(t, f)
			var informers []informer
			for _, v := range views[:2] {
				informers = append(informers, startInformer(t, front.client(), v, true), startInformer(t, front.client(), v, false))
			}
			for step := range 200 {
				changeEqualNames(f, random)
				if step%40 != 39 {
					continue
				}
				for _, i := range informers {
					eventually(t, func() error { return f.holds(i, integers) })
				}
			}
		})
	}
}

// changeEqualNames creates, changes or deletes a pod, or ends watches.
func changeEqualNames(f *fleet, random *rand.Rand) {
	m := f.members[random.IntN(len(f.members))]
	name := fmt.Sprintf("a%d", random.IntN(3))
	switch action := random.IntN(20); {
	case action < 9:
		o := pod(name, fmt.Sprint(action))
		if random.IntN(4) == 0 {
			o["metadata"].(membertest.Object)["labels"] = membertest.Object{"app": "other"}
		}
		m.Put(podPath, o)
	case action < 18:
		m.Delete(podPath, "default", name)
	case action < 19:
		m.CloseWatches()
	default:
		m.Compact()
		m.CloseWatches()
	}
}

// holds returns an error unless an informer has each key of the members, with the current state of one of them.
func (f *fleet) holds(i informer, integers bool) error {
	want := map[string][]string{}
	for n, m := range f.members {
		state, _ := m.StateAt(podPath, m.Version())
		for key, raw := range state {
			if i.view.selects(raw) {
				want[key] = append(want[key], fmt.Sprintf("c%d:%s", n+1, m.Objects(podPath)[key]))
			}
		}
	}
	got := map[string]string{}
	for _, o := range i.store.List() {
		p := o.(*corev1.Pod)
		cluster := p.Annotations[cache.ClusterAnnotation]
		version := p.ResourceVersion
		if integers {
			var err error
			if version, err = f.MemberVersion(pods, cluster, p.Namespace, p.Name, version); err != nil {
				return err
			}
			got[p.Namespace+"/"+p.Name] = cluster + ":" + version
			continue
		}
		text, _, err := contentOf(p)
		if err != nil {
			return err
		}
		got[p.Namespace+"/"+p.Name] = text
	}
	for key, text := range got {
		if !slices.Contains(want[key], text) {
			return fmt.Errorf("informer %s has %s %s, the members %v", i.name, key, text, want[key])
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("informer %s has %v, the members %v", i.name, got, want)
	}
	return nil
}
