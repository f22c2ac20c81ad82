package envoy

import (
	"fmt"
	"strconv"
	"strings"
)

// clusterDump is a cluster; assignmentDump are its endpoints, in the cluster or in a resource of the same name.
type (
	clusterDump struct {
		Name       string `json:"name"`
		Type       string `json:"type"`
		CustomType struct {
			Name string `json:"name"`
		} `json:"clusterType"`
		Assignment      assignmentDump `json:"loadAssignment"`
		TransportSocket *struct {
			Name string `json:"name"`
		} `json:"transportSocket"`
		HealthChecks []struct {
			Interval  string `json:"interval"`
			Unhealthy int    `json:"unhealthyThreshold"`
			HTTP      *struct {
				Path string `json:"path"`
			} `json:"httpHealthCheck"`
			GRPC *struct{} `json:"grpcHealthCheck"`
		} `json:"healthChecks"`
		Outlier *struct {
			Consecutive int    `json:"consecutive5xx"`
			Base        string `json:"baseEjectionTime"`
			MaxPercent  int    `json:"maxEjectionPercent"`
		} `json:"outlierDetection"`
		Breakers struct {
			Thresholds []struct {
				Connections *uint32 `json:"maxConnections"`
				Pending     *uint32 `json:"maxPendingRequests"`
				Requests    *uint32 `json:"maxRequests"`
			} `json:"thresholds"`
		} `json:"circuitBreakers"`
	}
	assignmentDump struct {
		Cluster   string `json:"clusterName"`
		Endpoints []struct {
			LB []struct {
				Health   string `json:"healthStatus"`
				Endpoint struct {
					Address addressDump `json:"address"`
				} `json:"endpoint"`
			} `json:"lbEndpoints"`
		} `json:"endpoints"`
	}
)

// noLimit is the value of circuit breakers that do not limit anything.
const noLimit = 1<<32 - 1

// clusters writes the table of clusters.
func (o *outline) clusters() {
	o.WriteString(o.s.Bold("clusters") + "\n")
	names, types := len("NAME"), len("TYPE")
	for _, c := range o.c.clusters {
		names, types = max(names, len(c.Name)), max(types, len(c.kind()))
	}
	fmt.Fprintf(o, "  %s\n", o.s.Dim(fmt.Sprintf("%-*s  %-*s  %s", names, "NAME", types, "TYPE", "ADDRESSES")))
	for _, c := range o.c.clusters {
		gap := strings.Repeat(" ", names-len(c.Name)) // without color codes
		fmt.Fprintf(o, "  %s%s  %-*s  %s", o.s.Cyan(c.Name), gap, types, c.kind(),
			strings.Join(o.addresses(c), ", "))
		if policies := c.policies(); len(policies) > 0 {
			o.WriteString(o.s.Dim("  " + strings.Join(policies, "; ")))
		}
		o.WriteString("\n")
	}
}

// kind is the type of a cluster: one of Envoy's enumeration, or the last part of the name of an extension.
func (c clusterDump) kind() string {
	if custom := c.CustomType.Name; custom != "" {
		return custom[strings.LastIndexByte(custom, '.')+1:]
	}
	return strings.ToLower(c.Type)
}

// addresses lists the endpoints of a cluster, with their health if the control plane reports one.
func (o *outline) addresses(c clusterDump) []string {
	assignment := c.Assignment
	if named, separate := o.c.endpoints[c.Name]; separate {
		assignment = named
	}
	var out []string
	for _, locality := range assignment.Endpoints {
		for _, e := range locality.LB {
			text := e.Endpoint.Address.text()
			if e.Health != "" && e.Health != "HEALTHY" {
				text += " " + strings.ToLower(e.Health)
			}
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		out = []string{"-"}
	}
	return out
}

// policies lists what a cluster does besides balancing.
func (c clusterDump) policies() []string {
	var out []string
	if c.TransportSocket != nil {
		out = append(out, "TLS")
	}
	for _, h := range c.HealthChecks {
		kind := "tcp"
		if h.HTTP != nil {
			kind = "http " + h.HTTP.Path
		} else if h.GRPC != nil {
			kind = "grpc"
		}
		out = append(out, fmt.Sprintf("health check %s every %s, unhealthy after %d", kind, h.Interval, h.Unhealthy))
	}
	if d := c.Outlier; d != nil {
		out = append(out, fmt.Sprintf("ejects after %d responses with 5xx for %s, at most %d %%", d.Consecutive, d.Base, d.MaxPercent))
	}
	for _, t := range c.Breakers.Thresholds {
		for _, limit := range []struct {
			what  string
			value *uint32
		}{{"connections", t.Connections}, {"pending requests", t.Pending}, {"requests", t.Requests}} {
			if limit.value != nil && *limit.value < noLimit {
				out = append(out, "at most "+strconv.FormatUint(uint64(*limit.value), 10)+" "+limit.what)
			}
		}
	}
	return out
}
