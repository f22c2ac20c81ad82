// Command anymesh-proxy is the proxy as a program of its own: "anymesh proxy run" without the parts of the control
// plane, which need memory and time at the start of each sidecar.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"anymesh.dev/anymesh/internal/proxy"
)

func main() {
	file := flag.String("c", "", "configuration, YAML or JSON")
	flag.Parse()
	if *file == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: anymesh-proxy -c FILE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := proxy.Run(ctx, *file)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "anymesh-proxy:", err)
		os.Exit(1)
	}
}
