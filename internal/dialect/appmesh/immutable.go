package appmesh

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// immutable returns the denial of an update that changes an immutable field, or nil. Both objects have the same kind.
func immutable(before, after client.Object) error {
	var changed []string
	if b, a := awsNameField(before), awsNameField(after); b != nil && !equality.Semantic.DeepEqual(*b, *a) {
		changed = append(changed, "spec.awsName")
	}
	if b, a := meshRefField(before), meshRefField(after); b != nil && !equality.Semantic.DeepEqual(*b, *a) {
		changed = append(changed, "spec.meshRef")
	}
	switch b := before.(type) {
	case *api.VirtualNode:
		// The field is immutable once it is set.
		if was := cloudMap(b); was != nil && !equality.Semantic.DeepEqual(was, cloudMap(after.(*api.VirtualNode))) {
			changed = append(changed, "spec.serviceDiscovery.awsCloudMap")
		}
	case *api.GatewayRoute:
		if !equality.Semantic.DeepEqual(b.Spec.VirtualGatewayRef, after.(*api.GatewayRoute).Spec.VirtualGatewayRef) {
			changed = append(changed, "spec.virtualGatewayRef")
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return fmt.Errorf("%s update may not change these fields: %s", kindOf(before), strings.Join(changed, ","))
}

func cloudMap(o *api.VirtualNode) *api.AWSCloudMapServiceDiscovery {
	if o.Spec.ServiceDiscovery == nil {
		return nil
	}
	return o.Spec.ServiceDiscovery.AWSCloudMap
}
