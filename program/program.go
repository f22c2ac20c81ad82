// Package program is Anymesh as a library: the main package of a program that adds a sidecar driver calls Main.
//
// In: the arguments, the environment and the streams of the process, and the drivers that the program imports: they
// register themselves with package sidecar. Out: all commands of Anymesh, with its own drivers and dialects.
//
//	package main
//
//	import (
//		"anymesh.dev/anymesh/program"
//		_ "example.com/mine" // calls sidecar.Register
//	)
//
//	func main() { program.Main() }
package program

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"anymesh.dev/anymesh/internal/cli"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
)

// Main runs the command that the arguments of the process name, and exits with its exit code: 0 for success, 1 for
// failure, 2 for wrong usage; "agent" exits with that of the sidecar. Call it once, after all drivers are registered.
// SIGINT and SIGTERM end the command.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
