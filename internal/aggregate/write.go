package aggregate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/rewrite"
	"anymesh.dev/anymesh/internal/aggregate/version"
	"anymesh.dev/anymesh/internal/fleet"
)

// streaming are the subresources whose answers are streams or belong to the container.
var streaming = []string{"log", "exec", "attach", "portforward", "proxy"}

// owner returns the member cluster that has an object.
func (s *Server) owner(c call, clusters []string) (fleet.Member, error) {
	name := c.objectName()
	owners := s.cache.Owner(c.resource(), c.info.Namespace, name)
	if clusters != nil {
		owners = slices.DeleteFunc(slices.Clone(owners), func(o string) bool { return !slices.Contains(clusters, o) })
	}
	what := c.resource().GroupResource()
	switch len(owners) {
	case 0:
		return fleet.Member{}, s.cache.Absent(c.resource(), name, clusters)
	case 1:
		m, ok := c.view.member(owners[0])
		if !ok {
			return m, apierrors.NewNotFound(what, name)
		}
		return m, writable(m)
	}
	return fleet.Member{}, ambiguous("exists", owners)
}

// ambiguous is the error of a request for an object that several clusters have or had. Clients retry status 409, and
// advise to force a server-side apply.
func ambiguous(verb string, clusters []string) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the object %s in the clusters %s; name one with the parameter ?%s= or the "+
		"header %s", verb, strings.Join(clusters, ", "), clusterParameter, clusterHeader))
}

// writable returns 503 for a member that takes no writes: clients should not wait for a cluster of which it is known
// that it does not answer.
func writable(m fleet.Member) error {
	switch {
	case m.Impersonator == nil:
		return apierrors.NewServiceUnavailable(fmt.Sprintf("Cluster %s has no spec.impersonatorSecretRef, which "+
			"writes and subresources require; join the cluster again or set the field", m.Name))
	case m.Away != "":
		return apierrors.NewServiceUnavailable(fmt.Sprintf("cluster %s does not answer since %s: %s", m.Name,
			m.AwaySince.UTC().Format(time.RFC3339), m.Away))
	}
	return nil
}

// objectName returns the name of the object of a request. Requests for a port of a pod, Service or node have the scheme
// and the port beside it.
func (c call) objectName() string {
	if c.info.Subresource == "proxy" {
		if _, name, _, ok := utilnet.SplitSchemeNamePort(c.info.Name); ok {
			return name
		}
	}
	return c.info.Name
}

// write passes a write or a subresource on to the owner of the object, as the caller.
func (s *Server) write(w http.ResponseWriter, c call, clusters []string) {
	m, err := s.owner(c, clusters)
	if err != nil {
		c.fail(w, err)
		return
	}
	if slices.Contains(streaming, c.info.Subresource) {
		forward(w, c.Request, m.Impersonator, c.user, "cluster "+m.Name, s.config.Log)
		return
	}
	if err := c.acceptable(); err != nil {
		c.fail(w, err)
		return
	}
	mapping := s.mappingFor(c, m)
	body, err := s.readBody(w, c)
	if err != nil {
		c.fail(w, err)
		return
	}
	// some kinds are created by an update, and all by server-side apply
	update := c.Method == http.MethodPut && c.info.Subresource == ""
	if update || strings.HasPrefix(c.Header.Get("Content-Type"), rewrite.Apply) {
		if mapping.UID, err = s.uid(c, m); err != nil {
			c.fail(w, err)
			return
		}
	}
	s.send(w, c, m, mapping, body)
}

