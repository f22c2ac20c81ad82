package explain

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// around returns the step about inbound connections to a port that go around the sidecar of a pod, which has a listener
// on the port; it has no text for those that the sidecar gets. The pod may be nil.
func (f *finder) around(pod *corev1.Pod, port uint16) model.Step {
	if pod == nil || port == sidecar.AgentPort {
		return model.Step{}
	}
	view := f.state.Views[f.members[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]]
	if view == nil || listener(view.View, port) == nil {
		return model.Step{}
	}
	c := f.capture(view.Workload, pod)
	step := model.Step{
		Text:   fmt.Sprintf("port %d is not captured: the connection goes around the sidecar to the application", port),
		Origin: model.NewOrigin(dialect.RefOf(pod)),
	}
	switch {
	case c.pod == nil || c.all.Captures(int(port)):
		return model.Step{}
	case c.own.Captures(int(port)):
		step.Origin = c.all.Settings
	}
	return step
}

// intoUncaptured explains a request that the sidecar of the receiver does not get: the pod has none, or it does not
// capture the port. It reports false for other requests.
func (f *finder) intoUncaptured(w lookup.Workload, r Request) (Result, bool) {
	pod := f.podOf(w)
	if pod == nil || r.Socket != "" {
		return Result{}, false
	}
	step := f.around(pod, r.Port)
	if c := f.capture(w.Workload, pod); c.bare != "" {
		step = model.Step{
			Text:   fmt.Sprintf("pod %s/%s has no sidecar: %s", pod.Namespace, pod.Name, c.bare),
			Origin: model.NewOrigin(dialect.RefOf(pod)),
		}
	}
	if step.Text == "" {
		return Result{}, false
	}
	a := Result{
		Request: r.Request, Workload: w, Inbound: true, kinds: dialect.KindNamesOfObjects(f.state.Objects),
		into: w.Origin.Object(), Decision: model.Decision{
			Outcome: model.ToApplication, Request: r.Request, Steps: []model.Step{step},
		},
	}
	a.Findings = about(f.state, a)
	return a, true
}

// goAround sets the decision about a request that goes around the sidecar of the receiver.
func (r *Receiver) goAround(request model.Request) {
	if r.around.Text != "" && !r.bare {
		r.InboundDecision = &model.Decision{
			Outcome: model.ToApplication, Request: request, Steps: []model.Step{r.around},
		}
	}
}
