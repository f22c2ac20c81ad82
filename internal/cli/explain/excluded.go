package explain

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/names"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// fromExcluded explains a request of a workload whose connection goes around the sidecar, because the pod excludes its
// port or address from capture. It reports false for other requests. The pods of a workload may differ; the first one
// is explained.
func (f *finder) fromExcluded(w lookup.Workload, r Request) (Result, bool) {
	pod := f.podOf(w.Key)
	if pod == nil {
		return Result{}, false
	}
	address := r.Address
	if r.Name != "" {
		address = f.resolve(w, r.Name).address
		if len(names.Known([]netip.Addr{address})) == 0 {
			address = netip.Addr{} // assumed
		}
	}
	for _, d := range dialect.Implementing[dialect.SidecarSettings](dialect.All()) {
		options, err := d.PodOptions(pod, w.Workload)
		if key, is, fault := d.SelectWorkload(f.state.Objects, pod, pod.Namespace); err != nil || fault != nil || !is ||
			key.Name != w.Name {
			continue
		}
		step := model.Step{Origin: model.NewOrigin(dialect.RefOf(pod)), Text: excludes(options, r.Port, address)}
		if step.Text == "" {
			if d.AddPodOptions(f.state.Objects, nil, &options) != nil {
				continue
			}
			step.Text = excludes(options, r.Port, address)
			step.Origin = settingsOf(d, f.state.Objects)
		}
		if step.Text == "" {
			continue
		}
		step.Text += ": the connection goes around the sidecar"
		a := Result{Request: r.Request, Workload: w, kinds: dialect.KindNamesOfObjects(f.state.Objects)}
		a.Decision = model.Decision{Outcome: model.PassedThrough, Request: r.Request, Steps: []model.Step{step}}
		a.addDirect(f.state, f, r, pod.Namespace)
		return a, true
	}
	return Result{}, false
}

// podOf returns a pod of a workload, or nil.
func (f *finder) podOf(workload model.Key) *corev1.Pod {
	for _, e := range f.state.Index.Endpoints(workload) {
		if pod := f.pods[types.NamespacedName{Namespace: e.Instance.Namespace, Name: e.Instance.Name}]; pod != nil {
			return pod
		}
	}
	return nil
}

// settingsOf returns the origin of the object with the settings of the mesh.
func settingsOf(d dialect.SidecarSettings, objects []client.Object) model.Origin {
	for _, kind := range d.SettingsReads() {
		for _, o := range objects {
			if reflect.TypeOf(o) == reflect.TypeOf(kind) {
				return model.NewOrigin(dialect.RefOf(o))
			}
		}
	}
	return model.Origin{}
}

// excludes says what excludes a connection from capture; it is empty for a connection that is captured. The address may
// be unknown.
func excludes(o dialect.PodOptions, port uint16, address netip.Addr) string {
	within := func(ranges []string) string {
		i := slices.IndexFunc(ranges, func(text string) bool {
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
