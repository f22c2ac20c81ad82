// Package driver lists the sidecar drivers of the program.
//
// In: nothing. Out: the drivers below, which register themselves with package sidecar when this package is imported,
// the name of the default driver, and the commands of sidecars.
//
// To add a driver, create a folder beside envoy with a type that implements sidecar.Driver, and import it here.
package driver

import (
	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/driver/envoy"
	_ "anymesh.dev/anymesh/internal/driver/grpc"    // registers itself
	_ "anymesh.dev/anymesh/internal/driver/native"  // registers itself
	"anymesh.dev/anymesh/internal/driver/pipy/repo" // registers the driver, too
	"anymesh.dev/anymesh/sidecar"
)

// Default is the driver of a mesh whose configuration names none.
const Default = envoy.Name

// Commands returns the commands that run sidecars of drivers in pods, below "anymesh proxy".
func Commands() []*cobra.Command { return []*cobra.Command{repo.Command()} }

// Renderers returns the protected renderers of the drivers that have one, by name.
func Renderers() map[string]sidecar.Renderer {
	out := map[string]sidecar.Renderer{}
	for _, name := range sidecar.Drivers() {
		if r, renders := sidecar.RendererOf(name); renders {
			out[name] = sidecar.Protected(name, r)
		}
	}
	return out
}
