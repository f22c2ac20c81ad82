// Command tiny is Anymesh with two more sidecar drivers, and the sidecar of these drivers.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"anymesh.dev/anymesh/program"
	"example.com/tiny/proxy"
	"example.com/tiny/tiny"
	"example.com/tiny/tinypoll"
)

// sources are where a sidecar gets its configuration, by the command that runs it: the name of its driver.
var sources = map[string]proxy.Source{tiny.Name: tiny.Follow, tinypoll.Name: tinypoll.Follow}

func main() {
	if len(os.Args) > 1 {
		if source, is := sources[os.Args[1]]; is {
			os.Exit(run(os.Args[1], source))
		}
	}
	program.Main()
}

// run runs a sidecar until it gets a signal, and returns the exit code.
func run(name string, source proxy.Source) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := proxy.Run(ctx, os.Args[2:], source); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}
