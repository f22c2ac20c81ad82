package aggregate

import (
	"net/http"
	"strings"
	"testing"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/test/poll"
)

// TestRegistryForOneNamespace checks what docs/aggregator.md says: a kind that a registry selects in one namespace is
// answered from the members in all namespaces, so that the objects of the control plane are not visible.
func TestRegistryForOneNamespace(t *testing.T) {
	l := newLab(t, 1)
	l.configure()
	pod := func(namespace, name string) membertest.Object {
		return membertest.Object{"kind": "Pod", "apiVersion": "v1", "metadata": membertest.Object{
			"name": name, "namespace": namespace, "uid": "uid-" + name,
		}}
	}
	l.control.Put(podPath, pod("system", "own"))
	l.control.Put(podPath, pod("shop", "own-of-shop"))
	l.members[0].Put(podPath, pod("shop", "web"))
	l.members[0].Put(podPath, pod("system", "of-member"))
	const system, shop = "/api/v1/namespaces/system/pods", "/api/v1/namespaces/shop/pods"
	names := func(path string) (out string) {
		answer := l.wants(http.StatusOK, `"items"`, "GET", path, "", "")
		for _, name := range []string{"own", "own-of-shop", "web", "of-member"} {
			if strings.Contains(answer, `"name":"`+name+`"`) {
				out += name + " "
			}
		}
		return out
	}
	for path, want := range map[string]string{"/api/v1/pods": "own own-of-shop ", system: "own ", shop: "own-of-shop "} {
		if got := names(path); got != want {
			t.Errorf("%s without a registry: got %s, want %s", path, got, want)
		}
	}
	l.configure(searchv1.ResourceSelector{APIVersion: "v1", Kind: "Pod", Namespace: "shop"})
	poll.Until(t, "the pod of the member", func() bool {
		_, _, answer := l.do("jane", "GET", shop+"/web", "", "")
		return strings.Contains(answer, `"web"`) && !strings.Contains(answer, `"code"`)
	})
	for path, want := range map[string]string{"/api/v1/pods": "web ", system: "", shop: "web "} {
		if got := names(path); got != want {
			t.Errorf("%s with a registry for namespace shop: got %s, want %s", path, got, want)
		}
	}
	for _, path := range []string{system + "/own", shop + "/own-of-shop"} {
		l.wants(http.StatusNotFound, "not found", "GET", path, "", "")
	}
	l.configure()
	if got := names(system); got != "own " {
		t.Errorf("after the registry, the pods are %s", got)
	}
}
