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

// kubeAPI implements the part of an API server that the control plane uses: discovery, and get, list, watch, create,
// update, patch and delete of objects of the listed kinds, with one counter of resource versions. It keeps the
// objects in memory. They survive restarts of apiProcess.
type kubeAPI struct {
	mu        sync.Mutex
	version   int
	compacted int // watches from older versions are expired
	objects   map[string]*unstructured.Unstructured
	history   []change
	changed   chan struct{} // closed at the next change
}

// change is an event of an object.
type change struct {
	version   int
	path      string
	eventType string
	object    *unstructured.Unstructured
}

// kinds are the resources that the control plane uses, by group path; * marks namespaced resources.
var kinds = map[string]string{
	"/api/v1":                                  "namespaces:Namespace configmaps*:ConfigMap pods*:Pod secrets*:Secret services*:Service serviceaccounts*:ServiceAccount",
	"/apis/appmesh.k8s.aws/v1beta2":            "meshes:Mesh virtualnodes*:VirtualNode virtualservices*:VirtualService virtualrouters*:VirtualRouter virtualgateways*:VirtualGateway gatewayroutes*:GatewayRoute backendgroups*:BackendGroup",
	"/apis/l7mp.io/v1":                         "virtualservices*:VirtualService routes*:Route targets*:Target",
	"/apis/access.smi-spec.io/v1alpha3":        "traffictargets*:TrafficTarget",
	"/apis/specs.smi-spec.io/v1alpha4":         "httproutegroups*:HTTPRouteGroup tcproutes*:TCPRoute",
	"/apis/split.smi-spec.io/v1alpha4":         "trafficsplits*:TrafficSplit",
	"/apis/config.openservicemesh.io/v1alpha2": "meshconfigs*:MeshConfig meshrootcertificates*:MeshRootCertificate",
	"/apis/policy.openservicemesh.io/v1alpha1": "accesscerts*:AccessCert accesscontrols*:AccessControl egressgateways*:EgressGateway egresses*:Egress ingressbackends*:IngressBackend retries*:Retry upstreamtrafficsettings*:UpstreamTrafficSetting",
	"/apis/discovery.k8s.io/v1":                "endpointslices*:EndpointSlice",
	"/apis/coordination.k8s.io/v1":             "leases*:Lease",
	"/apis/events.k8s.io/v1":                   "events*:Event",
	"/apis/apiextensions.k8s.io/v1":            "customresourcedefinitions:CustomResourceDefinition",
	"/apis/admissionregistration.k8s.io/v1":    "mutatingwebhookconfigurations:MutatingWebhookConfiguration validatingwebhookconfigurations:ValidatingWebhookConfiguration",
}

func newKubeAPI() *kubeAPI {
	return &kubeAPI{objects: map[string]*unstructured.Unstructured{}, changed: make(chan struct{})}
}

// applyObject creates or replaces an object, like a user.
func (k *kubeAPI) applyObject(t *testing.T, o client.Object) {
	t.Helper()
	path, u := k.pathOf(t, o)
	k.apply(path, u)
}

// apply is applyObject for any goroutine.
func (k *kubeAPI) apply(path string, u *unstructured.Unstructured) {
	k.mu.Lock()
	defer k.mu.Unlock()
	eventType := "ADDED"
	if old := k.objects[path]; old != nil {
		u.SetUID(old.GetUID())
		u.SetGeneration(old.GetGeneration() + 1)
		eventType = "MODIFIED"
	}
	k.store(path, eventType, u)
}

// deleteObject deletes an object, like a user.
func (k *kubeAPI) deleteObject(t *testing.T, o client.Object) {
	t.Helper()
	path, _ := k.pathOf(t, o)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.store(path, "DELETED", k.objects[path])
}

// compact drops the history: watches from older versions expire.
func (k *kubeAPI) compact() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.history, k.compacted = nil, k.version
}

// getObject returns the current object, or nil.
func (k *kubeAPI) getObject(t *testing.T, o client.Object) *unstructured.Unstructured {
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
	group := "/apis/" + gvk.GroupVersion().String()
	if gvk.Group == "" {
		group = "/api/" + gvk.Version
	}
	for entry := range strings.FieldsSeq(kinds[group]) {
		resource, kind, _ := strings.Cut(entry, ":")
		if kind != gvk.Kind {
			continue
		}
		if plain, namespaced := strings.CutSuffix(resource, "*"); namespaced {
			return group + "/namespaces/" + o.GetNamespace() + "/" + plain + "/" + o.GetName(), u
		}
		return group + "/" + resource + "/" + o.GetName(), u
	}
	t.Fatalf("unknown kind %s", gvk)
	return "", nil
}

// store stores a change. The caller holds the lock.
func (k *kubeAPI) store(path, eventType string, u *unstructured.Unstructured) {
	k.version++
	u = u.DeepCopy()
	u.SetResourceVersion(strconv.Itoa(k.version))
	if u.GetUID() == "" {
		u.SetUID(types.UID(fmt.Sprintf("uid-%d", k.version)))
		u.SetGeneration(max(u.GetGeneration(), 1))
	}
	k.objects[path] = u
	if eventType == "DELETED" {
		delete(k.objects, path)
	}
	k.history = append(k.history, change{k.version, path, eventType, u})
	close(k.changed)
	k.changed = make(chan struct{})
}

// listPaths lists the object paths of a resource, in one namespace or in all. The caller holds the lock.
func (k *kubeAPI) listPaths(collection string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(k.objects)), func(path string) bool {
		return !inCollection(path, collection)
	})
}

// inCollection reports whether an object path is in a collection: /api/v1/namespaces/a/pods/p is in /api/v1/pods.
func inCollection(path, collection string) bool {
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

func replyError(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(errorStatus(code, reason, message))
}

func errorStatus(code int, reason metav1.StatusReason, message string) metav1.Status {
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
