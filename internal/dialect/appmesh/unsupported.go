package appmesh

import (
	"fmt"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// unsupportedField is a field that Anymesh does not implement.
type unsupportedField struct {
	path string
	set  bool
}

// reportUnsupported reports the fields that are set.
func (t *translator) reportUnsupported(at model.Origin, fields []unsupportedField) {
	for _, f := range fields {
		if f.set {
			t.report(at.At(f.path), model.CodeFieldNotImplemented, "this field is not implemented yet and has no effect")
		}
	}
}

func unsupportedInNode(o *api.VirtualNode) []unsupportedField {
	var fields []unsupportedField
	for i, l := range o.Spec.Listeners {
		path := fmt.Sprintf("spec.listeners[%d].", i)
		fields = append(fields,
			unsupportedField{path + "connectionPool", l.ConnectionPool != nil},
			unsupportedField{path + "healthCheck", l.HealthCheck != nil},
			unsupportedField{path + "outlierDetection", l.OutlierDetection != nil})
	}
	return fields
}
