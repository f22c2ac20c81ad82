// Package v1beta2 holds the API types of group appmesh.k8s.aws, version v1beta2: Mesh, VirtualNode,
// VirtualService, VirtualRouter, VirtualGateway, GatewayRoute and BackendGroup.
//
// In come the objects that users write; out go typed Go values with the released JSON names, value sets and
// ranges. Nothing is defaulted here: defaults belong to admission (awsName, meshRef) and to the dialect (all else).
//
// The CustomResourceDefinitions in api/crds are generated from these types.
//
// +kubebuilder:object:generate=true
// +groupName=appmesh.k8s.aws
package v1beta2

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object crd paths=. output:crd:dir=../../crds
