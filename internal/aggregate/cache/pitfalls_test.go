package cache_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/internal/aggregate/version"
)

func twoPods(t *testing.T) *fleet {
	f := newFleet(t, 2, fast)
	f.members[0].Put(podPath, pod("a", "n1"))
	f.members[1].Put(podPath, pod("b", "n2"))
	f.synced()
	return f
}

func TestInitialEventsEndWithOneBookmarkOfAllClusters(t *testing.T) {
	f := twoPods(t)
	yes := true
	next := f.follow(cache.WatchOptions{
		SendInitialEvents: &yes, ResourceVersionMatch: "NotOlderThan", AllowWatchBookmarks: true,
	})
	for _, want := range []string{"ADDED a", "ADDED b", "BOOKMARK"} {
		got, e := next()
		if got != want || e.InitialEventsEnd != (got == "BOOKMARK") {
			t.Fatalf("%s, end %v; want %s", got, e.InitialEventsEnd, want)
		}
		if v, _ := version.Parse(e.ResourceVersion); got == "BOOKMARK" && (len(v.Components) != 2 || v.Partial) {
			t.Errorf("bookmark has %+v", v)
		}
	}
	f.members[0].Put(podPath, pod("c", "n1"))
	for _, want := range []string{"ADDED c", "BOOKMARK"} {
		if got, e := next(); got != want || e.InitialEventsEnd {
			t.Fatalf("%s, end %v; want %s", got, e.InitialEventsEnd, want)
		}
	}
}

func TestLimitIsIgnoredForAnyVersion(t *testing.T) {
	l, err := twoPods(t).List(t.Context(), pods, cache.ListOptions{ResourceVersion: "0", Limit: 1})
	if err != nil || l.Continue != "" {
		t.Errorf("continue %q, %v", l.Continue, err)
	}
}

func TestListAndEventsHaveEqualVersions(t *testing.T) {
	f := twoPods(t)
	l, _ := f.List(t.Context(), pods, cache.ListOptions{})
	next := f.follow(cache.WatchOptions{ResourceVersion: l.ResourceVersion})
	f.members[0].Put(podPath, pod("a", "n9"))
	_, e := next()
	o, _, err := f.Get(t.Context(), pods, "default", "a", cache.GetOptions{})
	if err != nil || o.ResourceVersion() != e.Object.ResourceVersion() {
		t.Errorf("GET has %s and the event %s, %v", o.ResourceVersion(), e.Object.ResourceVersion(), err)
	}
	if got, want := string(o.AppendJSON(nil)), string(e.Object.AppendJSON(nil)); got != want {
		t.Errorf("%s\n%s", got, want)
	}
}

func TestVersionsThatCannotBeResumedAreExpired(t *testing.T) {
	f := twoPods(t)
	l, _ := f.List(t.Context(), pods, cache.ListOptions{})
	v, _ := version.Parse(l.ResourceVersion)
	rebuilt := v.Components[0]
	rebuilt.Identity = "00000000"
	left := version.Component{Cluster: "c9", Version: 7}
	old := version.Component{Cluster: "c1", Version: 1}
	for name, text := range map[string]string{
		"an object": version.Object(v.Components[0]), "a missing cluster": version.New(v.Components[1]).String(),
		"a rebuilt cluster":  version.New(rebuilt, v.Components[1]).String(),
		"a departed cluster": version.New(v.Components[0], v.Components[1], left).String(),
		"an old state":       version.New(old, v.Components[1]).String(),
		"one API server":     "1234",
	} {
		_, err := f.Watch(t.Context(), pods, cache.WatchOptions{ResourceVersion: text})
		if !apierrors.IsResourceExpired(err) {
			t.Errorf("watch from the version of %s: %v", name, err)
		}
	}
	if _, err := f.Watch(t.Context(), pods, cache.WatchOptions{ResourceVersion: "01234"}); !apierrors.IsBadRequest(err) {
		t.Error(err)
	}
}

func TestSelectorEntryAndExitAreAddedAndDeleted(t *testing.T) {
	f := twoPods(t)
	l, _ := f.List(t.Context(), pods, cache.ListOptions{})
	next := f.follow(cache.WatchOptions{ResourceVersion: l.ResourceVersion, Selection: cache.Selection{
		Fields: fields.OneTermEqualSelector("spec.nodeName", "n2"), Labels: labels.Everything(),
	}})
	f.members[0].Put(podPath, pod("a", "n2"))
	if got, _ := next(); got != "ADDED a" {
		t.Error(got)
	}
	at := f.members[0].Put(podPath, pod("a", "n3"))
	got, e := next()
	if got != "DELETED a" || e.Object.MemberVersion() != at || !bytes.Contains(e.AppendJSON(nil), []byte(`"n2"`)) {
		t.Errorf("%s at %d: %s", got, e.Object.MemberVersion(), e.AppendJSON(nil))
	}
}

func TestUnknownFieldSelectorsAreBadRequests(t *testing.T) {
	_, err := twoPods(t).List(t.Context(), pods, cache.ListOptions{Selection: cache.Selection{
		Fields: fields.OneTermEqualSelector("spec.color", "red"),
	}})
	if !apierrors.IsBadRequest(err) {
		t.Error(err)
	}
}

