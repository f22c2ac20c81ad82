package aggregate

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/fleet"
)

// openAPIIndex lists the OpenAPI v3 documents of a server by group version, such as apis/apps/v1.
type openAPIIndex struct {
	Paths map[string]openAPIReference `json:"paths"`
}

type openAPIReference struct {
	ServerRelativeURL string `json:"serverRelativeURL"`
}

// openAPI answers requests for OpenAPI v3, with the path after /openapi/v3. The document of a group version is that of
// the control plane or, for custom resources that it does not have, that of the first member that has them.
func (s *Server) openAPI(w http.ResponseWriter, c call, path string) {
	var index openAPIIndex
	if err := s.fetch(c, "/openapi/v3", &index); err != nil {
		writeError(w, err)
		return
	}
	_, known := index.Paths[path]
	switch {
	case path == ownPath:
		s.ownOpenAPI(w, c)
	case path == "":
		writeJSON(w, http.StatusOK, index.with(c.view.groupVersions()...))
	case known:
		s.passOn(w, c)
	default:
		for _, gv := range c.view.groupVersions() {
			if m, ok := c.view.offers(gv); ok && gvPath(gv) == path {
				forward(w, c.Request, m.Impersonator, c.user, "cluster "+m.Name, s.config.Log)
				return
			}
		}
		writeError(w, apierrors.NewNotFound(schema.GroupResource{}, path))
	}
}

// with adds the documents of group versions.
func (x openAPIIndex) with(gvs ...schema.GroupVersion) openAPIIndex {
	if x.Paths == nil {
		x.Paths = map[string]openAPIReference{}
	}
	for _, gv := range gvs {
		if path := gvPath(gv); x.Paths[path].ServerRelativeURL == "" {
			x.Paths[path] = openAPIReference{"/openapi/v3/" + path}
		}
	}
	return x
}

// ownPath is the group version of this server in an openAPIIndex.
var ownPath = gvPath(searchv1.GroupVersion)

// gvPath is the path of a group version below the root, as in an openAPIIndex.
func gvPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// offers returns the first reachable member with a group version.
func (v *view) offers(gv schema.GroupVersion) (fleet.Member, bool) {
	for _, m := range v.members {
		if m.Ready && m.Impersonator != nil && m.Resources[gv.String()] != nil {
			return m, true
		}
	}
	return fleet.Member{}, false
}

// ownOpenAPI answers with the schema of the kind that stores registries, under the names that are served.
func (s *Server) ownOpenAPI(w http.ResponseWriter, c call) {
	document, err := s.fetchDocument(c, "/openapi/v3/apis/"+searchv1.StorageGroupVersion.String())
	if err != nil {
		writeError(w, err)
		return
	}
	for _, name := range []func(string) string{func(group string) string { return group }, reversed} {
		document = bytes.ReplaceAll(document, []byte(name(searchv1.StorageGroupVersion.Group)),
			[]byte(name(searchv1.GroupVersion.Group)))
	}
	writeJSON(w, http.StatusOK, json.RawMessage(document))
}

// reversed is the group in names of schemas, such as io.karmada.search.
func reversed(group string) string {
	labels := strings.Split(group, ".")
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	return strings.Join(labels, ".")
}
