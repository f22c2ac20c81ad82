// Command extended is Anymesh with a second dialect. It is the control plane of tests and is not released.
package main

import (
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/program"
	"anymesh.dev/anymesh/test/e2e/extended/parcel"
)

func main() {
	dialect.Register(parcel.Dialect{})
	program.Main()
}
