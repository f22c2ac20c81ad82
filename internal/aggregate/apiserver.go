package aggregate

import (
	"encoding/json"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
)

// isAPIServer reports whether a user is the control plane's API server, which asks for the documents of an APIService.
func isAPIServer(name string) bool {
	return name == "system:aggregator" || name == "system:kube-aggregator"
}

// serveAPIServer answers with the discovery and OpenAPI of the own group version only. For other documents this server
// would ask the API server, which waits for the answer to its own request.
func (s *Server) serveAPIServer(w http.ResponseWriter, c call) {
	switch c.URL.Path {
	case "/apis":
		group := metav1.APIGroup{Name: searchv1.GroupVersion.Group}
		addVersion(&group, searchv1.GroupVersion)
		writeJSON(w, http.StatusOK, &metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{group},
		})
	case "/openapi/v2":
		// Clients use version 3; without an answer the API server repeats its request.
		writeJSON(w, http.StatusOK, json.RawMessage(
			`{"swagger":"2.0","info":{"title":"Anymesh aggregator","version":"v1alpha1"},"paths":{},"definitions":{}}`))
	case "/openapi/v3":
		writeJSON(w, http.StatusOK, openAPIIndex{}.with(searchv1.GroupVersion))
	case "/openapi/v3/" + ownPath:
		s.ownOpenAPI(w, c)
	default:
		writeError(w, apierrors.NewNotFound(schema.GroupResource{}, c.URL.Path))
	}
}
