package aggregate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/rewrite"
	"anymesh.dev/anymesh/internal/aggregate/version"
	"anymesh.dev/anymesh/internal/fleet"
)

// mappingFor maps versions in a request to those of the member that has the object, and back.
func (s *Server) mappingFor(c call, m fleet.Member) rewrite.Mapping {
	mapping := rewrite.Mapping{Annotation: cache.ClusterAnnotation, Cluster: m.Name}
	if s.config.IntegerVersions {
		mapping.In = func(text string) (string, error) {
			return s.cache.MemberVersion(c.resource(), m.Name, c.info.Namespace, c.info.Name, text)
		}
		mapping.Out = func(text string) (string, error) { return s.integer(c, m, text) }
		return mapping
	}
	identity := version.Identity(m.Identity)
	mapping.In = func(text string) (string, error) { return version.ForCluster(text, m.Name, identity) }
	mapping.Out = func(text string) (string, error) {
		number, err := version.Number(text)
		return version.Object(version.Component{Cluster: m.Name, Identity: identity, Version: number}), err
	}
	return mapping
}

// integer returns the version of the answer to a write, which the cache gives to the event of the write.
func (s *Server) integer(c call, m fleet.Member, text string) (string, error) {
	number, err := version.Number(text)
	if err != nil {
		return "", err
	}
	integer, found := s.cache.IntegerOf(c.resource(), m.Name, c.info.Namespace, c.info.Name, number)
	if !found && c.Method != http.MethodDelete { // the version of a deleted object has no use
		return "", apierrors.NewTimeoutError(fmt.Sprintf("cluster %s has accepted the write, but the aggregator did not get its "+
			"event in time; get the object again", m.Name), 1)
	}
	return integer, nil
}

// waitFor waits until the cache has the result of a write, so that a client that reads next sees its own write. The
// write succeeded: if the cache does not catch up, the answer is not worse than that of another replica.
func (s *Server) waitFor(c call, m fleet.Member, answer []byte) {
	var o metav1.PartialObjectMetadata
	if json.Unmarshal(answer, &o) != nil || o.ResourceVersion == "" {
		return
	}
	at, err := version.Number(o.ResourceVersion)
	if err != nil {
		return
	}
	limit := MaxWriteWait
	if s.config.IntegerVersions {
		limit = MaxIntegerWait
	}
	ctx, cancel := context.WithTimeout(c.Context(), limit)
	defer cancel()
	s.metrics.waited(s.cache.Wait(ctx, c.resource(), m.Name, at))
}
