package explain

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/names"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// Receiver is who receives the requests for a destination: the instances of a workload, or what is outside of the mesh.
type Receiver struct {
	// Workload is empty for what no workload of the mesh describes.
	Workload model.Key `json:"workload,omitzero"`
	// Service is the Service whose address the destination has; empty if there is none.
	Service string `json:"service,omitempty"`
	// Share is the fraction of the requests for the destination, from 0 to 1.
	Share float64 `json:"share"`
	// Ready and Instances count pods.
	Ready     int `json:"ready"`
	Instances int `json:"instances"`
	// Port is the port on which the instances get the request.
	Port uint16 `json:"port,omitempty"`
	// TLS is how the sidecar of the sender connects; nil without TLS.
	TLS *TLS `json:"tls,omitempty"`
	// InboundDecision is the decision of the sidecar of the receiver, or says why it does not get the connection; nil if
	// the receiver has no sidecar.
	InboundDecision *model.Decision `json:"inboundDecision,omitempty"`
	// Limits end the request.
	Limits Limits `json:"limits,omitzero"`
	// Failure is what the client gets; nil if the request reaches the application.
	Failure *Failure `json:"failure,omitempty"`
	// Pods are the instances.
	Pods []types.NamespacedName `json:"-"`

	ready, all weight
	bare       bool       // the instances have no sidecar
	around     model.Step // why connections go around the sidecar; without text if they do not
	undeclared bool       // no workload describes the destination
}

// weight is the sum of the weights of endpoints.
type weight uint64

// finder finds the receivers of destinations.
type finder struct {
	state    *engine.State
	services map[types.NamespacedName]*corev1.Service
	pods     map[types.NamespacedName]*corev1.Pod
	members  map[types.NamespacedName]model.Key // workloads of pods
	resolver *names.Resolver
	captures map[*corev1.Pod]capture // those that were asked for
	// live is true if the pods are from a cluster. Pods from files have no addresses and are never ready.
	live bool
}

func newFinder(s *engine.State) *finder {
	f := &finder{
		state: s, services: map[types.NamespacedName]*corev1.Service{}, pods: map[types.NamespacedName]*corev1.Pod{},
		members: map[types.NamespacedName]model.Key{}, resolver: names.NewResolver(s),
		captures: map[*corev1.Pod]capture{},
	}
	for _, o := range s.Objects {
		name := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
		switch o := o.(type) {
		case *corev1.Service:
			f.services[name] = o
		case *corev1.Pod:
			f.pods[name] = o
			f.live = f.live || len(names.Known(store.Addresses(o))) > 0
		}
	}
	for _, e := range s.Index.Model.Endpoints {
		f.members[types.NamespacedName{Namespace: e.Instance.Namespace, Name: e.Instance.Name}] = e.Workload
	}
	return f
}

// receivers returns the receivers of a destination for senders in a namespace, and whether its endpoints are known
// to be none. Files may lack the pods: then the receiver is the workload of the destination.
func (f *finder) receivers(d model.Destination, from string) (all []Receiver, empty bool) {
	self := Receiver{Workload: model.Key{Mesh: d.Mesh, Name: d.Workload}, Port: d.Port, Share: 1}
	switch {
	case d.Nowhere():
		return nil, true
	case d.Discovery.Kind == model.DiscoverInstances:
		if all = f.instances(d); len(d.Discovery.Addresses) > 0 {
			all = append(all, fixed(d))
			shares(all, f.live)
			return all, false
		}
	case d.Discovery.Kind == model.DiscoverStatic || d.Workload == "":
		return []Receiver{{Port: d.Port, Share: 1}}, false
	default:
		var known bool
		if all, known = f.named(d, from); !known {
			return all, false
		}
	}
	if len(all) == 0 && !f.live && d.Workload != "" {
		if f.scaledToZero(self.Workload) {
			return nil, true
		}
		return []Receiver{self}, false
	}
	shares(all, f.live)
	return all, f.live && !slices.ContainsFunc(all, func(r Receiver) bool { return r.Ready > 0 })
}

// scaledToZero reports whether the files define pods of a workload, all with 0 replicas.
func (f *finder) scaledToZero(workload model.Key) bool {
	zero := false
	for name, of := range f.members {
		if pod := f.pods[name]; of == workload && pod != nil {
			if !manifest.NoReplicas(pod) {
				return false
			}
			zero = true
		}
	}
	return zero
}

// instances returns the receivers of a destination whose endpoints are discovered.
func (f *finder) instances(d model.Destination) []Receiver {
	var all []Receiver
	for _, e := range f.state.Index.DiscoveredEndpoints(d) {
		name := types.NamespacedName{Namespace: e.Instance.Namespace, Name: e.Instance.Name}
		pod := f.pods[name]
		if pod != nil && manifest.NoReplicas(pod) {
			continue
		}
		r := Receiver{Workload: e.Workload, Port: d.PortAt(e), bare: f.bare(pod), around: f.around(pod, d.PortAt(e))}
		all = add(all, r, name, e.Ready, weight(d.WeightAt(e)))
	}
	return all
}

