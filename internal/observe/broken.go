package observe

import "anymesh.dev/anymesh/model"

// envBroken breaks a feature of the driver of the pod, and sends the requests whose result depends on it.
const envBroken = "ANYMESH_CONFORMANCE_BROKEN"

// resolveDestination returns a destination with its endpoints.
type resolveDestination func(destination model.Key) (model.ResolvedDestination, bool)

// renderedWithout returns what a driver that does not do what a feature says would render: a view and destinations
// without it.
func renderedWithout(f model.Feature, view *model.View, resolve resolveDestination) (*model.View, resolveDestination) {
	if other, decided := without(f, view); decided {
		view = other
	}
	return view, func(key model.Key) (model.ResolvedDestination, bool) {
		reach, found := resolve(key)
		d := &reach.Destination
		of := &model.View{}
		of.Destinations = []model.Destination{*d}
		if f == model.DestinationFeature(d.Protocol) || f == model.DiscoveryFeature(d.Discovery.Kind) {
			reach.Endpoints = nil // as in without
		}
		if h := d.HealthCheck; h != nil && f == model.Feature("healthCheck."+string(h.Protocol)) {
			d.HealthCheck = nil
		}
		if other, decided := without(f, of); decided {
			checks := d.HealthCheck
			*d = other.Destinations[0]
			d.HealthCheck = checks
		}
		return reach, found
	}
}
