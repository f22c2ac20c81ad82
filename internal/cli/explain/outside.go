package explain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Owner is an object on the path of a request that is written for another one, such as an Ingress of a Route.
type Owner struct {
	Object model.ObjectRef `json:"object"`
	Owner  model.ObjectRef `json:"owner"`
	// Part is the rest of the name of the object after that of the owner: the rule of a Route.
	Part string `json:"part,omitempty"`
}

// FromOutside explains a request from outside: that of the gateway which serves it. If no gateway serves it, it is
// refused by the first one. An error means that there is no gateway, or that several serve the request.
func FromOutside(s *engine.State, r Request) (Result, error) {
	var best []Result
	for _, w := range s.Index.Model.Workloads {
		if w.Role != model.RoleGateway {
			continue
		}
		a := Into(s, lookup.Workload{Workload: w}, r)
		switch {
		case len(best) == 0 || a.rank() > best[0].rank():
			best = []Result{a}
		case a.rank() == best[0].rank():
			best = append(best, a)
		}
	}
	switch {
	case len(best) == 0:
		return Result{}, errors.New("there is no gateway: use --from (the workload that sends the request)")
	case len(best) > 1 && best[0].rank() > 0:
		var names []string
		for _, a := range best {
			names = append(names, a.Workload.Key.String())
		}
		return Result{}, fmt.Errorf("several gateways serve the request: use --into with one of %s", strings.Join(names, ", "))
	}
	if best[0].rank() == 0 {
		best[0].addElsewhere(s)
	}
	best[0].addOwner(s)
	return best[0], nil
}

// addElsewhere adds who serves the host, if another controller does.
func (a *Result) addElsewhere(s *engine.State) {
	for _, d := range dialect.Implementing[dialect.Elsewhere](dialect.All()) {
		if at, text, is := d.ServedElsewhere(s.Objects, a.Request.Host); is {
			a.Decision.Steps = append(a.Decision.Steps, model.Step{Origin: at, Text: text})
			return
		}
	}
}

// rank orders the answers of gateways: 0 for a gateway that does not have the host or path.
func (a Result) rank() int {
	switch a.Decision.Outcome {
	case model.NotFound, model.Refused:
		return 0
	}
	return 1
}

// addOwner adds the owner of the object that decides.
func (a *Result) addOwner(s *engine.State) {
	if len(a.Decision.Steps) == 0 {
		return
	}
	ref := a.Decision.Steps[len(a.Decision.Steps)-1].Origin.Object()
	for _, o := range s.Objects {
		if o.GetNamespace() != ref.Namespace || o.GetName() != ref.Name || dialect.RefOf(o) != ref {
			continue
		}
		if by := metav1.GetControllerOf(o); by != nil {
			group, _, _ := strings.Cut(by.APIVersion, "/")
			a.Owner = &Owner{Object: ref, Owner: model.ObjectRef{
				Group: group, Kind: by.Kind, Namespace: ref.Namespace, Name: by.Name,
			}}
			if part, is := strings.CutPrefix(ref.Name, by.Name+"-"); is {
				a.Owner.Part = part
			}
		}
	}
}

// changedHeaders returns the headers that the mesh sets.
func changedHeaders(before, after model.Request) []model.Header {
	var out []model.Header
	for _, h := range after.Headers {
		if !slices.Contains(before.Headers, h) {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b model.Header) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
