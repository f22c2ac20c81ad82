// Package inspect formats the state and the configuration of sidecars.
//
// In: the lists of connected sidecars and the configuration dumps of the debug server or of a driver. Out: tables and
// summaries.
package inspect

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/delivery/xds/clientstatus"
	"anymesh.dev/anymesh/sidecar"
)

// Sidecar is a connected sidecar.
type Sidecar struct {
	clientstatus.Client
	// Pod is NAMESPACE/NAME of the pod; empty if unknown.
	Pod string
	// ControlPlane is the pod that the sidecar is connected to.
	ControlPlane string
	// Driver is the sidecar driver; empty for older control planes.
	Driver string
	// NamesOnly is true for the agent of a pod whose driver delivers configuration itself.
	NamesOnly bool
}

// State is the synchronization state of one resource type of a sidecar.
type State string

// The states, from best to worst.
const (
	Synced   State = "synced"
	Pending  State = "pending"
	Unacked  State = "awaiting ACK"
	Rejected State = "rejected"
)

// StateOf returns the state of one type. It stays Rejected until a newer version is acknowledged.
func StateOf(t clientstatus.ClientType) State {
	switch {
	case t.LastNack != nil && (len(t.Rejected) > 0 || t.AckedVersion != t.SentVersion):
		return Rejected
	case t.PendingAcks > 0 || t.AckedVersion != t.SentVersion:
		return Unacked
	case t.PendingResources > 0:
		return Pending
	}
	return Synced
}

// AnyRejected reports whether a sidecar rejects a resource.
func AnyRejected(all []Sidecar) bool {
	return slices.ContainsFunc(all, func(s Sidecar) bool {
		return slices.ContainsFunc(s.Types, func(t clientstatus.ClientType) bool { return StateOf(t) == Rejected })
	})
}

type column struct{ end, heading string }

func (c column) is(t clientstatus.ClientType) bool {
	if c == otherTypes {
		return t.TypeURL != sidecar.SettingType && !slices.Contains(agentTypes, t.TypeURL) &&
			!slices.ContainsFunc(columns, func(own column) bool { return own.is(t) })
	}
	return strings.HasSuffix(t.TypeURL, c.end)
}

// of returns the resources of a sidecar in the column, and false if it has no such type. Of several types, it has the
// state of one that is not in sync.
func (c column) of(s Sidecar) (out clientstatus.ClientType, has bool) {
	total := 0
	for _, t := range s.Types {
		if !c.is(t) {
			continue
		}
		if total += t.Resources; !has || StateOf(out) == Synced {
			out, has = t, true
		}
	}
	out.Resources = total
	return out, has
}

// columns are the resource types with a column, by the suffix of their type URL.
var columns = []column{
	{".Listener", "LISTENERS"}, {".ScopedRouteConfiguration", "SCOPES"}, {".RouteConfiguration", "ROUTES"},
	{".Cluster", "CLUSTERS"}, {".ClusterLoadAssignment", "ENDPOINTS"}, {".Secret", "SECRETS"}, hostNames,
}

// otherTypes are the types of drivers whose sidecars have other types than Envoy.
var otherTypes = column{heading: "CONFIG"}

// hostNames are the names for the DNS server of the agent, which has its own connection to the control plane.
var hostNames = column{".DnsVirtualDomain", "NAMES"}

// MergeAgents adds the resource types of the agent of a pod to the pod's sidecar. It drops agents whose sidecar is not
// connected, but not those that stand for their sidecar: the driver delivers configuration itself, or the sidecar is a
// library of the application, which connects when the application calls a service.
func MergeAgents(all []Sidecar) []Sidecar {
	agents, connected := map[string]Sidecar{}, map[string]bool{}
	var out []Sidecar
	for _, s := range all {
		if isAgent(s) {
			agents[s.Identity] = s
		} else {
			out, connected[s.Identity] = append(out, s), true
		}
	}
	for i, s := range out {
		out[i].Types = slices.Concat(s.Types, agents[s.Identity].Types)
	}
	for _, s := range all {
		if isAgent(s) && !connected[s.Identity] && connectsLater(s.Driver) {
			out = append(out, s)
		}
	}
	return out
}

// connectsLater reports whether sidecars of a driver open a stream for each service that the application calls.
func connectsLater(driver string) bool {
	r, known := sidecar.RendererOf(driver)
	_, several := r.(sidecar.MultipleStreams)
	return known && several
}

// agentTypes are the resource types of the connection of an agent, which has none of its sidecar.
var agentTypes = []string{sidecar.HostNameType, sidecar.EndpointAddressType, sidecar.AuthorityType}

// isAgent reports whether a client is the agent of a pod, beside its sidecar.
func isAgent(s Sidecar) bool {
	ofSidecar := func(t clientstatus.ClientType) bool { return !slices.Contains(agentTypes, t.TypeURL) }
	return len(s.Types) > 0 && !slices.ContainsFunc(s.Types, ofSidecar) && !s.NamesOnly
}

// Table writes one line per sidecar with its number of resources per type, then the rejected resources. There is a
// column for the driver if a sidecar has a driver other than the default.
func Table(w io.Writer, s terminal.Style, all []Sidecar, defaultDriver string, now time.Time) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no sidecar is connected")
		return err
	}
	t := terminal.Table{Headings: []string{"WORKLOAD", "POD"}}
	drivers := slices.ContainsFunc(all, func(s Sidecar) bool { return s.Driver != "" && s.Driver != defaultDriver })
	if drivers {
		t.Headings = append(t.Headings, "DRIVER")
	}
	t.Headings = append(t.Headings, "SINCE")
	columns := slices.DeleteFunc(append([]column{otherTypes}, columns...), func(c column) bool {
		return !slices.ContainsFunc(all, func(s Sidecar) bool { return slices.ContainsFunc(s.Types, c.is) })
	})
	for _, c := range columns {
		t.Headings = append(t.Headings, c.heading)
	}
	t.Headings = append(t.Headings, "CONTROL PLANE", "NODE ID")
	var rejections strings.Builder
	for _, sidecar := range all {
		row := []string{s.Cyan(sidecar.Key), cmp.Or(sidecar.Pod, sidecar.Identity)}
		if drivers {
			row = append(row, sidecar.Driver)
		}
		row = append(row, Age(now.Sub(sidecar.Connected)))
		for _, c := range columns {
			of, has := c.of(sidecar)
			if !has {
				row = append(row, "-")
				continue
			}
			row = append(row, cell(s, of))
			if StateOf(of) == Rejected {
				fmt.Fprintf(&rejections, "\n%s %s rejects %s: %s\n", s.Red("✗"), cmp.Or(sidecar.Pod, sidecar.Identity),
					strings.Join(of.LastNack.Names, ", "), of.LastNack.Message)
			}
		}
		t.Row(append(row, sidecar.ControlPlane, s.Dim(sidecar.NodeID))...)
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	_, err := io.WriteString(w, rejections.String())
	return err
}

func cell(s terminal.Style, t clientstatus.ClientType) string {
	switch state := StateOf(t); state {
	case Rejected:
		return s.Red(fmt.Sprintf("%d rejected", t.Resources))
	case Unacked:
		return s.Yellow(fmt.Sprintf("%d awaiting ACK", t.Resources))
	case Pending:
		return s.Yellow(fmt.Sprintf("%d, %d pending", t.Resources, t.PendingResources))
	default:
		return s.Green(fmt.Sprintf("%d %s", t.Resources, state))
	}
}

// Age formats a duration in its largest unit, as kubectl does.
func Age(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 3*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
