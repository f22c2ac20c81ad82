package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// oneCluster is the part of an API server that has CustomResourceDefinitions, and the Cluster lab until it is deleted.
func oneCluster() http.HandlerFunc {
	version := metav1.GroupVersionForDiscovery{GroupVersion: "cluster.karmada.io/v1alpha1", Version: "v1alpha1"}
	crds := metav1.GroupVersionForDiscovery{GroupVersion: "apiextensions.k8s.io/v1", Version: "v1"}
	discovery := map[string]any{
		"/api": metav1.APIVersions{Versions: []string{"v1"}},
		"/apis": metav1.APIGroupList{Groups: []metav1.APIGroup{
			{Name: "cluster.karmada.io", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version},
			{Name: "apiextensions.k8s.io", Versions: []metav1.GroupVersionForDiscovery{crds}, PreferredVersion: crds},
		}},
		"/apis/" + crds.GroupVersion: metav1.APIResourceList{GroupVersion: crds.GroupVersion, APIResources: []metav1.APIResource{
			{Name: "customresourcedefinitions", Kind: "CustomResourceDefinition"},
		}},
		"/apis/" + version.GroupVersion: metav1.APIResourceList{GroupVersion: version.GroupVersion, APIResources: []metav1.APIResource{
			{Name: "clusters", Kind: "Cluster"},
		}},
		"/api/v1": metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "secrets", Kind: "Secret", Namespaced: true},
		}},
	}
	there := true
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch known, is := discovery[r.URL.Path]; {
		case is:
			_ = json.NewEncoder(w).Encode(known)
		case strings.Contains(r.URL.Path, "/customresourcedefinitions/"):
			_, _ = w.Write([]byte(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}`))
		case r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/clusters/lab") && there:
			there = false
			_ = json.NewEncoder(w).Encode(metav1.Status{Status: metav1.StatusSuccess})
		default:
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
			})
		}
	}
}

// A cluster that is not a member does not leave.
func TestOnlyMembersLeave(t *testing.T) {
	server := httptest.NewServer(oneCluster())
	defer server.Close()
	file := kubeconfigOf(t, server)
	for _, want := range []string{
		"Cluster lab has left.\n", "Cluster lab is not a member: there is no Cluster of this name.\n",
	} {
		var output bytes.Buffer
		code := Run(t.Context(), []string{"cluster", "leave", "lab", "--kubeconfig", file}, nil, &output, &output)
		if code != 0 || output.String() != want {
			t.Errorf("got exit code %d and %q, want %q", code, output.String(), want)
		}
	}
}
