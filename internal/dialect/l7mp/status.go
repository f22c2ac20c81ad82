package l7mp

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// accepted is the type of the condition.
const accepted = "Accepted"

// StatusKinds returns all kinds of the group.
func (Dialect) StatusKinds() []client.Object {
	return []client.Object{&api.VirtualService{}, &api.Route{}, &api.Target{}}
}

// Status sets the condition: False with the first error, else with the first warning about a port that an older
// object has, else True, with the first note if there is one.
func (Dialect) Status(object client.Object, in dialect.StatusInput) client.Object {
	out := object.DeepCopyObject().(client.Object)
	var to *[]metav1.Condition
	switch o := out.(type) {
	case *api.VirtualService:
		to = &o.Status.Conditions
	case *api.Route:
		to = &o.Status.Conditions
	case *api.Target:
		to = &o.Status.Conditions
	default:
		return object
	}
	c := metav1.Condition{
		Type: accepted, Status: metav1.ConditionTrue, Reason: accepted, Message: "the object has effect",
		ObservedGeneration: out.GetGeneration(), LastTransitionTime: metav1.NewTime(in.Now.Truncate(time.Second)),
	}
	i := slices.IndexFunc(in.Findings, func(f model.Finding) bool { return f.Severity == model.Error })
	if i < 0 {
		i = slices.IndexFunc(in.Findings, func(f model.Finding) bool { return f.Code == model.CodePortConflict })
	}
	if i < 0 {
		i = slices.IndexFunc(in.Findings, func(f model.Finding) bool { return f.Severity == model.Info })
	}
	if i >= 0 {
		f := in.Findings[i]
		c.Message = f.Text
		if f.Path != "" {
			c.Message = f.Path + ": " + f.Text
		}
		if f.Severity != model.Info {
			c.Reason = string(f.Code)
		}
		if f.Severity == model.Error {
			c.Status = metav1.ConditionFalse
		}
	}
	meta.SetStatusCondition(to, c)
	return out
}