func TestPagesAreTheStateOfTheFirstPage(t *testing.T) {
	f := newFleet(t, 2, fast)
	for i := range 20 {
		f.members[i%2].Put(podPath, pod(fmt.Sprintf("p%02d", i), "n"))
	}
	f.synced()
	l, err := f.List(t.Context(), pods, cache.ListOptions{Limit: 6})
	if err != nil || l.Remaining == nil || *l.Remaining != 14 {
		t.Fatalf("%+v, %v", l, err)
	}
	var names []string
	for first := l.ResourceVersion; ; {
		for o := range l.All() {
			names = append(names, o.Name())
		}
		if l.Continue == "" {
			break
		}
		for i := range 5 {
			f.members[0].Delete(podPath, "default", fmt.Sprintf("p%02d", len(names)+i))
		}
		f.synced()
		if l, err = f.List(t.Context(), pods, cache.ListOptions{Limit: 6, Continue: l.Continue}); err != nil {
			t.Fatal(err)
		}
		if l.ResourceVersion != first {
			t.Errorf("version changes to %s", l.ResourceVersion)
		}
	}
	if len(names) != 20 || names[19] != "p19" {
		t.Error(names)
	}
}

func TestUnreachableClusterKeepsItsObjectsAndDelaysNothing(t *testing.T) {
	f := twoPods(t)
	f.members[1].Set(membertest.Faults{Unreachable: true})
	eventually(t, func() error {
		if s := f.Status()[1]; s.Connected || s.Error == "" {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	began := time.Now()
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	n := 0
	for range l.All() {
		n++
	}
	if err != nil || n != 2 || time.Since(began) > time.Second {
		t.Errorf("%d objects after %v, %v", n, time.Since(began), err)
	}
}

func TestSameNameInTwoClustersIsAnsweredInClusterOrder(t *testing.T) {
	f := twoPods(t)
	f.members[1].Put(podPath, pod("a", "n2"))
	eventually(t, func() error {
		if owners := f.Owner(pods, "default", "a"); fmt.Sprint(owners) != "[c1 c2]" {
			return fmt.Errorf("owners %v", owners)
		}
		return nil
	})
	o, others, err := f.Get(t.Context(), pods, "default", "a", cache.GetOptions{})
	if err != nil || o.Cluster() != "c1" || fmt.Sprint(others) != "[c2]" {
		t.Errorf("%s, %v, %v", o.Cluster(), others, err)
	}
}

func TestIdleClusterDoesNotTimeOutFreshReads(t *testing.T) {
	f := twoPods(t)
	f.members[0].Advance()
	v := version.New(version.Component{Cluster: "c1", Version: 1002}).String()
	if _, err := f.List(t.Context(), pods, cache.ListOptions{ResourceVersion: v}); err != nil {
		t.Error(err)
	}
	v = version.New(version.Component{Cluster: "c1", Version: 5000}).String()
	if _, err := f.List(t.Context(), pods, cache.ListOptions{ResourceVersion: v}); !apierrors.IsTimeout(err) {
		t.Error(err)
	}
}

func TestManagedFieldsAreReturned(t *testing.T) {
	f := newFleet(t, 1, fast)
	o := pod("a", "n")
	managed := `[{"manager":"kubelet","fieldsV1":{"f:status":{"f:podIPs":{"k:{\"ip\":\"10.0.0.1\"}":{"f:ip":{}},` +
		`".":{}},"f:phase":{},"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{"f:status":{}}}}}}]`
	o["metadata"].(membertest.Object)["managedFields"] = json.RawMessage(managed)
	f.members[0].Put(podPath, o)
	f.synced()
	got, _, err := f.Get(t.Context(), pods, "default", "a", cache.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var p corev1.Pod
	if err := json.Unmarshal(got.AppendJSON(nil), &p); err != nil {
		t.Fatal(err)
	}
	var want, have any
	json.Unmarshal([]byte(managed), &want)
	text, _ := json.Marshal(p.ManagedFields)
	json.Unmarshal(text, &have)
	if fmt.Sprint(want) != fmt.Sprint(have) {
		t.Errorf("%v\n%v", want, have)
	}
}

// Clients of PartialObjectMetadata decode bookmarks as PartialObjectMetadata, too.
func TestBookmarkOfMetadataHasTheKindOfMetadata(t *testing.T) {
	f := newFleet(t, 1, fast)
	f.members[0].Put(podPath, pod("a", "n1"))
	f.synced()
	yes := true
	w, err := f.Watch(t.Context(), pods, cache.WatchOptions{
		SendInitialEvents: &yes, ResourceVersionMatch: "NotOlderThan", AllowWatchBookmarks: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for {
		e, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Type != "BOOKMARK" {
			continue
		}
		var line struct {
			Object struct {
				Kind, APIVersion string
				Metadata         struct{ ResourceVersion string }
			}
		}
		if err := json.Unmarshal(e.AppendPartialJSON(nil), &line); err != nil {
			t.Fatal(err)
		}
		o := line.Object
		if o.Kind != "PartialObjectMetadata" || o.APIVersion != "meta.k8s.io/v1" || o.Metadata.ResourceVersion != e.ResourceVersion {
			t.Errorf("%s", e.AppendPartialJSON(nil))
		}
		return
	}
}
