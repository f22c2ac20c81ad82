// Command anymesh is the whole of Anymesh in one program: control plane, agent, capture, and what people look at.
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
