package aggregate

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
)

// kubectl explain and the validation of manifests need the schema of all kinds: those of the control plane, custom
// resources that only members have, and the kind ResourceRegistry, which is stored under another name.
func TestOpenAPI(t *testing.T) {
	l := newLab(t, 2)
	next := *l.view.Load()
	next.members[1].Resources = map[string]*metav1.APIResourceList{"shop.example.com/v1": {
		GroupVersion: "shop.example.com/v1",
		APIResources: []metav1.APIResource{{Name: "orders", Kind: "Order", Namespaced: true, Verbs: cachedVerbs}},
	}}
	registries := []searchv1.ResourceRegistry{
		registry("r", searchv1.ClusterAffinity{}, searchv1.ResourceSelector{APIVersion: "shop.example.com/v1", Kind: "Order"}),
	}
	next.selected = selectKinds(registries, next.members, nil)
	if err := l.install(&next); err != nil {
		t.Fatal(err)
	}
	l.control.SetDocument("/openapi/v3", `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=1"}}}`)
	l.control.SetDocument("/openapi/v3/api/v1", `{"of":"control plane"}`)
	l.control.SetDocument("/openapi/v3/apis/aggregate.anymesh.dev/v1alpha1",
		`{"components":{"schemas":{"dev.anymesh.aggregate.v1alpha1.ResourceRegistry":{"group":"aggregate.anymesh.dev"}}}}`)
	l.members[1].SetDocument("/openapi/v3/apis/shop.example.com/v1", `{"of":"c2"}`)

	index := l.wants(http.StatusOK, `"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=1"}`, "GET", "/openapi/v3", "", "")
	for _, want := range []string{`"apis/shop.example.com/v1"`, `"apis/search.karmada.io/v1alpha1"`} {
		if !strings.Contains(index, want) {
			t.Errorf("the index lacks %s: %s", want, index)
		}
	}
	l.wants(http.StatusOK, "control plane", "GET", "/openapi/v3/api/v1?hash=1", "", "")
	l.wants(http.StatusOK, `"c2"`, "GET", "/openapi/v3/apis/shop.example.com/v1", "", "")
	l.wants(http.StatusOK, `"io.karmada.search.v1alpha1.ResourceRegistry":{"group":"search.karmada.io"}`, "GET",
		"/openapi/v3/apis/search.karmada.io/v1alpha1", "", "")
	l.wants(http.StatusNotFound, "", "GET", "/openapi/v3/apis/unknown.example.com/v1", "", "")
}

// The API server waits for the documents of the APIService before it answers for its own: asking it for them would
// block both.
func TestDocumentsForAPIServer(t *testing.T) {
	l := newLab(t, 1)
	l.control.SetDocument("/openapi/v3/apis/aggregate.anymesh.dev/v1alpha1", `{"group":"aggregate.anymesh.dev"}`)
	for _, name := range []string{"system:aggregator", "system:kube-aggregator"} {
		for path, want := range map[string]string{
			"/openapi/v3": `{"paths":{"apis/search.karmada.io/v1alpha1":{"serverRelativeURL":"/openapi/v3/apis/search.karmada.io/v1alpha1"}}}`,
			"/openapi/v3/apis/search.karmada.io/v1alpha1": `{"group":"search.karmada.io"}`,
			"/openapi/v2":                      `"paths":{}`,
			"/apis":                            `"groups":[{"name":"search.karmada.io"`,
			"/apis/search.karmada.io/v1alpha1": `"name":"resourceregistries"`,
		} {
			if code, _, body := l.do(name, "GET", path, "", ""); code != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%s gets %d for %s: %s", name, code, path, body)
			}
		}
	}
}

// The search of Karmada answers lists and objects from the cache.
func TestSearch(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "web")
	l.put(1, "api")
	const search = "/apis/search.karmada.io/v1alpha1/search/cache"
	list := l.wants(http.StatusOK, `"web"`, "GET", search+"/api/v1/namespaces/default/pods", "", "")
	if !strings.Contains(list, `"api"`) || !strings.Contains(list, `"kind":"PodList"`) {
		t.Errorf("the list is %s", list)
	}
	l.wants(http.StatusOK, `"web"`, "GET", search+"/api/v1/namespaces/default/pods/web", "", "")
	l.wants(http.StatusNotFound, "no ResourceRegistry selects it", "GET", search+"/api/v1/secrets", "", "")
	l.wants(http.StatusNotFound, "no ResourceRegistry selects it", "GET", search+"/api/v1/namespaces/default/pods/web/log", "", "")
	l.wants(http.StatusMethodNotAllowed, "/proxying", "DELETE", search+"/api/v1/namespaces/default/pods/web", "", "")
	l.allow = func(what string) bool { return what != "jane list pods " }
	l.wants(http.StatusForbidden, "", "GET", search+"/api/v1/pods", "", "")
}
