// Package builtin is the list of the dialects that the program has.
//
// Nothing goes in; importing it registers each dialect.
package builtin

import (
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

func init() {
	dialect.Register(appmesh.Dialect{})
}
