// Package builtin is the list of the built-in dialects. Importing it registers them.
package builtin

import (
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/dialect/gatewayapi"
	"anymesh.dev/anymesh/internal/dialect/ingress"
	"anymesh.dev/anymesh/internal/dialect/l7mp"
	"anymesh.dev/anymesh/internal/dialect/osm"
)

func init() {
	dialect.Register(appmesh.Dialect{})
	dialect.Register(gatewayapi.Dialect{})
	dialect.Register(ingress.Dialect{})
	dialect.Register(l7mp.Dialect{})
	dialect.Register(osm.Dialect{})
}
