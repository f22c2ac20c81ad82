package cache_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
)

const podPath = "/api/v1/pods"

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// fast are options for tests.
var fast = cache.Options{
	MaxBackoff: 100 * time.Millisecond, RequestTimeout: 2 * time.Second, IdleTimeout: 3 * time.Second,
	WaitTimeout: 3 * time.Second, BookmarkDelay: 20 * time.Millisecond, PageSize: 7,
}

func pod(name, node string) membertest.Object {
	return membertest.Object{
		"kind": "Pod", "apiVersion": "v1",
		"metadata": membertest.Object{
			"name": name, "namespace": "default", "uid": "uid-" + name, "labels": membertest.Object{"app": name[:1]},
		},
		"spec": membertest.Object{"nodeName": node},
	}
}

// fleet is a cache with members c1, c2, …
type fleet struct {
	*cache.Cache
	t       testing.TB
	members []*membertest.Member
	joined  []bool
	// identities change when a cluster is rebuilt.
	identities []string
	// hosts are addresses of members other than their own.
	hosts map[int]string
	// scopes are the namespaces that are cached of a member, if not all.
	scopes map[int][]string
	// late are the members that joined after the start.
	late map[int]bool
}

func newFleet(t testing.TB, n int, options cache.Options) *fleet {
	t.Helper()
	f := &fleet{Cache: cache.New(options), t: t, hosts: map[int]string{}, scopes: map[int][]string{}}
	for i := range n {
		m := membertest.New()
		t.Cleanup(m.Close)
		f.members, f.joined = append(f.members, m), append(f.joined, true)
		f.identities = append(f.identities, fmt.Sprintf("uid-%d", i+1))
	}
	t.Cleanup(f.Close)
	f.configure()
	return f
}

// configure gives the cache the members that joined.
func (f *fleet) configure() {
	f.t.Helper()
	var members []cache.Member
	kind := cache.Kind{Resource: pods, Kind: "Pod", ListKind: "PodList", Namespaced: true}
	for i, m := range f.members {
		name := fmt.Sprintf("c%d", i+1)
		kind.Scopes = append(kind.Scopes, cache.Scope{Cluster: name, Namespaces: f.scopes[i]})
		if f.joined[i] {
			members = append(members, cache.Member{
				Name: name, Identity: f.identities[i], Host: cmp.Or(f.hosts[i], m.URL()), Client: m.Client(),
				Late: f.late[i],
			})
		}
	}
	if err := errors.Join(f.SetMembers(members), f.SetKinds([]cache.Kind{kind})); err != nil {
		f.t.Fatal(err)
	}
}

// union has the version of each object of the members that joined.
func (f *fleet) union() map[string]string {
	out := map[string]string{}
	for i, m := range f.members {
		if f.joined[i] {
			for key, v := range m.Objects(podPath) {
				namespace, _, _ := strings.Cut(key, "/")
				if len(f.scopes[i]) == 0 || slices.Contains(f.scopes[i], namespace) {
					out[key] = fmt.Sprintf("c%d:%s", i+1, v)
				}
			}
		}
	}
	return out
}

// synced waits until the cache has the objects of all members.
func (f *fleet) synced() {
	f.t.Helper()
	eventually(f.t, func() error {
		list, err := f.List(f.t.Context(), pods, cache.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Missing) > 0 {
			return fmt.Errorf("%v are missing", list.Missing)
		}
		got := map[string]string{}
		for o := range list.All() {
			got[o.Namespace()+"/"+o.Name()] = fmt.Sprintf("%s:%d", o.Cluster(), o.MemberVersion())
		}
		if want := f.union(); fmt.Sprint(want) != fmt.Sprint(got) {
			return fmt.Errorf("cache has %v, members have %v", got, want)
		}
		return nil
	})
}

func eventually(t testing.TB, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// ServeHTTP answers LIST and WATCH of pods as an API server does.
func (f *fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := f.answer(w, r); err != nil && r.Context().Err() == nil {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			status = apierrors.NewInternalError(err)
		}
		body := status.Status()
		body.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(body.Code))
		json.NewEncoder(w).Encode(body)
	}
}

func (f *fleet) answer(w http.ResponseWriter, r *http.Request) error {
	var o metav1.ListOptions
	if err := scheme.ParameterCodec.DecodeParameters(r.URL.Query(), schema.GroupVersion{Version: "v1"}, &o); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	selection, err := selectionOf(o)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(r.URL.Path, "/pods") {
		return apierrors.NewNotFound(pods.GroupResource(), r.URL.Path)
	}
	w.Header().Set("Content-Type", "application/json")
	if !o.Watch {
		list, err := f.List(r.Context(), pods, cache.ListOptions{
			Selection: selection, ResourceVersion: o.ResourceVersion, ResourceVersionMatch: o.ResourceVersionMatch,
			Limit: o.Limit, Continue: o.Continue,
		})
		if err == nil {
			_, err = list.WriteTo(w)
		}
		return err
	}
	options := cache.WatchOptions{
		Selection: selection, ResourceVersion: o.ResourceVersion, ResourceVersionMatch: o.ResourceVersionMatch,
		SendInitialEvents: o.SendInitialEvents, AllowWatchBookmarks: o.AllowWatchBookmarks,
	}
	if o.TimeoutSeconds != nil {
		options.Timeout = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	watch, err := f.Watch(r.Context(), pods, options)
	if err != nil {
		return err
	}
	defer watch.Stop()
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		e, err := watch.Next(r.Context())
		if err != nil {
			return nil
		}
		if _, err := w.Write(e.AppendJSON(nil)); err != nil {
			return nil
		}
		w.(http.Flusher).Flush()
	}
}

func selectionOf(o metav1.ListOptions) (cache.Selection, error) {
	l, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return cache.Selection{}, apierrors.NewBadRequest(err.Error())
	}
	s, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return cache.Selection{}, apierrors.NewBadRequest(err.Error())
	}
	return cache.Selection{Labels: l, Fields: s}, nil
}

// follow starts a watch that ends with the test, and returns a function for its next event.
func (f *fleet) follow(o cache.WatchOptions) func() (string, cache.Event) {
	f.t.Helper()
	w, err := f.Watch(f.t.Context(), pods, o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(w.Stop)
	return func() (string, cache.Event) {
		f.t.Helper()
		ctx, cancel := context.WithTimeout(f.t.Context(), 2*time.Minute)
		defer cancel()
		e, err := w.Next(ctx)
		if err != nil {
			f.t.Fatal(err)
		}
		switch e.Type {
		case "BOOKMARK", "ERROR":
			return string(e.Type), e
		}
		return fmt.Sprintf("%s %s", e.Type, e.Object.Name()), e
	}
}
