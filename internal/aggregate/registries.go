package aggregate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
)

// registries is the plural name of ResourceRegistry.
const registries = "resourceregistries"

// serveGroup serves the group version of this server: discovery and ResourceRegistries.
func (s *Server) serveGroup(w http.ResponseWriter, c call, t *ticket) {
	if strings.TrimSuffix(c.URL.Path, "/") == prefix {
		writeJSON(w, http.StatusOK, &metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: searchv1.GroupVersion.String(),
			APIResources: []metav1.APIResource{
				{Name: "proxying", Kind: "Proxying", Verbs: metav1.Verbs{"get", "update", "patch", "delete", "create"}},
				{Name: "search", Kind: "Search", Verbs: metav1.Verbs{"get"}},
				{
					Name: registries, SingularName: "resourceregistry", Kind: "ResourceRegistry",
					Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
				},
				{Name: registries + "/status", Kind: "ResourceRegistry", Verbs: metav1.Verbs{"get", "patch", "update"}},
			},
		})
		return
	}
	var err error
	c.Request = c.Clone(request.WithUser(c.Context(), c.user))
	if c.info, err = requestInfos.NewRequestInfo(c.Request); err != nil {
		writeError(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	if c.info.Resource != registries || !c.info.IsResourceRequest {
		writeError(w, apierrors.NewNotFound(schema.GroupResource{Group: searchv1.GroupVersion.Group}, c.info.Resource))
		return
	}
	if err := s.authorize(c.Context(), c, ""); err != nil {
		writeError(w, err)
		return
	}
	w, ok := s.admitStream(w, c, t)
	if !ok {
		return
	}
	if err := s.stored(w, c); err != nil {
		writeError(w, err)
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// The names of the group version, as they are in objects.
var (
	served = []byte(`"` + searchv1.GroupVersion.String() + `"`)
	stored = []byte(`"` + searchv1.StorageGroupVersion.String() + `"`)
)

// stored passes a request for registries on to the CustomResourceDefinition that stores them, as this server. The
// caller is authorized for the group that is served.
func (s *Server) stored(w http.ResponseWriter, c call) error {
	body, err := s.readBody(w, c)
	if err != nil {
		return err
	}
	kind, _, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if len(body) > 0 && (err != nil || !strings.HasSuffix(kind, "json") && !strings.HasSuffix(kind, "yaml")) {
		status := apierrors.NewBadRequest(fmt.Sprintf("content type %q is not supported; use JSON or YAML", kind))
		status.ErrStatus.Code, status.ErrStatus.Reason = http.StatusUnsupportedMediaType, "UnsupportedMediaType"
		return status
	}
	// Both names also occur without quotes in YAML.
	body = bytes.ReplaceAll(body, bytes.Trim(served, `"`), bytes.Trim(stored, `"`))
	location := *s.controlPlane.URL
	path := strings.Replace(c.URL.Path, searchv1.GroupVersion.String(), searchv1.StorageGroupVersion.String(), 1)
	location.Path = s.controlPlane.URL.JoinPath(path).Path
	location.RawQuery = c.URL.RawQuery
	ctx, cancel := context.WithTimeout(c.Context(), defaultWatchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, c.Method, location.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	for _, name := range []string{"Accept", "Content-Type", "User-Agent"} {
		r.Header[name] = c.Header[name]
	}
	r.Header.Set("Accept", strings.ReplaceAll(c.Header.Get("Accept"), "application/vnd.kubernetes.protobuf", "application/json"))
	response, err := s.controlPlane.Do(r)
	if err != nil {
		return apierrors.NewServiceUnavailable("the control plane does not answer: " + err.Error())
	}
	defer func() { _ = response.Body.Close() }()
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	w.WriteHeader(response.StatusCode)
	copyLines(w, response.Body)
	return nil
}

// copyLines copies an answer or a watch, with the group version that is served. The API server writes an event in one
// line.
func copyLines(w http.ResponseWriter, from io.Reader) {
	control := http.NewResponseController(w)
	var pending []byte
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		pending = append(pending, buffer[:n]...)
		end := bytes.LastIndexByte(pending, '\n') + 1
		if err != nil {
			end = len(pending)
		}
		if end > 0 {
			if _, werr := w.Write(bytes.ReplaceAll(pending[:end], stored, served)); werr != nil || control.Flush() != nil {
				return
			}
			pending = append(pending[:0], pending[end:]...)
		}
		if err != nil || len(pending) > MaxAnswerSize {
			return
		}
	}
}
