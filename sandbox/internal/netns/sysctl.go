package netns

import (
	"fmt"
	"os"
	"strings"
)

var forwarding = map[string]string{
	"net.ipv4.ip_forward":              "1",
	"net.ipv6.conf.all.forwarding":     "1",
	"net.ipv6.conf.default.accept_dad": "0",
	"net.ipv4.conf.all.rp_filter":      "0",
	"net.ipv4.conf.default.rp_filter":  "0",
	"net.ipv4.conf.all.route_localnet": "1", // NodePorts on loopback
}

// podDefaults are the settings of container runtimes: every user of a Pod may use low ports and ping.
var podDefaults = map[string]string{
	"net.ipv4.ip_unprivileged_port_start": "0",
	"net.ipv6.conf.default.accept_dad":    "0",
	"net.ipv6.conf.default.accept_ra":     "0",
}

// Forwarding enables IP forwarding in the namespace of the calling thread.
func Forwarding() error { return sysctls(forwarding) }

// sysctls writes settings of the namespaces of the calling thread.
func sysctls(settings map[string]string) error {
	for name, value := range settings {
		path := "/proc/sys/" + strings.ReplaceAll(name, ".", "/")
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			return fmt.Errorf("sysctl %s=%s: %w", name, value, err)
		}
	}
	return nil
}
