// Package v1beta2 has the API types of group appmesh.k8s.aws, version v1beta2: Mesh, VirtualNode, VirtualService,
// VirtualRouter, VirtualGateway, GatewayRoute and BackendGroup.
//
// The types have the JSON names, enumerations and ranges of the released API. They set no defaults: admission
// defaults awsName and meshRef, the dialect all other fields.
//
// The CustomResourceDefinitions in api/crds are generated from these types.
// +kubebuilder:object:generate=true
// +groupName=appmesh.k8s.aws
package v1beta2

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object crd paths=. output:crd:dir=../../crds
