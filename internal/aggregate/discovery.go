package aggregate

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
)

// verbs of cached kinds: objects are not created through the aggregator.
var cachedVerbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// serveDiscovery answers discovery and OpenAPI v3 as the union of the control plane and the members, without the
// aggregated form, so that clients ask for each group. It returns false for other paths.
func (s *Server) serveDiscovery(w http.ResponseWriter, c call) bool {
	if c.Method != http.MethodGet {
		return false
	}
	path := strings.Trim(c.URL.Path, "/")
	if rest, ok := strings.CutPrefix(path, "openapi/v3"); ok {
		s.openAPI(w, c, strings.TrimPrefix(rest, "/"))
		return true
	}
	parts := strings.Split(path, "/")
	var err error
	switch {
	case path == "apis":
		err = s.groupList(w, c)
	case path == "api":
		versions := &metav1.APIVersions{}
		if err = s.fetch(c, c.URL.Path, versions); err == nil {
			writeJSON(w, http.StatusOK, versions)
		}
	case len(parts) == 2 && parts[0] == "apis":
		err = s.group(w, c, parts[1])
	case len(parts) == 3 && parts[0] == "apis":
		err = s.resources(w, c, schema.GroupVersion{Group: parts[1], Version: parts[2]})
	case len(parts) == 2 && parts[0] == "api":
		err = s.resources(w, c, schema.GroupVersion{Version: parts[1]})
	default:
		return false
	}
	if err != nil {
		writeError(w, err)
	}
	return true
}

func (s *Server) groupList(w http.ResponseWriter, c call) error {
	list := &metav1.APIGroupList{}
	if err := s.fetch(c, c.URL.Path, list); err != nil {
		return err
	}
	for _, gv := range c.view.groupVersions() {
		if gv.Group == "" {
			continue
		}
		i := slices.IndexFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == gv.Group })
		if i < 0 {
			list.Groups = append(list.Groups, metav1.APIGroup{Name: gv.Group})
			i = len(list.Groups) - 1
		}
		addVersion(&list.Groups[i], gv)
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) group(w http.ResponseWriter, c call, name string) error {
	group := &metav1.APIGroup{}
	if err := s.fetch(c, c.URL.Path, group); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	group.Kind, group.APIVersion, group.Name = "APIGroup", "v1", name
	for _, gv := range c.view.groupVersions() {
		if gv.Group == name {
			addVersion(group, gv)
		}
	}
	if len(group.Versions) == 0 {
		return apierrors.NewNotFound(schema.GroupResource{}, name)
	}
	writeJSON(w, http.StatusOK, group)
	return nil
}

// groupVersions returns the group and version of this server, and those of cached kinds.
func (v *view) groupVersions() []schema.GroupVersion {
	found := map[schema.GroupVersion]bool{searchv1.GroupVersion: true}
	for gvr := range v.selected.kinds {
		found[gvr.GroupVersion()] = true
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b schema.GroupVersion) int {
		return strings.Compare(a.String(), b.String())
	})
}

func addVersion(group *metav1.APIGroup, gv schema.GroupVersion) {
	v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
	if !slices.Contains(group.Versions, v) {
		group.Versions = append(group.Versions, v)
	}
	if group.PreferredVersion.Version == "" {
		group.PreferredVersion = v
	}
}

// resources merges the kinds of a group and version: cached kinds are as in the members.
func (s *Server) resources(w http.ResponseWriter, c call, gv schema.GroupVersion) error {
	list := &metav1.APIResourceList{}
	if err := s.fetch(c, c.URL.Path, list); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	list.Kind, list.APIVersion, list.GroupVersion = "APIResourceList", "v1", gv.String()
	for gvr, k := range c.view.selected.kinds {
		if gvr.GroupVersion() != gv {
			continue
		}
		list.APIResources = slices.DeleteFunc(list.APIResources, func(r metav1.APIResource) bool {
			return r.Name == gvr.Resource || strings.HasPrefix(r.Name, gvr.Resource+"/")
		})
		resource := k.resource
		resource.Verbs = cachedVerbs
		list.APIResources = append(append(list.APIResources, resource), k.subresources...)
	}
	if len(list.APIResources) == 0 {
		return apierrors.NewNotFound(schema.GroupResource{}, gv.String())
	}
	slices.SortFunc(list.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	writeJSON(w, http.StatusOK, list)
	return nil
}

// fetch reads a document of the control plane, as the caller.
func (s *Server) fetch(c call, path string, into any) error {
	body, err := s.fetchDocument(c, path)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

func (s *Server) fetchDocument(c call, path string) ([]byte, error) {
	location := s.controlPlane.URL.JoinPath(path)
	r, err := http.NewRequestWithContext(c.Context(), http.MethodGet, location.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	impersonate(r.Header, c.user)
	response, err := s.controlPlane.Do(r)
	if err != nil {
		return nil, apierrors.NewServiceUnavailable("the control plane does not answer: " + err.Error())
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxAnswerSize))
	if err != nil {
		return nil, apierrors.NewServiceUnavailable("the control plane does not answer: " + err.Error())
	}
	if response.StatusCode != http.StatusOK {
		return nil, apierrors.NewGenericServerResponse(response.StatusCode, http.MethodGet, schema.GroupResource{}, path,
			fmt.Sprintf("%.200s", body), 0, true)
	}
	return body, nil
}
