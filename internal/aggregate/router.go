package aggregate

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate/version"
)

// prefix is the path of the group version that this server serves.
var prefix = "/apis/" + searchv1.GroupVersion.String()

var requestInfos = &request.RequestInfoFactory{
	APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
}

// call is a request with what the router knows of it.
type call struct {
	*http.Request
	info *request.RequestInfo
	user user.Info
	// view is the state at the start of the request.
	view *view
	// format is that of the answer for a registered kind.
	format format
}

func (c call) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: c.info.APIGroup, Version: c.info.APIVersion, Resource: c.info.Resource}
}

// innerPath removes the prefix of the aggregated API: /proxying/<path>, /proxying/<name>/proxy/<path> and
// /search/cache/<path>. The second result is false for other paths of the group version.
func innerPath(path string) (string, bool) {
	if rest, ok := strings.CutPrefix(path, searchPath); ok {
		return "/" + rest, true
	}
	rest, ok := strings.CutPrefix(path, prefix+"/proxying/")
	if !ok {
		return path, !strings.HasPrefix(path, prefix+"/") && path != prefix
	}
	if _, after, found := strings.Cut(rest, "/"); found {
		if inner, ok := strings.CutPrefix(after, "proxy/"); ok {
			return "/" + inner, true
		}
	}
	return "/" + rest, true
}

// ServeHTTP authenticates a request, and answers it unless there are too many. Requests of unknown users take no slot.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = withIdentity(r)
	caller, err := s.authenticate(r)
	if err != nil {
		writeError(w, err)
		return
	}
	if ticket, ok := s.inFlight.acquire(w); ok {
		defer ticket.release()
		s.serve(w, r, caller, ticket)
	}
}

// serve answers a request from the cache, a member cluster or the control plane.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, caller user.Info, t *ticket) {
	s.impersonating(w, r, caller, func(w http.ResponseWriter, r *http.Request, as user.Info) {
		removeIdentity(r.Header)
		s.serveAs(w, r, as, t)
	})
}

