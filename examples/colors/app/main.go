// Command colors is the program of the example: every service of it, chosen by the first argument.
//
//	colors serve  answers HTTP with its name, its version and what it was asked
//	colors echo   greets each TCP connection with its name and sends back what it gets
//	colors drive  keeps calling the other services and counts who answered
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
	return fmt.Errorf("say what to be: serve, echo or drive")
}
