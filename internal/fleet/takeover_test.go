package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
)

// karmadaObjects are objects as Karmada stores them.
const karmadaObjects = `
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: east
  finalizers: [karmada.io/cluster-controller]
  labels: {team: shop}
spec:
  id: uid-east
  syncMode: Push
  apiEndpoint: https://east:6443
  secretRef: {namespace: karmada-cluster, name: east}
  impersonatorSecretRef: {namespace: karmada-cluster, name: east-impersonator}
  proxyURL: http://proxy:3128
  proxyHeader: {X-Team: "a,b"}
  provider: aws
  region: eu
  zones: [eu-a, eu-b]
  taints: [{key: cluster.karmada.io/not-ready, effect: NoSchedule}]
  resourceModels: [{grade: 0, ranges: [{name: cpu, min: "0", max: "1"}]}]
status:
  kubernetesVersion: v1.34.0
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: edge}
spec: {syncMode: Pull, apiEndpoint: "https://edge:6443", futureField: x}
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: lost}
spec: {syncMode: Push, apiEndpoint: "https://lost:6443", secretRef: {namespace: karmada-cluster, name: lost}}
---
apiVersion: search.karmada.io/v1alpha1
kind: ResourceRegistry
metadata: {name: pods}
spec:
  targetCluster: {clusterNames: [east]}
  resourceSelectors: [{apiVersion: v1, kind: Pod}]
  backendStore: {openSearch: {addresses: ["https://search"], secretRef: {namespace: a, name: b}}}
---
apiVersion: v1
kind: Secret
metadata: {name: east, namespace: karmada-cluster}
data: {token: dG9rZW4=, caBundle: Y2E=, other: eA==}
---
apiVersion: v1
kind: Secret
metadata: {name: east-impersonator, namespace: karmada-cluster}
data: {token: aW1w}
---
apiVersion: v1
kind: Namespace
metadata: {name: kube-system, uid: uid-karmada}
`

func newKarmada(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	var objects []client.Object
	for text := range strings.SplitSeq(karmadaObjects, "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		mapper.Add(o.GroupVersionKind(), meta.RESTScopeNamespace)
		objects = append(objects, o)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).Build()
}

// newTarget returns a control plane. Its uid is that of Karmada if it is the same API server.
func newTarget(t *testing.T, uid types.UID) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, clusterv1.AddToScheme, searchv1.AddStorageToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: uid}}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(system).Build()
}

func results(taken []Taken) string {
	var all []string
	for _, r := range taken {
		all = append(all, r.Name+" "+r.Result)
	}
	return strings.Join(all, ", ")
}

// TestTakeOver takes over what it can, says what it cannot, and changes nothing the second time.
func TestTakeOver(t *testing.T) {
	from, to := newKarmada(t), newTarget(t, "uid-ours")
	for i, want := range []string{
		"east created, edge created, lost failed, pods created",
		"east created, edge created, lost failed, pods created",
		"east unchanged, edge unchanged, lost failed, pods unchanged",
	} {
		taken, err := TakeOver(t.Context(), from, to, i == 0)
		if err != nil || results(taken) != want {
			t.Fatalf("run %d: %s, %v", i, results(taken), err)
		}
		for n, notes := range [][]string{
			{"spec.taints has no effect", "spec.resourceModels has no effect"},
			{"futureField", "Pull is not supported"}, {"secret karmada-cluster/lost"}, {"spec.backendStore is not supported"},
		} {
			text := strings.Join(taken[n].Notes, "; ")
			if slices.ContainsFunc(notes, func(note string) bool { return !strings.Contains(text, note) }) {
				t.Errorf("%s: %s", taken[n].Name, text)
			}
		}
	}
	east := &clusterv1.Cluster{}
	if err := to.Get(t.Context(), client.ObjectKey{Name: "east"}, east); err != nil {
		t.Fatal(err)
	}
	want := `{"id":"uid-east","syncMode":"Push","apiEndpoint":"https://east:6443",` +
		`"secretRef":{"namespace":"anymesh-clusters","name":"east"},` +
		`"impersonatorSecretRef":{"namespace":"anymesh-clusters","name":"east-impersonator"},` +
		`"proxyURL":"http://proxy:3128","proxyHeader":{"X-Team":"a,b"},"provider":"aws","region":"eu",` +
		`"zones":["eu-a","eu-b"],"taints":[{"key":"cluster.karmada.io/not-ready","effect":"NoSchedule"}],` +
		`"resourceModels":[{"grade":0,"ranges":[{"name":"cpu","min":"0","max":"1"}]}]}`
	if got, err := json.Marshal(east.Spec); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if len(east.Finalizers) > 0 || east.Labels["team"] != "shop" {
		t.Errorf("%+v", east.ObjectMeta)
	}
	secret := &corev1.Secret{}
	err := to.Get(t.Context(), client.ObjectKey{Namespace: SecretNamespace, Name: "east"}, secret)
	if got := fmt.Sprint(slices.Sorted(maps.Keys(secret.Data))); err != nil || got != "[caBundle token]" {
		t.Errorf("the Secret has %s, %v", got, err)
	}
}

// TestTakeOverFollowsChanges writes changes of Karmada, such as a new token, and keeps labels of the control plane.
func TestTakeOverFollowsChanges(t *testing.T) {
	from, to := newKarmada(t), newTarget(t, "uid-ours")
	take := func() []Taken {
		t.Helper()
		taken, err := TakeOver(t.Context(), from, to, false)
		if err != nil {
			t.Fatal(err)
		}
		return taken
	}
	take()
	east, secret := &clusterv1.Cluster{}, &corev1.Secret{}
	if err := to.Get(t.Context(), client.ObjectKey{Name: "east"}, east); err != nil {
		t.Fatal(err)
	}
	east.Labels["ours"] = "yes"
	if err := to.Update(t.Context(), east); err != nil {
		t.Fatal(err)
	}
	if err := from.Get(t.Context(), client.ObjectKey{Namespace: "karmada-cluster", Name: "east-impersonator"}, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data["token"] = []byte("rotated")
	if err := from.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if taken := take(); !strings.HasPrefix(results(taken), "east changed, edge unchanged") {
		t.Error(results(taken))
	}
	err := to.Get(t.Context(), client.ObjectKey{Namespace: SecretNamespace, Name: "east-impersonator"}, secret)
	if err != nil || string(secret.Data["token"]) != "rotated" {
		t.Errorf("token %s, %v", secret.Data["token"], err)
	}
	if err := to.Get(t.Context(), client.ObjectKey{Name: "east"}, east); err != nil || east.Labels["ours"] != "yes" {
		t.Errorf("%v, %v", east.Labels, err)
	}
	east.Spec.ID = "uid-of-another"
	if err := to.Update(t.Context(), east); err != nil {
		t.Fatal(err)
	}
	if taken := take(); taken[0].Result != Failed || !strings.Contains(taken[0].Notes[2], "cluster leave east") {
		t.Errorf("a cluster of the same name and another id: %+v", taken[0])
	}
}

// TestTakeOverWithinKarmada takes over the registries only, if the control plane is the API server of Karmada.
func TestTakeOverWithinKarmada(t *testing.T) {
	taken, err := TakeOver(t.Context(), newKarmada(t), newTarget(t, "uid-karmada"), false)
	if err != nil || results(taken) != "pods created" {
		t.Errorf("%s, %v", results(taken), err)
	}
}