// serveAs answers a request of a user.
func (s *Server) serveAs(w http.ResponseWriter, r *http.Request, as user.Info, t *ticket) {
	inner, ok := innerPath(r.URL.Path)
	c := call{Request: r, user: as, view: s.view.Load()}
	if !ok {
		s.serveGroup(w, c, t)
		return
	}
	if isAPIServer(as.GetName()) {
		s.serveAPIServer(w, c)
		return
	}
	if !s.refreshed.Load() {
		// Without the registries every request would be answered by the control plane.
		err := apierrors.NewServiceUnavailable("the aggregator reads the Clusters and ResourceRegistries; try again")
		err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
		writeError(w, err)
		return
	}
	c.Request = r.Clone(request.WithUser(r.Context(), as))
	c.URL.Path, c.URL.RawPath = inner, ""
	var err error
	if c.info, err = requestInfos.NewRequestInfo(c.Request); err != nil {
		writeError(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	if strings.HasPrefix(r.URL.Path, searchPath) {
		if err := checkSearch(c); err != nil {
			writeError(w, err)
			return
		}
	}
	if w, ok = s.admitStream(w, c, t); ok {
		s.route(w, c)
	}
}

func (s *Server) route(w http.ResponseWriter, c call) {
	if !c.info.IsResourceRequest {
		if s.serveDiscovery(w, c) {
			return
		}
		s.passOn(w, c)
		return
	}
	kind, ok := c.view.selected.kinds[c.resource()]
	if !ok && c.view.selected.unresolved[c.resource()] {
		writeError(w, apierrors.NewServiceUnavailable(fmt.Sprintf("no cluster of the ResourceRegistries that select %s was reached",
			c.resource().GroupResource())))
		return
	}
	if !ok {
		if !s.canCreate(w, c) {
			s.passOn(w, c)
		}
		return
	}
	c.format = negotiate(c.Header.Values("Accept"), c.info.Verb == "watch", kind.hasProtobuf())
	if c.info.Verb == "" { // OPTIONS and others
		c.fail(w, apierrors.NewMethodNotSupported(c.resource().GroupResource(), c.Method))
		return
	}
	if err := s.authorize(c.Context(), c, ""); err != nil {
		c.fail(w, err)
		return
	}
	clusters, err := s.clusters(c)
	if err != nil {
		c.fail(w, err)
		return
	}
	switch verb := c.info.Verb; {
	case c.info.Subresource == "" && slices.Contains([]string{"get", "list", "watch"}, verb):
		s.read(w, c, kind, clusters)
	case verb == "create" && c.info.Name == "":
		s.create(w, c, clusters)
	case verb == "deletecollection":
		s.deleteCollection(w, c, clusters)
	default:
		s.write(w, c, clusters)
	}
}

// passOn passes a request on to the control plane, as the caller. A watch ends when a registry selects its kind.
func (s *Server) passOn(w http.ResponseWriter, c call) {
	if err := fromCache(c); err != nil {
		writeError(w, err)
		return
	}
	if c.info.IsResourceRequest && c.info.Verb == "watch" {
		ctx, release := s.passed.add(c.Context(), c.resource(), nil)
		defer release()
		if _, ok := s.view.Load().selected.kinds[c.resource()]; ok {
			writeError(w, apierrors.NewResourceExpired("resourceVersion: the kind is cached now; list again"))
			return
		}
		c.Request = c.WithContext(ctx)
	}
	forward(w, c.Request, s.controlPlane, c.user, "the control plane", s.config.Log)
}

// fromCache returns an error for a list or watch of the control plane whose version is that of the cache, which had
// the kind before. The control plane would answer 400, and informers would never list again.
func fromCache(c call) error {
	text := c.URL.Query().Get("resourceVersion")
	if !c.info.IsResourceRequest || text == "" || c.info.Verb != "watch" && c.info.Verb != "list" {
		return nil
	}
	if v, err := version.Parse(text); err == nil && len(v.Components) > 0 || version.IsIssued(text) {
		return apierrors.NewResourceExpired("resourceVersion: the kind is no longer cached; list again")
	}
	return nil
}

// authorize asks the control plane whether the caller may do what the inner request does, or, with a cluster, whether
// the caller may use this cluster.
func (s *Server) authorize(ctx context.Context, c call, cluster string) error {
	attributes := authorizer.AttributesRecord{
		User: c.user, Verb: c.info.Verb, Namespace: c.info.Namespace, APIGroup: c.info.APIGroup,
		APIVersion: c.info.APIVersion, Resource: c.info.Resource, Subresource: c.info.Subresource, Name: c.info.Name,
		ResourceRequest: true, Path: c.info.Path,
	}
	if cluster != "" {
		attributes = authorizer.AttributesRecord{
			User: c.user, Verb: "access", APIGroup: clusterv1.GroupVersion.Group,
			APIVersion: clusterv1.GroupVersion.Version, Resource: "clusters", Name: cluster, ResourceRequest: true,
		}
	}
	decision, reason, err := s.authorizer.Authorize(ctx, attributes)
	if err != nil {
		return apierrors.NewServiceUnavailable("the control plane does not authorize the request: " + err.Error())
	}
	if decision != authorizer.DecisionAllow {
		what := schema.GroupResource{Group: attributes.APIGroup, Resource: attributes.Resource}
		return apierrors.NewForbidden(what, attributes.Name, fmt.Errorf("user %q cannot %s it: %s", c.user.GetName(),
			attributes.Verb, strings.TrimSpace(reason+" by RBAC of the control plane")))
	}
	return nil
}

// pinned returns the cluster that the request selects, or an empty string.
func pinned(c call) string {
	return cmp.Or(c.URL.Query().Get(clusterParameter), c.Header.Get(clusterHeader))
}

// clusters returns the clusters that the request may use: nil for all. A pinned cluster has to be a member.
func (s *Server) clusters(c call) ([]string, error) {
	if pin := pinned(c); pin != "" {
		if _, ok := c.view.member(pin); !ok {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("cluster %.253q is not a member cluster", pin))
		}
		if s.config.AuthorizeClusters {
			if err := s.authorize(c.Context(), c, pin); err != nil {
				return nil, err
			}
		}
		return []string{pin}, nil
	}
	if !s.config.AuthorizeClusters {
		return nil, nil
	}
	allowed := []string{}
	for _, m := range c.view.members {
		err := s.authorize(c.Context(), c, m.Name)
		if err == nil {
			allowed = append(allowed, m.Name)
		} else if !apierrors.IsForbidden(err) {
			return nil, err
		}
	}
	return allowed, nil
}
