package envoy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"anymesh.dev/anymesh/sidecar"
)

// The parts of the configuration that Dump prints, in the JSON form of Envoy. Other parts are ignored: a newer control
// plane may send more.
type (
	listenerDump struct {
		Name             string      `json:"name"`
		TrafficDirection string      `json:"trafficDirection"`
		Address          addressDump `json:"address"`
		Chains           []chainDump `json:"filterChains"`
		Default          *chainDump  `json:"defaultFilterChain"`
		Internal         *struct{}   `json:"internalListener"`
	}
	addressDump struct {
		Socket struct {
			Address string `json:"address"`
			Port    int    `json:"portValue"`
		} `json:"socketAddress"`
		Pipe struct {
			Path string `json:"path"`
		} `json:"pipe"`
		// Internal is the address of a listener in the same process.
		Internal struct {
			Listener string `json:"serverListenerName"`
		} `json:"envoyInternalAddress"`
	}
	chainDump struct {
		Name  string `json:"name"`
		Match struct {
			Port        int      `json:"destinationPort"`
			ServerNames []string `json:"serverNames"`
			Prefixes    []struct {
				Address string `json:"addressPrefix"`
				Length  int    `json:"prefixLen"`
			} `json:"prefixRanges"`
		} `json:"filterChainMatch"`
		TransportSocket *struct {
			Name string `json:"name"`
		} `json:"transportSocket"`
		Filters []struct {
			Name   string     `json:"name"`
			Config filterDump `json:"typedConfig"`
		} `json:"filters"`
	}
	// filterDump is the configuration of a filter: in the chain, or in a resource with the name of the filter.
	filterDump struct {
		RDS struct {
			Name string `json:"routeConfigName"`
		} `json:"rds"`
		Scopes struct {
			Name string `json:"name"`
		} `json:"scopedRoutes"`
		Inline   *routesDump  `json:"routeConfig"`
		Cluster  string       `json:"cluster"`
		Weighted weightedDump `json:"weightedClusters"`
		Idle     string       `json:"idleTimeout"`
	}
	weightedDump struct {
		Clusters []struct {
			Name   string `json:"name"`
			Weight uint32 `json:"weight"`
		} `json:"clusters"`
	}
	routesDump struct {
		Name  string `json:"name"`
		Hosts []struct {
			Name    string      `json:"name"`
			Domains []string    `json:"domains"`
			Routes  []routeDump `json:"routes"`
		} `json:"virtualHosts"`
	}
	routeDump struct {
		Name  string `json:"name"`
		Match struct {
			Prefix *string `json:"prefix"`
			// Elements is a prefix of whole path elements.
			Elements string `json:"pathSeparatedPrefix"`
			Path     string `json:"path"`
			Regex    struct {
				Regex string `json:"regex"`
			} `json:"safeRegex"`
			Headers []matcherDump `json:"headers"`
			Query   []matcherDump `json:"queryParameters"`
		} `json:"match"`
		Route *struct {
			Cluster  string       `json:"cluster"`
			Weighted weightedDump `json:"weightedClusters"`
			Timeout  string       `json:"timeout"`
			Idle     string       `json:"idleTimeout"`
			Host     string       `json:"hostRewriteLiteral"`
			Prefix   string       `json:"prefixRewrite"`
			Path     *struct {
				Pattern struct {
					Regex string `json:"regex"`
				} `json:"pattern"`
				Substitution string `json:"substitution"`
			} `json:"regexRewrite"`
			Retry *struct {
				On     string   `json:"retryOn"`
				Number *int     `json:"numRetries"`
				PerTry string   `json:"perTryTimeout"`
				Codes  []uint16 `json:"retriableStatusCodes"`
			} `json:"retryPolicy"`
		} `json:"route"`
		Direct *struct {
			Status int `json:"status"`
		} `json:"directResponse"`
		Redirect *redirectDump `json:"redirect"`
		Add      []struct {
			Header struct {
				Key   string `json:"key"`
				Value string `json:"value"`
			} `json:"header"`
		} `json:"requestHeadersToAdd"`
		Remove []string `json:"requestHeadersToRemove"`
	}
	redirectDump struct {
		Scheme string `json:"schemeRedirect"`
		Host   string `json:"hostRedirect"`
		Port   int    `json:"portRedirect"`
		Path   string `json:"pathRedirect"`
		Prefix string `json:"prefixRewrite"`
		Code   string `json:"responseCode"`
	}
)

