package aggregate

import (
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// validateOptions refuses parameters of lists and watches that are not valid together, with the code and the text of
// kube-apiserver.
func validateOptions(query url.Values, watch bool) error {
	o := internalversion.ListOptions{
		Watch: watch, ResourceVersion: query.Get("resourceVersion"), Continue: query.Get("continue"),
		ResourceVersionMatch: metav1.ResourceVersionMatch(query.Get("resourceVersionMatch")),
	}
	if query.Has("sendInitialEvents") {
		send, err := boolean(query, "sendInitialEvents")
		if err != nil {
			return err
		}
		o.SendInitialEvents = &send
	}
	if faults := validation.ValidateListOptions(&o, true); len(faults) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", faults)
	}
	return nil
}
