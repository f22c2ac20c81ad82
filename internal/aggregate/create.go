package aggregate

import (
	"bytes"
	"io"
	"net/http"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"

	"anymesh.dev/anymesh/internal/aggregate/rewrite"
)

// noCreate says why objects of registered kinds are not created.
const noCreate = "objects of member clusters are created in the member cluster or by the control plane"

// create creates an object again in the cluster where it was deleted a short time ago, as the caller: kubectl replace
// --force deletes an object and creates it. For other objects, no cluster is the right one.
func (s *Server) create(w http.ResponseWriter, c call, clusters []string) {
	body, err := s.readBody(w, c)
	if err != nil {
		c.fail(w, err)
		return
	}
	name, err := rewrite.Name(c.Header.Get("Content-Type"), body)
	if err != nil {
		c.fail(w, s.requestError(c, err))
		return
	}
	former := s.cache.Deleted(c.resource(), c.info.Namespace, name, clusters)
	if len(former) > 1 {
		c.fail(w, ambiguous("existed", former))
		return
	}
	if len(former) == 0 || name == "" {
		s.metrics.refuse(reasonCreate)
		c.fail(w, apierrors.NewMethodNotSupported(c.resource().GroupResource(), "create: "+noCreate+"; create"))
		return
	}
	m, ok := c.view.member(former[0])
	if !ok {
		c.fail(w, apierrors.NewNotFound(c.resource().GroupResource(), name))
		return
	}
	if err := writable(m); err != nil {
		c.fail(w, err)
		return
	}
	if err := c.acceptable(); err != nil {
		c.fail(w, err)
		return
	}
	named := *c.info
	named.Name = name
	c.info = &named
	s.send(w, c, m, s.mappingFor(c, m), body)
}

// canCreate answers a SelfSubjectAccessReview about the creation of objects of a registered kind, which this server
// refuses. It returns false for other requests, whose body is not changed.
func (s *Server) canCreate(w http.ResponseWriter, c call) bool {
	if c.info.Verb != "create" || c.info.Resource != "selfsubjectaccessreviews" || c.info.APIGroup != authorizationv1.GroupName {
		return false
	}
	body, err := s.readBody(w, c)
	if err != nil {
		c.fail(w, err)
		return true
	}
	c.Body = io.NopCloser(bytes.NewReader(body))
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	review, is := o.(*authorizationv1.SelfSubjectAccessReview)
	if err != nil || !is || review.Spec.ResourceAttributes == nil {
		return false // the control plane says what is wrong
	}
	asked := review.Spec.ResourceAttributes
	if asked.Verb != "create" || asked.Subresource != "" || !slices.ContainsFunc(c.view.kinds(), func(k *registered) bool {
		r := k.kind.Resource
		return r.Group == asked.Group && r.Resource == asked.Resource &&
			slices.Contains([]string{"", "*", r.Version}, asked.Version)
	}) {
		return false
	}
	review.Status = authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: noCreate}
	kind := authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview")
	review.SetGroupVersionKind(kind)
	if negotiate(c.Header.Values("Accept"), false, true).protobuf {
		if text, err := objectBody(kind, review); err == nil {
			w.Header().Set("Content-Type", rewrite.Protobuf)
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(text)
			return true
		}
	}
	writeJSON(w, http.StatusCreated, review)
	return true
}
