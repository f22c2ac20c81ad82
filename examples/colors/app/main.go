// Command colors contains all services of the example. The first argument selects the service:
//
//	colors serve  HTTP server that responds with its name, its version and the request
//	colors echo   TCP server that sends its name and echoes input
//	colors drive  client that calls the other services and counts the responses
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "colors:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, []string) error{"serve": serve, "echo": echo, "drive": drive}
	if len(args) > 0 && commands[args[0]] != nil {
		return commands[args[0]](ctx, args[1:])
	}
	return fmt.Errorf("usage: colors serve|echo|drive [flags]")
}
