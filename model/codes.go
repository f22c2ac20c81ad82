package model

// Code names a kind of finding. It is CamelCase, because it is also the reason of a status condition.
type Code string

// The codes of findings. Each has a row in Codes, from which docs/findings.md is generated.
const (
	CodeFieldNotImplemented Code = "FieldNotImplemented"
	CodeNotSupported        Code = "NotSupportedByDriver"
	CodeReferenceNotFound   Code = "ReferenceNotFound"
	CodeOtherMesh           Code = "ReferenceToOtherMesh"
	CodeNoMesh              Code = "NoMesh"
	CodeMultipleMeshes      Code = "MultipleMeshes"
	CodeMeshMismatch        Code = "MeshMismatch"
	CodeNoGateway           Code = "NoGateway"
	CodeMultipleGateways    Code = "MultipleGateways"
	CodeNoProxy             Code = "NoProxy"
	CodeBypass              Code = "BypassedSidecar"
	CodeNameConflict        Code = "NameConflict"
	CodeNameReserved        Code = "NameReserved"
	CodeSelectorConflict    Code = "SelectorConflict"
	CodeInvalidField        Code = "InvalidField"
	CodePortConflict        Code = "PortConflict"
	CodeNoAddress           Code = "NoAddress"
	CodeAnyAddress          Code = "AnyAddress"
	CodeZeroWeight          Code = "ZeroWeight"
	CodeNoCertificate       Code = "CertificateUnavailable"
	CodePendingMembers      Code = "PendingMembersDeletion"
	CodeRejected            Code = "RejectedBySidecar"
	CodeInternal            Code = "InternalError"
	CodeNoService           Code = "NoService"
	CodeBackendTLS          Code = "BackendTLS"
	CodeNoEffect            Code = "NoEffect"
	CodeBoundaries          Code = "MessageBoundaries"

	// CodeNotSupportedByProvider is a field that the program that serves an object does not honor.
	CodeNotSupportedByProvider Code = "NotSupportedByProvider"

	// Codes of "anymesh lint" only: manifests that are valid, but probably not what was meant.
	CodeNoPods      Code = "NoMatchingPods"
	CodeClosedPort  Code = "ClosedPort"
	CodeHiddenRoute Code = "HiddenRoute"

	// Codes of "anymesh lint" only: an API server rejects these objects.
	CodeUnreadable   Code = "Unreadable"
	CodeUnknownField Code = "UnknownField"
	CodeSchema       Code = "SchemaViolation"
	CodeRefused      Code = "RefusedAtAdmission"
	CodeDuplicate    Code = "DuplicateObject"
)

// CodeInfo documents a code.
type CodeInfo struct {
	Code     Code
	Severity Severity
	// Meaning describes the problem, Remedy the action that fixes it.
	Meaning string
	Remedy  string
}

