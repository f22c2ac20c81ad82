// Package inspect puts into words what control planes tell about sidecars.
//
// In: the lists of connected sidecars and the configurations of the debug server or of a driver. Out: tables and outlines for people.
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
)

// Sidecar is a connected sidecar.
type Sidecar struct {
	clientstatus.Client
	// Pod is the namespace and name behind the identity; empty if it is not known.
	Pod string
	// ControlPlane is the pod that the sidecar is connected to.
	ControlPlane string
	// Driver is the sidecarClass; empty if the control plane is too old to tell.
	Driver string
}

// State is how far a sidecar is with one type of resource.
type State string

// The states, from good to bad.
const (
	Synced  State = "synced"
	Pending State = "pending"
	Waiting State = "unanswered"
	Refused State = "refused"
)

// StateOf judges one type: a refusal counts until something newer is accepted.
func StateOf(t clientstatus.ClientType) State {
	switch {
	case t.LastNack != nil && t.AckedVersion != t.SentVersion:
		return Refused
	case t.PendingAcks > 0 || t.AckedVersion != t.SentVersion:
		return Waiting
	case t.PendingResources > 0:
		return Pending
	}
	return Synced
}

// Refuses tells whether some sidecar refuses what it was sent.
func Refuses(all []Sidecar) bool {
	return slices.ContainsFunc(all, func(s Sidecar) bool {
		return slices.ContainsFunc(s.Types, func(t clientstatus.ClientType) bool { return StateOf(t) == Refused })
	})
}

type column struct{ end, heading string }

func (c column) is(t clientstatus.ClientType) bool { return strings.HasSuffix(t.TypeURL, c.end) }

// columns are the types that there is a column for, by the end of their URL.
var columns = []column{
	{".Listener", "LISTENERS"}, {".RouteConfiguration", "ROUTES"}, {".Cluster", "CLUSTERS"}, {".ClusterLoadAssignment", "ENDPOINTS"},
}

// Table writes a line for each sidecar, and the refusals below. Numbers are those of the resources that a sidecar has. Drivers are told if
// there is another one than the usual.
func Table(w io.Writer, s terminal.Style, all []Sidecar, usual string, now time.Time) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no sidecar is connected")
		return err
	}
	t := terminal.Table{Headings: []string{"WORKLOAD", "POD"}}
	drivers := slices.ContainsFunc(all, func(s Sidecar) bool { return s.Driver != "" && s.Driver != usual })
	if drivers {
		t.Headings = append(t.Headings, "DRIVER")
	}
	t.Headings = append(t.Headings, "SINCE")
	columns := slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return !slices.ContainsFunc(all, func(s Sidecar) bool { return slices.ContainsFunc(s.Types, c.is) })
	})
	for _, c := range columns {
		t.Headings = append(t.Headings, c.heading)
	}
	t.Headings = append(t.Headings, "CONTROL PLANE", "NODE ID")
	var refusals strings.Builder
	for _, sidecar := range all {
		row := []string{s.Cyan(sidecar.Key), cmp.Or(sidecar.Pod, sidecar.Identity)}
		if drivers {
			row = append(row, sidecar.Driver)
		}
		row = append(row, Age(now.Sub(sidecar.Connected)))
		for _, c := range columns {
			i := slices.IndexFunc(sidecar.Types, c.is)
			if i < 0 {
				row = append(row, "-")
				continue
			}
			of := sidecar.Types[i]
			row = append(row, cell(s, of))
			if StateOf(of) == Refused {
				fmt.Fprintf(&refusals, "\n%s %s refuses %s: %s\n", s.Red("✗"), cmp.Or(sidecar.Pod, sidecar.Identity), strings.Join(of.LastNack.Names, ", "), of.LastNack.Message)
			}
		}
		t.Row(append(row, sidecar.ControlPlane, s.Dim(sidecar.NodeID))...)
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	_, err := io.WriteString(w, refusals.String())
	return err
}

func cell(s terminal.Style, t clientstatus.ClientType) string {
	switch state := StateOf(t); state {
	case Refused:
		return s.Red(fmt.Sprintf("%d refused", t.Resources))
	case Waiting:
		return s.Yellow(fmt.Sprintf("%d unanswered", t.Resources))
	case Pending:
		return s.Yellow(fmt.Sprintf("%d, %d pending", t.Resources, t.PendingResources))
	default:
		return s.Green(fmt.Sprintf("%d %s", t.Resources, state))
	}
}

// Age writes a time span in its largest units, as kubectl does.
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
