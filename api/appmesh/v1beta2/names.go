package v1beta2

// Condition types, exactly one a kind. Scripts wait for these strings, so they never change.
const (
	MeshActive           = "MeshActive"
	VirtualNodeActive    = "VirtualNodeActive"
	VirtualServiceActive = "VirtualServiceActive"
	VirtualRouterActive  = "VirtualRouterActive"
	VirtualGatewayActive = "VirtualGatewayActive"
	GatewayRouteActive   = "GatewayRouteActive"
)

// Finalizers that the released controller put on objects. Objects taken over from it still carry them.
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
