// Command extended is Anymesh as third parties extend it: the complete program with a second sidecar driver and a
// second dialect. It is the control plane and the sidecar of tests and is not released.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"anymesh.dev/anymesh/internal/cli"
	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/test/e2e/extended/parcel"
	"anymesh.dev/anymesh/test/e2e/extended/tiny"
)

func main() {
	dialect.Register(parcel.Dialect{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	if len(args) == 0 || args[0] != tiny.Name {
		return cli.Run(ctx, args, os.Stdin, os.Stdout, os.Stderr)
	}
	if err := tiny.Run(ctx, args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tiny:", err)
		return 1
	}
	return 0
}
