package sidecar

import (
	"context"
	"encoding/json"
	"time"

	"anymesh.dev/anymesh/model"
)

// ClassAnnotation is the annotation of a pod, or of its namespace, that names the pod's driver. The one of the pod counts more, and the
// default is used where neither has it. The injector writes it onto the pod: a sidecar keeps its driver until its pod is replaced.
const ClassAnnotation = "anymesh.dev/sidecarClass"

// Driver must be implemented by a sidecar driver. Patch is called when a pod of its class is admitted, Start once when the control
// plane starts. Several drivers serve side by side; the driver is a property of a pod.
type Driver interface {
	// Patch says what the sidecar needs in the pod of the InjectorContext in ctx. It changes that context's Pod or Sidecar and
	// nothing else: it has no side effects in the cluster, so that the answer to a dry run is the answer.
	Patch(ctx context.Context) error
	// Start begins to serve the driver's sidecars and says how the health of the driver is probed.
	Start(ctx context.Context) (HealthProbes, error)
}

// Renderer turns views into configuration that the control plane delivers over xDS. Its methods are pure functions: the same view
// gives the same bytes.
type Renderer interface {
	// Supports lists the features of the model that the sidecar honours. What a view needs beyond it becomes a finding.
	Supports() map[model.Feature]bool
	// Render gives the resources that a workload's sidecars need besides those of its destinations. Findings say what of the view it
	// could not render.
	Render(view *model.View) ([]Resource, []model.Finding)
	// RenderDestination gives the resources that every sidecar needs that has the destination in its view. They are rendered once,
	// also when endpoints come and go, and shared by all.
	RenderDestination(reach model.ResolvedDestination) []Resource
}

// Configuration gives all that a workload's sidecars get: what its view needs, and each of its destinations.
func Configuration(r Renderer, view *model.View, reach func(destination model.Key) (model.ResolvedDestination, bool)) ([]Resource, []model.Finding) {
	resources, findings := r.Render(view)
	for _, d := range view.Destinations {
		if leads, ok := reach(d.Key); ok {
			resources = append(resources, r.RenderDestination(leads)...)
		}
	}
	return resources, findings
}

// Resource is one named piece of a sidecar's configuration.
type Resource struct {
	// Type is the xDS type URL, Name its name within the type.
	Type string
	Name string
	// Body is the encoded message.
	Body []byte
	// Origins are the fields that the resource comes from; a sidecar's complaint about it is reported there.
	Origins []model.Origin
}

// MarshalJSON shows the resource to people: a body that is JSON as it is, any other in base64.
func (r Resource) MarshalJSON() ([]byte, error) {
	var body any = r.Body
	if json.Valid(r.Body) {
		body = json.RawMessage(r.Body)
	}
	return json.Marshal(struct {
		Type string `json:"type"`
		Name string `json:"name"`
		Body any    `json:"body"`
	}{r.Type, r.Name, body})
}

// HealthProbes says how the health of a sidecar driver is probed. A nil probe always succeeds.
type HealthProbes struct {
	Liveness, Readiness, Startup *HealthProbe
}

// HealthProbe is an endpoint that tells the status of a sidecar driver.
type HealthProbe struct {
	// Path is the path of an HTTP probe.
	Path string
	// Port is the port on the loopback address of the control plane.
	Port int32
	// HTTP asks for a GET of Path that is answered with a status from 200 to 399.
	HTTP bool
	// Timeout bounds the probe; zero means one second.
	Timeout time.Duration
	// TCPSocket asks for a connection only.
	TCPSocket bool
}
