// Command sandbox runs real Kubernetes clusters on one machine. See README.md in the module root.
package main

import (
	"os"

	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of the upstream binaries
	_ "k8s.io/component-base/metrics/prometheus/version"

	"anymesh.dev/anymesh/sandbox/internal/cli"
	_ "anymesh.dev/anymesh/sandbox/internal/jail" // starts containers in its init function
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
