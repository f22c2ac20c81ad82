package inspect

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The parts of Envoy's configuration that are told, in its JSON form. The rest is passed over: a newer control plane may send more.
type (
	envoyListener struct {
		Name             string        `json:"name"`
		TrafficDirection string        `json:"trafficDirection"`
		Address          envoyAddress  `json:"address"`
		Chains           []filterChain `json:"filterChains"`
		Default          *filterChain  `json:"defaultFilterChain"`
	}
	envoyAddress struct {
		Socket struct {
			Address string `json:"address"`
			Port    int    `json:"portValue"`
		} `json:"socketAddress"`
		Pipe struct {
			Path string `json:"path"`
		} `json:"pipe"`
	}
	filterChain struct {
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
			Name   string `json:"name"`
			Config struct {
				RDS struct {
					Name string `json:"routeConfigName"`
				} `json:"rds"`
				Inline   *envoyRoutes     `json:"routeConfig"`
				Cluster  string           `json:"cluster"`
				Weighted weightedClusters `json:"weightedClusters"`
				Idle     string           `json:"idleTimeout"`
			} `json:"typedConfig"`
		} `json:"filters"`
	}
	weightedClusters struct {
		Clusters []struct {
			Name   string `json:"name"`
			Weight uint32 `json:"weight"`
		} `json:"clusters"`
	}
	envoyRoutes struct {
		Name  string `json:"name"`
		Hosts []struct {
			Name    string       `json:"name"`
			Domains []string     `json:"domains"`
			Routes  []envoyRoute `json:"routes"`
		} `json:"virtualHosts"`
	}
	envoyRoute struct {
		Name  string `json:"name"`
		Match struct {
			Prefix *string `json:"prefix"`
			Path   string  `json:"path"`
			Regex  struct {
				Regex string `json:"regex"`
			} `json:"safeRegex"`
			Headers []json.RawMessage `json:"headers"`
			Query   []json.RawMessage `json:"queryParameters"`
		} `json:"match"`
		Route *struct {
			Cluster  string           `json:"cluster"`
			Weighted weightedClusters `json:"weightedClusters"`
			Timeout  string           `json:"timeout"`
			Idle     string           `json:"idleTimeout"`
			Retry    *struct {
				On     string   `json:"retryOn"`
				Number *int     `json:"numRetries"`
				PerTry string   `json:"perTryTimeout"`
				Codes  []uint16 `json:"retriableStatusCodes"`
			} `json:"retryPolicy"`
		} `json:"route"`
		Direct *struct {
			Status int `json:"status"`
		} `json:"directResponse"`
	}
	envoyCluster struct {
		Name       string `json:"name"`
		Type       string `json:"type"`
		Assignment struct {
			Endpoints []struct {
				LB []struct {
					Endpoint struct {
						Address envoyAddress `json:"address"`
					} `json:"endpoint"`
				} `json:"lbEndpoints"`
			} `json:"endpoints"`
		} `json:"loadAssignment"`
	}
)

// Envoy is the configuration of an Envoy.
type Envoy struct {
	listeners []envoyListener
	routes    map[string]envoyRoutes
	clusters  []envoyCluster
}

// ParseEnvoy reads a dump of the debug server: resources by name, in Envoy's JSON form.
func ParseEnvoy(dump []byte) (*Envoy, error) {
	resources, err := ordered(dump)
	if err != nil {
		return nil, fmt.Errorf("the control plane's dump: %w", err)
	}
	e := &Envoy{routes: map[string]envoyRoutes{}}
	for _, r := range resources {
		var err error
		switch {
		case r.has("filterChains") || r.has("defaultFilterChain"):
			err = decodeInto(r.body, &e.listeners)
		case r.has("virtualHosts") || strings.HasPrefix(r.name, "rds_"):
			var one envoyRoutes
			err = json.Unmarshal(r.body, &one)
			e.routes[r.name] = one
		default:
			err = decodeInto(r.body, &e.clusters)
		}
		if err != nil {
			return nil, fmt.Errorf("the control plane's dump of %s: %w", r.name, err)
		}
	}
	return e, nil
}

type resource struct {
	name string
	body json.RawMessage
	keys map[string]json.RawMessage
}

func (r resource) has(key string) bool { return r.keys[key] != nil }

func decodeInto[T any](body []byte, list *[]T) error {
	var one T
	if err := json.Unmarshal(body, &one); err != nil {
		return err
	}
	*list = append(*list, one)
	return nil
}
