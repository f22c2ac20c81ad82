package config

import "errors"

// RouteMetrics are labels of the metrics of a route. Routes with equal labels are counted together.
type RouteMetrics struct {
	// Service is the label anymesh_service.
	Service string `json:"service"`
	// Route is the label anymesh_route.
	Route string `json:"route,omitempty"`
}

func (m *RouteMetrics) check(map[string]bool) error {
	if m.Service == "" {
		return errors.New("service: is required")
	}
	return nil
}
