package aggregate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/fleet"
)

// deleteCollection deletes in all clusters of the kind in parallel. The answer is a Status with a cause for each
// cluster; it is a failure if any cluster failed.
func (s *Server) deleteCollection(w http.ResponseWriter, c call, clusters []string) {
	var members []fleet.Member
	for _, scope := range c.view.selected.kinds[c.resource()].kind.Scopes {
		m, ok := c.view.member(scope.Cluster)
		if ok && (clusters == nil || slices.Contains(clusters, m.Name)) &&
			(len(scope.Namespaces) == 0 || slices.Contains(scope.Namespaces, c.info.Namespace)) {
			members = append(members, m)
		}
	}
	body, err := s.readBody(w, c)
	if err != nil {
		c.fail(w, err)
		return
	}
	results := make([]metav1.StatusCause, len(members))
	codes := make([]int, len(members))
	var group sync.WaitGroup
	for i, m := range members {
		group.Go(func() {
			code, message := s.deleteIn(c, m, body)
			codes[i] = code
			results[i] = metav1.StatusCause{Type: metav1.CauseType(http.StatusText(code)), Field: "cluster/" + m.Name, Message: message}
		})
	}
	group.Wait()
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Code: http.StatusOK,
		Details: &metav1.StatusDetails{Group: c.info.APIGroup, Kind: c.info.Resource, Causes: results},
	}
	if i := slices.IndexFunc(codes, func(code int) bool { return code >= http.StatusBadRequest }); i >= 0 {
		status.Status, status.Code = metav1.StatusFailure, int32(codes[i])
		status.Message = fmt.Sprintf("cluster %s: %s", members[i].Name, results[i].Message)
	}
	c.answer(w, int(status.Code), status)
}

func (s *Server) deleteIn(c call, m fleet.Member, body []byte) (int, string) {
	if err := writable(m); err != nil {
		return http.StatusServiceUnavailable, err.Error()
	}
	mapped, err := s.mappingFor(c, m).Request(c.Header.Get("Content-Type"), body)
	if err != nil {
		return http.StatusBadRequest, err.Error()
	}
	code, _, answer, err := s.exchange(c, m, mapped)
	if err != nil {
		return http.StatusServiceUnavailable, err.Error()
	}
	if code < http.StatusBadRequest {
		return code, "deleted"
	}
	var status metav1.Status
	if json.Unmarshal(answer, &status) != nil || status.Message == "" {
		status.Message = http.StatusText(code)
	}
	return code, status.Message
}
