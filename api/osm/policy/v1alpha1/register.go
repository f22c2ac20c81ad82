package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version.
var GroupVersion = schema.GroupVersion{Group: "policy.openservicemesh.io", Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(addKinds)

// AddToScheme adds the kinds and their lists to a scheme.
var AddToScheme = schemeBuilder.AddToScheme

func addKinds(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&AccessCert{}, &AccessCertList{},
		&AccessControl{}, &AccessControlList{},
		&Egress{}, &EgressList{},
		&EgressGateway{}, &EgressGatewayList{},
		&IngressBackend{}, &IngressBackendList{},
		&Retry{}, &RetryList{},
		&UpstreamTrafficSetting{}, &UpstreamTrafficSettingList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
