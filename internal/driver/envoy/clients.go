package envoy

import (
	"net/netip"

	configv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"anymesh.dev/anymesh/model"
)

// clientsFilterName is the name of the filter that applies model.Route.Clients. It differs from that of authorization.
const clientsFilterName = "envoy.filters.http.rbac.clients"

// clientsFilter is a filter that applies the restrictions of routes. It does nothing for other routes. It is not
// disabled for them: Envoy decides about that before selectScope selects the route.
func clientsFilter() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{
		Name: clientsFilterName, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: typedConfig(&rbacv3.RBAC{})},
	}
}

// clientsConfig returns the configuration of clientsFilter for a route; nil for a route without restriction.
func clientsConfig(c *model.ClientRanges) map[string]*anypb.Any {
	if c == nil {
		return nil
	}
	client := anyPrincipal()
	if len(c.Allowed) > 0 {
		client = addressIn(c.Allowed)
	}
	if len(c.Denied) > 0 {
		denied := &configv3.Principal{Identifier: &configv3.Principal_NotId{NotId: addressIn(c.Denied)}}
		client = &configv3.Principal{Identifier: &configv3.Principal_AndIds{
			AndIds: &configv3.Principal_Set{Ids: []*configv3.Principal{client, denied}},
		}}
	}
	rules := &configv3.RBAC{Action: configv3.RBAC_ALLOW, Policies: map[string]*configv3.Policy{"clients": {
		Permissions: []*configv3.Permission{{Rule: &configv3.Permission_Any{Any: true}}},
		Principals:  []*configv3.Principal{client},
	}}}
	return map[string]*anypb.Any{
		clientsFilterName: typedConfig(&rbacv3.RBACPerRoute{Rbac: &rbacv3.RBAC{Rules: rules}}),
	}
}

func anyPrincipal() *configv3.Principal {
	return &configv3.Principal{Identifier: &configv3.Principal_Any{Any: true}}
}

// addressIn matches clients with an address in one of the ranges.
func addressIn(ranges []netip.Prefix) *configv3.Principal {
	set := &configv3.Principal_Set{}
	for _, p := range ranges {
		set.Ids = append(set.Ids, &configv3.Principal{Identifier: &configv3.Principal_RemoteIp{RemoteIp: cidrRange(p)}})
	}
	return &configv3.Principal{Identifier: &configv3.Principal_OrIds{OrIds: set}}
}
