package observe

import (
	"net/netip"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/internal/pod/capture"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// captureTraffic installs the packet rules of the init container of a view.
func captureTraffic(view *model.View) error {
	var ports []string
	for _, in := range view.Inbound {
		ports = append(ports, strconv.Itoa(int(in.Listener.Port)))
	}
	env := map[string]string{
		capture.EnvEnabled: "1", capture.EnvUID: strconv.Itoa(sidecar.UID),
		capture.EnvIngressPort: strconv.Itoa(sidecar.InboundPort),
		capture.EnvEgressPort:  strconv.Itoa(sidecar.OutboundPort),
		capture.EnvAppPorts:    strings.Join(ports, ","),
	}
	c, err := capture.FromEnv(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		return err
	}
	rules := c.Rules()
	for i := range rules.Tables {
		t := &rules.Tables[i]
		for j := range t.Sets {
			// The destinations are in the network of the pod here. They are not inbound traffic of the pod.
			if s := &t.Sets[j]; s.Name == capture.LoopbackSet && t.Family == capture.IPv4 {
				s.Addresses = append(s.Addresses, netip.MustParsePrefix(destinations))
			}
		}
	}
	return capture.Apply(rules)
}
