package explain

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// FromOutsider explains a request of a pod without a sidecar, to a Service. The pod has the name, or its ServiceAccount
// has it: NAME or NAMESPACE/NAME. It reports false if there is no such pod.
func FromOutsider(s *engine.State, r Request, name, namespace string) (Result, bool) {
	find := newFinder(s)
	pod := find.outsider(strings.TrimPrefix(name, "pod/"), namespace)
	if pod == nil {
		return Result{}, false
	}
	at := model.NewOrigin(model.ObjectRef{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name})
	r.SetClient(find.addressOf(pod))
	a := Result{Request: r.Request, Workload: lookup.Workload{Workload: model.Workload{
		Key: model.Key{Name: pod.Namespace + "/" + pod.Name}, Origin: at,
	}}, kinds: dialect.KindNamesOfObjects(s.Objects)}
	a.Decision = model.Decision{Outcome: model.PassedThrough, Request: r.Request, Steps: []model.Step{
		{Text: fmt.Sprintf("pod %s/%s has no sidecar: it connects by itself", pod.Namespace, pod.Name), Origin: at},
	}}
	a.addDirect(s, find, r, pod.Namespace)
	return a, true
}

// addDirect adds the receivers of a request that no sidecar of the sender handles, and the findings.
func (a *Result) addDirect(s *engine.State, find *finder, r Request, from string) {
	defer func() { a.Findings = about(s, *a) }()
	d := model.Destination{
		Key: model.Key{Name: r.Name}, Port: r.Port, Protocol: r.Protocol,
		Discovery: model.Discovery{Kind: model.DiscoverDNS, Hostname: r.Name},
	}
	of, inCluster := store.ServiceName(r.Name, from)
	if r.Name == "" || !inCluster || find.services[of] == nil {
		return
	}
	t := Target{
		WeightedDestination: model.WeightedDestination{Destination: "Service " + of.String(), Weight: 1}, Share: 1,
		Port: r.Port, Protocol: r.Protocol, Found: d.Discovery, Live: find.live,
	}
	t.Receivers, _ = find.named(d, from)
	shares(t.Receivers, find.live)
	if len(t.Receivers) == 0 {
		t.Failure = &Failure{Error: ConnectionReset}
	}
	for i := range t.Receivers {
		t.Receivers[i].receiveFromOutside(s, r)
	}
	a.Targets = []Target{t}
}

// receiveFromOutside adds what the receiver does with a request of a client without a sidecar.
func (r *Receiver) receiveFromOutside(s *engine.State, from Request) {
	there := s.Views[r.Workload]
	if there == nil || r.bare {
		return
	}
	if r.around.Text != "" {
		r.goAround(from.Request)
		return
	}
	request := from.Request
	if l := listener(there.View, r.Port); from.ServerName != "" && l != nil && l.Protocol.Requests() {
		request.Protocol, request.TLS = l.Protocol, &model.Handshake{}
		request.Method, request.Path = "GET", "/"
	}
	request.Port, request.State = r.Port, model.State{}
	inbound := there.DecideInbound(request)
	r.InboundDecision, r.Failure = &inbound, failureOf(inbound.Outcome, from.Request)
}

// refusesDirect returns findings about what makes a connection go around the sidecar of the sender, to receivers that
// accept only what a sidecar sends.
func (f *finder) refusesDirect(a Result, at model.Origin) []model.Finding {
	var out []model.Finding
	for _, t := range a.Targets {
		refused := slices.ContainsFunc(t.Receivers, func(r Receiver) bool {
			view := f.state.Views[r.Workload]
			if r.Failure == nil || view == nil {
				return false
			}
			l := listener(view.View, r.Port)
			return l != nil && l.TLS != nil && l.TLS.Mode == model.TLSStrict
		})
		if refused {
			out = append(out, model.NewFinding(at, model.CodeBypass, fmt.Sprintf(
				"connections to port %d go around the sidecar, and %s accepts only TLS that a sidecar starts: they fail",
				a.Request.Port, t.Destination)))
		}
	}
	return out
}

// outsider returns a pod that is no instance of a workload, or nil.
func (f *finder) outsider(name, namespace string) *corev1.Pod {
	if before, after, qualified := strings.Cut(name, "/"); qualified {
		namespace, name = before, after
	}
	for _, o := range f.state.Objects {
		pod, is := o.(*corev1.Pod)
		if !is || pod.Namespace != namespace || store.Terminated(pod) {
			continue
		}
		_, member := f.members[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]
		if !member && (pod.Name == name || pod.Spec.ServiceAccountName == name) {
			return pod
		}
	}
	return nil
}

// addressOf returns the address of a pod, in files that of an EndpointSlice with it. It is invalid if there is none.
func (f *finder) addressOf(pod *corev1.Pod) netip.Addr {
	if all := store.Addresses(pod); len(all) > 0 {
		return all[0]
	}
	for _, o := range f.state.Objects {
		slice, is := o.(*discoveryv1.EndpointSlice)
		if !is {
			continue
		}
		for _, e := range slice.Endpoints {
			if e.TargetRef != nil && e.TargetRef.UID == pod.UID && len(e.Addresses) > 0 {
				if a, err := netip.ParseAddr(e.Addresses[0]); err == nil {
					return a
				}
			}
		}
	}
	return netip.Addr{}
}
