package v1beta2

// Condition types, one for each kind. They never change, because scripts wait for them.
const (
	MeshActive           = "MeshActive"
	VirtualNodeActive    = "VirtualNodeActive"
	VirtualServiceActive = "VirtualServiceActive"
	VirtualRouterActive  = "VirtualRouterActive"
	VirtualGatewayActive = "VirtualGatewayActive"
	GatewayRouteActive   = "GatewayRouteActive"
)

// Finalizers of the released controller. Objects that it created still have them.
const (
	FinalizerMeshMembers           = "finalizers.appmesh.k8s.aws/mesh-members"
	FinalizerVirtualGatewayMembers = "finalizers.appmesh.k8s.aws/virtualgateway-members"
	FinalizerAWSResources          = "finalizers.appmesh.k8s.aws/aws-appmesh-resources"
	FinalizerCloudMapResources     = "finalizers.appmesh.k8s.aws/aws-cloudmap-resources"
)

// Names of the kinds, as written in manifests.
const (
	KindMesh           = "Mesh"
	KindVirtualNode    = "VirtualNode"
	KindVirtualService = "VirtualService"
	KindVirtualRouter  = "VirtualRouter"
	KindVirtualGateway = "VirtualGateway"
	KindGatewayRoute   = "GatewayRoute"
	KindBackendGroup   = "BackendGroup"
)