// configuration is a decoded dump.
type configuration struct {
	listeners []listenerDump
	filters   map[string]filterDump // that chains refer to
	routes    map[string]routesDump
	clusters  []clusterDump
	endpoints map[string]assignmentDump // by cluster, of clusters with EDS
	secrets   []string                  // names of certificates and authorities
}

// endpointsSuffix tells the endpoints of a cluster from the cluster of the same name.
const endpointsSuffix = " endpoints"

// Dump returns resources by name, in the JSON format of Envoy, like the debug server. Endpoints, which have the name of
// their cluster, have the suffix " endpoints".
func (Driver) Dump(resources []sidecar.Resource) (json.RawMessage, error) {
	dump := map[string]json.RawMessage{}
	for _, r := range resources {
		message, err := Decode(r)
		name := r.Name
		if _, is := message.(*endpointv3.ClusterLoadAssignment); is {
			name += endpointsSuffix
		}
		if err == nil {
			dump[name], err = protojson.Marshal(message)
		}
		if err != nil {
			return nil, fmt.Errorf("envoy: dump of %s: %w", r.Name, err)
		}
	}
	return json.Marshal(dump)
}

// readDump decodes a dump, possibly of another version.
func readDump(dump []byte) (*configuration, error) {
	resources, err := ordered(dump)
	if err != nil {
		return nil, fmt.Errorf("the dump: %w", err)
	}
	c := &configuration{
		filters: map[string]filterDump{}, routes: map[string]routesDump{}, endpoints: map[string]assignmentDump{},
	}
	for _, r := range resources {
		var err error
		switch {
		case r.has("filterChains") || r.has("defaultFilterChain"):
			err = decodeInto(r.body, &c.listeners)
		case r.has("routeConfigurationName"): // the outline has the routes
		case r.has("virtualHosts") || strings.HasPrefix(r.name, "rds_"):
			var one routesDump
			err = json.Unmarshal(r.body, &one)
			c.routes[r.name] = one
		case r.has("typedConfig"):
			var one struct {
				Config filterDump `json:"typedConfig"`
			}
			err = json.Unmarshal(r.body, &one)
			c.filters[r.name] = one.Config
		case r.has("tlsCertificate") || r.has("validationContext"):
			c.secrets = append(c.secrets, r.name)
		case r.has("clusterName"):
			var one assignmentDump
			err = json.Unmarshal(r.body, &one)
			c.endpoints[one.Cluster] = one
		default:
			err = decodeInto(r.body, &c.clusters)
		}
		if err != nil {
			return nil, fmt.Errorf("the dump of %s: %w", r.name, err)
		}
	}
	return c, nil
}

// ordered returns the members of an object, sorted by name.
func ordered(dump []byte) ([]resourceDump, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(dump, &all); err != nil {
		return nil, err
	}
	var out []resourceDump
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := resourceDump{name: name, body: all[name]}
		if err := json.Unmarshal(r.body, &r.keys); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, r)
	}
	return out, nil
}

type resourceDump struct {
	name string
	body json.RawMessage
	keys map[string]json.RawMessage
}

func (r resourceDump) has(key string) bool { return r.keys[key] != nil }

func decodeInto[T any](body []byte, list *[]T) error {
	var one T
	if err := json.Unmarshal(body, &one); err != nil {
		return err
	}
	*list = append(*list, one)
	return nil
}