// send sends the body of a write to a member as the caller, and answers with the answer of the member.
func (s *Server) send(w http.ResponseWriter, c call, m fleet.Member, mapping rewrite.Mapping, body []byte) {
	mapped, err := mapping.Request(c.Header.Get("Content-Type"), body)
	if err != nil {
		c.fail(w, s.requestError(c, err))
		return
	}
	code, header, answer, err := s.exchange(c, m, mapped)
	if err == nil && code < http.StatusBadRequest {
		s.waitFor(c, m, answer)
	}
	if err == nil && strings.HasPrefix(header.Get("Content-Type"), rewrite.JSON) {
		if answer, err = mapping.Response(answer); err == nil && c.format.protobuf {
			if converted, ok := protobufOf(answer); ok {
				answer = converted
				header.Set("Content-Type", rewrite.Protobuf)
			}
		}
	}
	if err != nil {
		if !apierrors.IsTimeout(err) {
			err = apierrors.NewServiceUnavailable(fmt.Sprintf("cluster %s: %v", m.Name, err))
		}
		c.fail(w, err)
		return
	}
	for _, name := range []string{"Content-Type", "Warning", "Retry-After", "Audit-Id"} {
		w.Header()[name] = header[name]
	}
	w.WriteHeader(code)
	_, _ = w.Write(answer)
}

func (s *Server) readBody(w http.ResponseWriter, c call) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, c.Body, MaxRequestSize))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		s.metrics.refuse(reasonRequestSize)
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d bytes", MaxRequestSize))
	case err != nil:
		return nil, apierrors.NewBadRequest("reading the body: " + err.Error())
	}
	return body, nil
}

// uid returns the uid of the object that the owner has, so that a write cannot create one.
func (s *Server) uid(c call, m fleet.Member) (string, error) {
	o, _, err := s.cache.Get(c.Context(), c.resource(), c.info.Namespace, c.info.Name,
		cache.GetOptions{ResourceVersion: version.Any, Clusters: []string{m.Name}})
	if err != nil {
		return "", err
	}
	return uidOf(o.AppendJSON(nil))
}

// requestError is the answer to a body that cannot be mapped.
func (s *Server) requestError(c call, err error) error {
	switch {
	case errors.Is(err, version.ErrMissing), errors.Is(err, version.ErrRebuilt):
		return apierrors.NewConflict(c.resource().GroupResource(), c.info.Name, err)
	case errors.Is(err, rewrite.ErrTooManyOperations):
		s.metrics.refuse(reasonPatchOperations)
		return apierrors.NewRequestEntityTooLargeError(err.Error())
	case errors.Is(err, rewrite.ErrMediaType):
		status := apierrors.NewBadRequest(err.Error())
		status.ErrStatus.Code, status.ErrStatus.Reason = http.StatusUnsupportedMediaType, "UnsupportedMediaType"
		return status
	}
	return apierrors.NewBadRequest(err.Error())
}

// exchange sends a request with a body to a member as the caller, and reads the answer.
func (s *Server) exchange(c call, m fleet.Member, body []byte) (int, http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(c.Context(), s.writeTimeout)
	defer func() {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			s.metrics.refuse(reasonWriteTimeout)
		}
		cancel()
	}()
	location := *m.Impersonator.URL
	location.Path = m.Impersonator.URL.JoinPath(c.URL.Path).Path
	location.RawQuery = withoutCluster(c.URL)
	r, err := http.NewRequestWithContext(ctx, c.Method, location.String(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	if value := c.Header.Get("Content-Type"); value != "" {
		r.Header.Set("Content-Type", value)
	}
	r.Header.Set("Accept", rewrite.JSON)
	if c.format.form == formPartial {
		r.Header.Set("Accept", rewrite.JSON+";as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"+rewrite.JSON)
	}
	r.Header.Set("User-Agent", c.UserAgent())
	impersonate(r.Header, c.user)
	response, err := m.Impersonator.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, MaxAnswerSize+1))
	if err == nil && len(answer) > MaxAnswerSize {
		s.metrics.refuse(reasonAnswerSize)
		err = errors.New("the answer has more than " + strconv.Itoa(MaxAnswerSize) + " bytes")
	}
	return response.StatusCode, response.Header, answer, err
}