// Codes is the table of all codes.
var Codes = []CodeInfo{
	{
		CodeFieldNotImplemented, Warning, "The field is part of the API, but Anymesh does not implement it yet.",
		"Remove the field, or accept that it has no effect. The rest of the object is served.",
	},
	{
		CodeNotSupported, Warning,
		"The sidecar driver of this workload does not support a feature that the configuration uses.",
		"Use another driver for the workload, or remove the feature.",
	},
	{CodeReferenceNotFound, Error, "The object refers to an object that does not exist.", "Create the object, or correct the namespace and name of the reference. All parts that do not depend on it are served."},
	{
		CodeOtherMesh, Error, "The object refers to an object of another mesh.",
		"Move both objects into namespaces of the same mesh.",
	},
	{CodeNoEffect, Warning, "The object is valid, and a setting of the mesh takes its effect away.", "Change the setting that the text names, or delete the object."},
	{CodeNoMesh, Error, "No served Mesh selects the namespace of this object.", "Label the namespace so that the namespaceSelector of one Mesh matches it. Correct the errors in the status of that Mesh."},
	{
		CodeMultipleMeshes, Error, "Several Meshes select the same namespace.",
		"Change the namespaceSelectors so that they do not overlap.",
	},
	{CodeMeshMismatch, Error, "The object belongs to a Mesh that was deleted, or that was created again and does not select the namespace of the object.", "Create the Mesh again with a namespaceSelector that matches the namespace, or delete the object and create it again."},
	{
		CodeNoGateway, Error, "No served gateway selects this route.",
		"Label the route and its namespace so that the selectors of one gateway match. Correct the errors in the status of that gateway.",
	},
	{
		CodeMultipleGateways, Error, "Several gateways select the same route.",
		"Change the selectors of the gateways so that they do not overlap.",
	},
	{
		CodeNoProxy, Warning, "A pod of a gateway or workload has no proxy.",
		"Name a container of a gateway's pod as the message says, enable injection in its namespace, and create the pod again.",
	},
	{
		CodeBypass, Warning, "A pod bypasses its sidecar, though injection is enabled in its namespace.",
		"Remove from the template of the pod what the message names, and create the pod again.",
	},
	{
		CodeNameConflict, Error, "Two objects have the same name in one mesh.",
		"Change the name of one object in the mesh, for example by spec.awsName. Until then, the older object is served.",
	},
	{
		CodeNameReserved, Error, "The mesh binds the name of the object to other namespaces.",
		"Change the name of the object in the mesh, for example by spec.awsName, move the object, or add its namespace to the annotation of the Mesh that the message names.",
	},
	{CodeSelectorConflict, Error, "Several objects select the same pod.", "Change the podSelectors so that they do not overlap. Until then, new pods that match several selectors are refused, and existing pods belong to the older object."},
	{
		CodeInvalidField, Error, "The value of the field is invalid, or has no effect.",
		"Correct the value as described in the message.",
	},
	{
		CodePortConflict, Error,
		"Two backends or two listeners of a workload use the same port, and the sidecar cannot distinguish their connections.",
		"Give the Service of the TCP service a cluster IP, change the port, or remove one service from the backends.",
	},
	{
		CodeNoAddress, Warning, "No address is left for the name of a service that has no Kubernetes Service.",
		"Create a Service with this name, use fewer names, or set larger ranges in osm.reservedRanges of the Helm values.",
	},
	{
		CodeAnyAddress, Warning, "A TCP service without an address of its own takes all connections of its clients to its port.",
		"Start the pods of a headless Service. For a server outside of the cluster, annotate the pods of the clients, or their namespace, with " +
			"`anymesh.dev/dns: All`.",
	},
	{
		CodeZeroWeight, Error, "All weights of a route are 0. The route has no destination.",
		"Set a weight above 0 for at least one target.",
	},
	{
		CodeNoCertificate, Error,
		"No source of the mesh has a certificate, or the trusted authorities, that the object names; or a Secret of a gateway has no valid certificate; or no pod of the linted files mounts the file of a certificate.",
		"Set the source in the Helm values, or change the name, or put a certificate into the Secret, as described in the message. Certificates in files need no source, but a mount in the proxy.",
	},
	{
		CodePendingMembers, Warning, "The object is being deleted, and waits for the deletion of its members.",
		"Delete the members that the message lists. The object is deleted after its last member, and is served until then.",
	},
	{
		CodeRejected, Error, "A sidecar rejected (NACK) configuration of this object.",
		"Read the message. Mount a file that a pod does not have, or correct its path. Any other error is a bug: report it.",
	},
	{
		CodeInternal, Error, "Anymesh failed while it processed the object.",
		"Report the message with the object. Until the object changes, its last good configuration stays in use.",
	},
	{
		CodeNoService, Error, "No Service leads to the workload of the object, and none can be created.",
		"Add ports and labels to the pods of the workload, or name a Service in the object.",
	},
	{
		CodeBackendTLS, Error, "A backend of a gateway requires TLS, and the gateway cannot connect to it as it requires.",
		"Let the authority of the mesh issue the certificate of the listener, or let the listener accept connections without TLS.",
	},
	{
		CodeBoundaries, Info, "A route sends messages to a stream of bytes, where one message cannot be told from the next.",
		"Nothing, if the destination finds the messages in the stream. Otherwise, use a destination with messages, as a WebSocket or UDP.",
	},
	{
		CodeNotSupportedByProvider, Warning,
		"The provider that serves the object does not honor the field, or not as the object says.",
		"Remove the field, or choose another provider.",
	},
	{
		CodeNoPods, Warning, "A selector matches none of the pods and workloads in the files.",
		"Correct the label in the selector or in the template of the workload. If the pods are in other files, check them together.",
	},
	{
		CodeClosedPort, Warning,
		"No container of the selected pods, or no port of the Service, has the port of a listener.",
		"Use one port in the listener, in a container of the pods, and in the Service.",
	},
	{
		CodeHiddenRoute, Warning, "A route gets no requests, because another one that takes precedence matches all of them.",
		"Change the priorities, or the match of one of the routes, or remove the route.",
	},
	{
		CodeUnreadable, Error, "The document is not valid YAML, or not an object of a known kind.",
		"Correct the document as described in the message.",
	},
	{CodeUnknownField, Error, "The API has no such field, or the document contains it twice. The API server refuses the object, or drops the field without an error.", "Correct the name or the position of the field. Check the indentation."},
	{
		CodeSchema, Error,
		"The value violates the schema of the CustomResourceDefinition. The API server refuses the object.",
		"Use a value that the message allows.",
	},
	{CodeRefused, Error, "Admission refuses the object.", "Correct the error in the message."},
	{
		CodeDuplicate, Error, "Two documents define the same object. The last one that is applied takes effect.",
		"Remove one of them.",
	},
}

// Severity returns the severity of a code. Codes that are not in the table have severity Error.
func (c Code) Severity() Severity {
	for _, info := range Codes {
		if info.Code == c {
			return info.Severity
		}
	}
	return Error
}
