package aggregate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/fleet"
)

// knownKinds returns the kinds that any cluster offers or offered. Those of a group and version that no cluster told
// are those of the control plane. So a kind is served also while its clusters are away, or while there are none.
func (s *Server) knownKinds(ctx context.Context, groupVersions []string, members []fleet.Member) kindLists {
	known := make(kindLists, len(groupVersions))
	for _, gv := range groupVersions {
		lists := []*metav1.APIResourceList{s.known[gv]}
		for _, m := range members {
			lists = append(lists, m.Resources[gv])
		}
		if known[gv] = union(lists); known[gv] != nil {
			continue
		}
		if list, err := s.controlPlaneKinds(ctx, gv); err == nil {
			known[gv] = list
		} else if ctx.Err() == nil {
			s.config.Log.Debug("the control plane does not tell its kinds", "groupVersion", gv, "error", err)
		}
	}
	return known
}

// union returns the kinds of lists; nil if there are none.
func union(lists []*metav1.APIResourceList) *metav1.APIResourceList {
	var out *metav1.APIResourceList
	for _, list := range lists {
		if list == nil {
			continue
		}
		if out == nil {
			out = &metav1.APIResourceList{}
		}
		for _, r := range list.APIResources {
			if !slices.ContainsFunc(out.APIResources, func(o metav1.APIResource) bool { return o.Name == r.Name }) {
				out.APIResources = append(out.APIResources, r)
			}
		}
	}
	return out
}

func (s *Server) controlPlaneKinds(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error) {
	path := "/apis/" + groupVersion
	if !strings.Contains(groupVersion, "/") {
		path = "/api/" + groupVersion
	}
	ctx, cancel := context.WithTimeout(ctx, definitionsTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.controlPlane.URL.JoinPath(path).String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	response, err := s.controlPlane.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxAnswerSize))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: status %d", path, response.StatusCode)
	}
	list := &metav1.APIResourceList{}
	return list, json.Unmarshal(body, list)
}
