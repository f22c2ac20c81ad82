// Command sandbox runs real Kubernetes clusters on one machine. See the README beside go.mod.
package main

import (
	"os"

	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the metrics that upstream binaries have
	_ "k8s.io/component-base/metrics/prometheus/version"

	"anymesh.dev/anymesh/sandbox/internal/cli"
	_ "anymesh.dev/anymesh/sandbox/internal/jail" // becomes a container before anything else, when asked to
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
