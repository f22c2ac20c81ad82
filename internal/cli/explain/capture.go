package explain

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/names"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/pod/inject"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// capture is what decides whether the sidecar of a workload gets the connections of its application.
type capture struct {
	// pod is nil if it is not known; then the sidecar gets all.
	pod *corev1.Pod
	// bare says why the pod has no sidecar.
	bare string
	// users is the step about containers whose connections are not captured; it has no text if there are none. others
	// reports that the connections of other containers are.
	users  model.Step
	others bool
	// own are the options of the pod by the dialect of this title, and all those with the settings of the mesh.
	own, all dialect.PodOptions
	title    string
}

// capture returns the capture of a pod of a workload.
func (f *finder) capture(w model.Workload, pod *corev1.Pod) capture {
	if pod == nil || w.Role == model.RoleGateway {
		return capture{}
	}
	known, is := f.captures[pod]
	if !is {
		known = f.readCapture(w, pod)
		f.captures[pod] = known
	}
	return known
}

func (f *finder) readCapture(w model.Workload, pod *corev1.Pod) capture {
	for _, d := range dialect.Implementing[dialect.Injection](dialect.All()) {
		if _, own := d.(dialect.PodWorkloads); own {
			continue // its applications speak to the proxy
		}
		key, is, fault := d.SelectWorkload(f.state.Objects, pod, pod.Namespace)
		if fault != nil || !is || key.Name != w.Name {
			continue
		}
		out := capture{pod: pod, bare: f.whyBare(d, pod), title: d.Title()}
		var err error
		if out.own, err = d.PodOptions(pod, w); err != nil {
			return capture{}
		}
		out.users, out.others = proxyUsers(pod, out.own)
		out.all = out.own
		settings, has := d.(dialect.SidecarSettings)
		if has && settings.AddPodOptions(f.state.Objects, nil, &out.all) != nil {
			out.all = out.own
		}
		return out
	}
	return capture{}
}

// whyBare says why a pod has no sidecar; empty if it has one. Pods of files get it when they are created.
func (f *finder) whyBare(d dialect.Injection, pod *corev1.Pod) string {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: pod.Namespace}}
	for _, o := range dialect.ObjectsOf[*corev1.Namespace](f.state.Objects) {
		if o.Name == pod.Namespace {
			ns = o
		}
	}
	why := dialect.NoSidecar(d, pod, ns)
	if !f.live || store.HasProxy(pod) {
		return why
	}
	return cmp.Or(why, "it was created without injection")
}

// proxyUsers returns the step about the containers that run as the user of the sidecar, and whether there are others.
func proxyUsers(pod *corev1.Pod, o dialect.PodOptions) (step model.Step, others bool) {
	users, others := inject.ProxyUsers(pod, o)
	if len(users) == 0 {
		return model.Step{}, others
	}
	who, connections := "container "+users[0]+" runs", "its connections go"
	if len(users) > 1 {
		who, connections = "containers "+strings.Join(users, " and ")+" run", "their connections go"
	}
	return model.Step{
		Text:   fmt.Sprintf("%s as user %d, the user of the sidecar: %s around the sidecar", who, sidecar.UID, connections),
		Origin: model.NewOrigin(dialect.RefOf(pod)),
	}, others
}

// uncaptured returns the step about connections of a workload that are not captured, if others of the pod are.
func (f *finder) uncaptured(w lookup.Workload) []model.Step {
	if c := f.capture(w.Workload, f.podOf(w)); c.users.Text != "" {
		return []model.Step{c.users}
	}
	return nil
}

// fromUncaptured explains a request of a workload that its sidecar does not handle: the pod has none, excludes the port
// or the address of the connection from capture, or runs as the user of the sidecar. It reports false for other
// requests.
func (f *finder) fromUncaptured(w lookup.Workload, r Request) (Result, bool) {
	// The pods of a workload may differ: this is the one that the request names, or the first one.
	c := f.capture(w.Workload, f.podOf(w))
	if c.pod == nil {
		return Result{}, false
	}
	step := model.Step{Origin: model.NewOrigin(dialect.RefOf(c.pod))}
	switch {
	case c.bare != "":
		step.Text = fmt.Sprintf("pod %s/%s has no sidecar: %s; it connects by itself", c.pod.Namespace, c.pod.Name, c.bare)
	case c.users.Text != "" && !c.others:
		step = c.users
	default:
		if step = c.excluding(f, w, r); step.Text == "" {
			return Result{}, false
		}
	}
	a := Result{Request: r.Request, Workload: w, kinds: dialect.KindNamesOfObjects(f.state.Objects)}
	a.Decision = model.Decision{Outcome: model.PassedThrough, Request: r.Request, Steps: []model.Step{step}}
	a.addDirect(f.state, f, r, c.pod.Namespace)
	if c.bare == "" {
		a.Findings = append(a.Findings, f.refusesDirect(a, step.Origin)...)
	}
	return a, true
}

// excluding returns the step that excludes the connection of a request from capture; it has no text for one that is
// captured.
func (c capture) excluding(f *finder, w lookup.Workload, r Request) model.Step {
	address := r.Address
	if r.Name != "" {
		address = f.resolve(w, r.Name).address
		if len(names.Known([]netip.Addr{address})) == 0 {
			address = netip.Addr{} // assumed
		}
	}
	step := model.Step{Origin: model.NewOrigin(dialect.RefOf(c.pod)), Text: excludes(c.own, r.Port, address)}
	switch port := int(r.Port); {
	case slices.Contains(c.own.AlwaysExcluded, port):
		step.Text += " in all pods of " + c.title
	case slices.Contains(c.own.OutboundPortExclusions, port):
		step.Origin = step.Origin.At("metadata.annotations[" + c.own.PortExclusionsBy + "]")
	case step.Text == "":
		step = model.Step{Origin: c.all.Settings, Text: excludes(c.all, r.Port, address)}
	}
	if step.Text != "" {
		step.Text += ": the connection goes around the sidecar"
	}
	return step
}

// podOf returns the pod that a workload was named by, else one of its pods, or nil.
func (f *finder) podOf(w lookup.Workload) *corev1.Pod {
	all := f.state.Index.Endpoints(w.Key)
	if w.Pod != nil {
		all = []model.Endpoint{*w.Pod}
	}
	for _, e := range all {
		if pod := f.pods[types.NamespacedName{Namespace: e.Instance.Namespace, Name: e.Instance.Name}]; pod != nil {
			return pod
		}
	}
	return nil
}

// excludes says what excludes a connection from capture; it is empty for a connection that is captured. The address may
// be unknown.
func excludes(o dialect.PodOptions, port uint16, address netip.Addr) string {
	within := func(ranges []string) string {
		i := slices.IndexFunc(ranges, func(text string) bool {
			if own, err := netip.ParseAddr(text); err == nil {
				return own == address
			}
			p, err := netip.ParsePrefix(text)
			return err == nil && p.Contains(address)
		})
		if i < 0 {
			return ""
		}
		return ranges[i]
	}
	excluded := within(o.OutboundIPExclusions)
	switch {
	case slices.Contains(o.OutboundPortExclusions, int(port)):
		return fmt.Sprintf("port %d is excluded from capture", port)
	case !address.IsValid():
		return ""
	case excluded != "":
		return fmt.Sprintf("%s is in %s, which is excluded from capture", address, excluded)
	case len(o.OutboundIPInclusions) > 0 && within(o.OutboundIPInclusions) == "":
		return fmt.Sprintf("%s is in none of the ranges that are captured", address)
	}
	return ""
}
