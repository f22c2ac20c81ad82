// Command anymesh is the only program of Anymesh: control plane, pod agent, traffic capture, and tools for users.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"anymesh.dev/anymesh/internal/cli"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