// fixed returns the receiver at the configured addresses of a destination.
func fixed(d model.Destination) Receiver {
	n := len(d.Discovery.Addresses)
	out := Receiver{Port: d.Port, Instances: n, Ready: n}
	for _, a := range d.Discovery.Addresses {
		out.all += weight(max(a.Weight, 1))
	}
	out.ready = out.all
	return out
}

// named returns the receivers of a destination with a host name, for senders in a namespace. It reports false if
// its endpoints are not known.
func (f *finder) named(d model.Destination, from string) ([]Receiver, bool) {
	host := d.Discovery.Hostname
	name, inCluster := store.ServiceName(host, from)
	service := f.services[name]
	workload := model.Key{Mesh: d.Mesh, Name: d.Workload}
	// The DNS of the cluster knows names without dots, of which the sender has search domains, and complete names.
	short, complete := !strings.Contains(host, "."), strings.Count(host, ".") > 2
	switch {
	case f.live && inCluster && !short && complete != (service != nil):
		return nil, true
	case service == nil && (len(f.state.Index.Endpoints(workload)) > 0 || inCluster && !f.live):
		d.Discovery = model.Discovery{Kind: model.DiscoverInstances}
		return f.instances(d), true
	case service == nil:
		return []Receiver{{Port: d.Port, Share: 1}}, false
	case service.Spec.Type == corev1.ServiceTypeExternalName || len(service.Spec.Selector) == 0:
		return []Receiver{{Port: d.Port, Share: 1, Service: name.String()}}, false
	}
	var all []Receiver
	selector := labels.SelectorFromSet(service.Spec.Selector)
	for podName, pod := range f.pods {
		if podName.Namespace != name.Namespace || store.Terminated(pod) || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		port, served := targetPort(service, pod, d.Port)
		if !served || manifest.NoReplicas(pod) {
			continue
		}
		r := Receiver{
			Workload: f.members[podName], Service: name.String(), Port: port, bare: f.bare(pod), around: f.around(pod, port),
		}
		all = add(all, r, podName, store.Ready(pod), 1)
	}
	slices.SortFunc(all, func(a, b Receiver) int {
		return cmp.Or(a.Workload.Compare(b.Workload), cmp.Compare(a.Port, b.Port))
	})
	return all, true
}

// bare reports whether a pod has no sidecar. Pods of files get it when they are created.
func (f *finder) bare(pod *corev1.Pod) bool {
	if pod == nil || f.live {
		return pod != nil && !store.HasProxy(pod)
	}
	view := f.state.Views[f.members[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]]
	return view != nil && f.capture(view.Workload, pod).bare != ""
}

// targetPort returns the port of a pod behind a port of a Service, and false if there is none. A headless Service does
// not map ports.
func targetPort(service *corev1.Service, pod *corev1.Pod, port uint16) (uint16, bool) {
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		return port, true
	}
	for _, p := range service.Spec.Ports {
		if p.Port != int32(port) || p.Protocol != "" && p.Protocol != corev1.ProtocolTCP {
			continue
		}
		if name := p.TargetPort.StrVal; name != "" {
			return containerPort(pod, name)
		}
		return uint16(cmp.Or(p.TargetPort.IntVal, p.Port)), true
	}
	return 0, false
}

func containerPort(pod *corev1.Pod, name string) (uint16, bool) {
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == name {
				return uint16(p.ContainerPort), true
			}
		}
	}
	return 0, false
}

// add counts an endpoint.
func add(all []Receiver, r Receiver, pod types.NamespacedName, ready bool, w weight) []Receiver {
	i := slices.IndexFunc(all, func(o Receiver) bool {
		return o.Workload == r.Workload && o.Port == r.Port && o.bare == r.bare &&
			(o.around.Text == "") == (r.around.Text == "")
	})
	if i < 0 {
		i, all = len(all), append(all, r)
	}
	all[i].Instances++
	all[i].Pods = append(all[i].Pods, pod)
	all[i].all += w
	if ready {
		all[i].Ready++
		all[i].ready += w
	}
	return all
}

// shares computes the shares of receivers, in a cluster those of the pods that are ready.
func shares(all []Receiver, live bool) {
	of := func(r Receiver) weight {
		if live {
			return r.ready
		}
		return r.all
	}
	var total weight
	for _, r := range all {
		total += of(r)
	}
	for i := range all {
		if total > 0 {
			all[i].Share = float64(of(all[i])) / float64(total)
		}
	}
}
