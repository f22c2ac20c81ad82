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
	CodeNameConflict        Code = "NameConflict"
	CodeSelectorConflict    Code = "SelectorConflict"
	CodeInvalidField        Code = "InvalidField"
	CodePortConflict        Code = "PortConflict"
	CodeZeroWeight          Code = "ZeroWeight"
	CodeRejected            Code = "RejectedBySidecar"

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
	{CodeFieldNotImplemented, Warning, "The field is part of the API but Anymesh does not act on it yet.", "Remove the field, or go on without what it asks for; the rest of the object is served."},
	{CodeNotSupported, Warning, "The sidecar driver of this workload does not support something that the mesh asks of it.", "Choose another driver for the workload, or remove the feature."},
	{CodeReferenceNotFound, Error, "The object refers to one that does not exist.", "Create the object, or correct namespace and name of the reference. What does not depend on it is served."},
	{CodeOtherMesh, Error, "The object refers to one that belongs to another mesh.", "Keep objects that refer to each other in namespaces of one mesh."},
	{CodeNoMesh, Error, "No Mesh that is served selects the namespace of this object.", "Label the namespace so that the namespaceSelector of one Mesh matches it, and mend what that Mesh's own status names."},
	{CodeMultipleMeshes, Error, "Several Meshes select one namespace.", "Change the namespaceSelectors so that they do not overlap."},
	{CodeMeshMismatch, Error, "The object was designated to a Mesh that is gone, or that was created anew and does not select its namespace.", "Create the Mesh again, with a namespaceSelector for the object's namespace, or delete the object and create it again."},
	{CodeNameConflict, Error, "Two objects of one kind have the same name within their mesh.", "Give one of them another spec.awsName; the older one is served until then."},
	{CodeSelectorConflict, Error, "Several objects select the same pod.", "Make the podSelectors disjoint; until then new pods of this kind are refused, and those that run stay with the older object."},
	{CodeInvalidField, Error, "The value of the field cannot be served, or has no effect.", "Correct the value as the text says."},
	{CodePortConflict, Error, "Two services that one workload may reach need the same port in ways that cannot be told apart.", "Give one of them another port, or remove it from the backends."},
	{CodeZeroWeight, Error, "All weights of a route are 0, so that it has no destination.", "Give at least one target a weight above 0."},
	{CodeRejected, Error, "A sidecar refused configuration that came from this object.", "Read the text, which is the sidecar's own; the last good configuration stays in place."},
	{CodeUnreadable, Error, "The document is no YAML, or no object of a kind that there is.", "Correct the document as the text says."},
	{CodeUnknownField, Error, "The API has no such field, or the document gives it twice. An API server refuses it, or drops it in silence.", "Correct the name or the place of the field; look for wrong indentation."},
	{CodeSchema, Error, "The value breaks the schema of its CustomResourceDefinition; an API server refuses the object.", "Give a value that the text allows."},
	{CodeRefused, Error, "Admission refuses the object.", "Correct what the text names."},
	{CodeDuplicate, Error, "Two documents describe one object; which of them holds depends on the order in which they are applied.", "Remove one of them."},
}

// Severity gives the severity of a code; codes that are not in the table are errors.
func (c Code) Severity() Severity {
	for _, info := range Codes {
		if info.Code == c {
			return info.Severity
		}
	}
	return Error
}
