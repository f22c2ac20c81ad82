package controlplane

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"anymesh.dev/anymesh/internal/dialect"
)

// kubeAPI is enough of an API server for the control plane as it is: discovery, and get, list, watch, create, update,
// patch and delete of objects of any kind, with one count of versions. Everything is kept in memory, and outlives the
// servers that serve it.
type kubeAPI struct {
	mu        sync.Mutex
	version   int
	compacted int // watches from before it have expired
	objects   map[string]*unstructured.Unstructured
	history   []change
	changed   chan struct{} // closed with the next change
}

// change is what happened to an object.
type change struct {
	version int
	path    string
	what    string
	object  *unstructured.Unstructured
}

// kinds are those that the control plane uses, by the path of their group; those with a namespace have a star.
var kinds = map[string]string{
	"/api/v1":                               "namespaces:Namespace pods*:Pod secrets*:Secret services*:Service",
	"/apis/appmesh.k8s.aws/v1beta2":         "meshes:Mesh virtualnodes*:VirtualNode virtualservices*:VirtualService virtualrouters*:VirtualRouter virtualgateways*:VirtualGateway gatewayroutes*:GatewayRoute backendgroups*:BackendGroup",
	"/apis/coordination.k8s.io/v1":          "leases*:Lease",
	"/apis/events.k8s.io/v1":                "events*:Event",
	"/apis/admissionregistration.k8s.io/v1": "mutatingwebhookconfigurations:MutatingWebhookConfiguration validatingwebhookconfigurations:ValidatingWebhookConfiguration",
}

func newKubeAPI() *kubeAPI {
	return &kubeAPI{objects: map[string]*unstructured.Unstructured{}, changed: make(chan struct{})}
}

// put creates or replaces an object, as somebody else does.
func (k *kubeAPI) put(t *testing.T, o client.Object) {
	t.Helper()
	path, u := k.pathOf(t, o)
	k.mu.Lock()
	defer k.mu.Unlock()
	what := "ADDED"
	if old := k.objects[path]; old != nil {
		u.SetUID(old.GetUID())
		u.SetGeneration(old.GetGeneration() + 1)
		what = "MODIFIED"
	}
	k.store(path, what, u)
}

// remove deletes an object, as somebody else does.
func (k *kubeAPI) remove(t *testing.T, o client.Object) {
	t.Helper()
	path, _ := k.pathOf(t, o)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.store(path, "DELETED", k.objects[path])
}

// compact forgets what happened so far: whoever watches from an earlier version has to list again.
func (k *kubeAPI) compact() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.history, k.compacted = nil, k.version
}

// read gives an object as it is now.
func (k *kubeAPI) read(t *testing.T, o client.Object) *unstructured.Unstructured {
	t.Helper()
	path, _ := k.pathOf(t, o)
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.objects[path]
}

func (k *kubeAPI) pathOf(t *testing.T, o client.Object) (string, *unstructured.Unstructured) {
	t.Helper()
	scheme, err := dialect.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	gvk, err := apiutil.GVKForObject(o, scheme)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetGroupVersionKind(gvk)
	for group, list := range kinds {
		for entry := range strings.FieldsSeq(list) {
			resource, kind, _ := strings.Cut(entry, ":")
			if kind != gvk.Kind {
				continue
			}
			if plain, namespaced := strings.CutSuffix(resource, "*"); namespaced {
				return group + "/namespaces/" + o.GetNamespace() + "/" + plain + "/" + o.GetName(), u
			}
			return group + "/" + resource + "/" + o.GetName(), u
		}
	}
	t.Fatalf("no such kind: %s", gvk)
	return "", nil
}

// store makes a change; the lock is held.
func (k *kubeAPI) store(path, what string, u *unstructured.Unstructured) {
	k.version++
	u = u.DeepCopy()
	u.SetResourceVersion(strconv.Itoa(k.version))
	if u.GetUID() == "" {
		u.SetUID(types.UID(fmt.Sprintf("uid-%d", k.version)))
		u.SetGeneration(max(u.GetGeneration(), 1))
	}
	k.objects[path] = u
	if what == "DELETED" {
		delete(k.objects, path)
	}
	k.history = append(k.history, change{k.version, path, what, u})
	close(k.changed)
	k.changed = make(chan struct{})
}

// under lists the paths of a resource, in one namespace or in all, in order; the lock is held.
func (k *kubeAPI) under(collection string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(k.objects)), func(path string) bool {
		return !within(path, collection)
	})
}

// within tells whether a path is that of an object of a collection: /api/v1/pods has /api/v1/namespaces/a/pods/p.
func within(path, collection string) bool {
	if rest, ok := strings.CutPrefix(path, collection+"/"); ok {
		return !strings.Contains(rest, "/")
	}
	i := strings.LastIndexByte(collection, '/')
	rest, ok := strings.CutPrefix(path, collection[:i]+"/namespaces/")
	parts := strings.Split(rest, "/")
	return ok && len(parts) == 3 && parts[1] == collection[i+1:]
}

func merge(o *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	before, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{}
	return out, out.UnmarshalJSON(after)
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(failure(code, reason, message))
}

func failure(code int, reason metav1.StatusReason, message string) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code),
		Reason: reason, Message: message,
	}
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		fmt.Println(err)
	}
}
