package parcel

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// AdmissionReads returns nothing: defaults depend only on the object.
func (Dialect) AdmissionReads(client.Object) []client.Object { return nil }

// Default sets port and host if they are empty.
func (d Dialect) Default(_, object client.Object, _ dialect.AdmissionContext) error {
	v := object.(*VirtualService)
	if v.Spec.Port == 0 {
		v.Spec.Port = d.values.Port
	}
	if v.Spec.Host == "" {
		v.Spec.Host = v.Name + "." + v.Namespace + ".svc.cluster.local"
	}
	return nil
}

// Validate rejects changes of spec.app.
func (Dialect) Validate(before, object client.Object) (warnings []string, denial error) {
	if before == nil {
		return nil, nil
	}
	if was, is := before.(*VirtualService).Spec.App, object.(*VirtualService).Spec.App; was != is {
		return nil, fmt.Errorf("spec.app cannot change from %q to %q; create another VirtualService", was, is)
	}
	return nil, nil
}

// AdmissionTrial returns a VirtualService without a host, and a check that it has one.
func (Dialect) AdmissionTrial(name string) (client.Object, func() error) {
	v := &VirtualService{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}, Spec: Spec{App: name}}
	return v, func() error {
		if v.Spec.Host == "" {
			return errors.New("admission did not set spec.host")
		}
		return nil
	}
}

// StatusKinds returns the kind with a status.
func (Dialect) StatusKinds() []client.Object { return []client.Object{&VirtualService{}} }

// Status returns a copy of the object with the condition Served.
func (Dialect) Status(object client.Object, in dialect.StatusInput) client.Object {
	out := object.DeepCopyObject().(*VirtualService)
	c := metav1.Condition{
		Type: "Served", Status: metav1.ConditionTrue, Reason: "Served", Message: "member of mesh " + in.Mesh,
		ObservedGeneration: out.Generation,
		LastTransitionTime: metav1.NewTime(in.Now.Truncate(time.Second)),
	}
	for _, f := range in.Findings {
		if f.Severity == model.Error {
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(f.Code), f.Text
			break
		}
	}
	meta.SetStatusCondition(&out.Status.Conditions, c)
	return out
}

// Finalizers lists the finalizer of the former controller.
func (Dialect) Finalizers() []string { return []string{finalizer} }

// MemberFinalizer is empty: the deletion of an object waits for no others.
func (Dialect) MemberFinalizer(client.Object) string { return "" }

// Owners returns nothing: no deletion waits for another object.
func (Dialect) Owners(client.Object) []types.UID { return nil }

// ReadinessGates lists the readiness gate of the former controller.
func (Dialect) ReadinessGates() []dialect.ReadinessGate {
	return []dialect.ReadinessGate{{Type: gate, Message: "the depot controller is not used"}}
}
