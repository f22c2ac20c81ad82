// Package builtin lists the providers of Routes.
//
// In: nothing. Out: the providers of this program, in the order in which a Route without provider prefers them.
package builtin

import (
	"anymesh.dev/anymesh/internal/trait/contour"
	"anymesh.dev/anymesh/internal/trait/gateway"
	"anymesh.dev/anymesh/internal/trait/ingress"
	"anymesh.dev/anymesh/internal/trait/nginx"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// Providers returns all providers. The first that the cluster has is that of Routes without a provider; if it has none,
// it is the first of the list.
func Providers() []provider.Provider {
	return []provider.Provider{ingress.Provider{}, gateway.Provider{}, contour.Provider{}, nginx.Provider{}}
}
