package store

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// readOnlyMetadata implements the methods of metav1.Object that Pod does not have. It needs no memory. Getters return
// zero values, setters panic: caches and events share objects.
type readOnlyMetadata struct{}

var _ metav1.Object = &Pod{}

func readOnly() { panic("store: objects that are held must not be modified") }

func (readOnlyMetadata) GetGenerateName() string                       { return "" }
func (readOnlyMetadata) GetGeneration() int64                          { return 0 }
func (readOnlyMetadata) GetSelfLink() string                           { return "" }
func (readOnlyMetadata) GetCreationTimestamp() metav1.Time             { return metav1.Time{} }
func (readOnlyMetadata) GetDeletionTimestamp() *metav1.Time            { return nil }
func (readOnlyMetadata) GetDeletionGracePeriodSeconds() *int64         { return nil }
func (readOnlyMetadata) GetAnnotations() map[string]string             { return nil }
func (readOnlyMetadata) GetFinalizers() []string                       { return nil }
func (readOnlyMetadata) GetOwnerReferences() []metav1.OwnerReference   { return nil }
func (readOnlyMetadata) GetManagedFields() []metav1.ManagedFieldsEntry { return nil }

func (readOnlyMetadata) SetNamespace(string)                          { readOnly() }
func (readOnlyMetadata) SetName(string)                               { readOnly() }
func (readOnlyMetadata) SetGenerateName(string)                       { readOnly() }
func (readOnlyMetadata) SetUID(types.UID)                             { readOnly() }
func (readOnlyMetadata) SetResourceVersion(string)                    { readOnly() }
func (readOnlyMetadata) SetGeneration(int64)                          { readOnly() }
func (readOnlyMetadata) SetSelfLink(string)                           { readOnly() }
func (readOnlyMetadata) SetCreationTimestamp(metav1.Time)             { readOnly() }
func (readOnlyMetadata) SetDeletionTimestamp(*metav1.Time)            { readOnly() }
func (readOnlyMetadata) SetDeletionGracePeriodSeconds(*int64)         { readOnly() }
func (readOnlyMetadata) SetLabels(map[string]string)                  { readOnly() }
func (readOnlyMetadata) SetAnnotations(map[string]string)             { readOnly() }
func (readOnlyMetadata) SetFinalizers([]string)                       { readOnly() }
func (readOnlyMetadata) SetOwnerReferences([]metav1.OwnerReference)   { readOnly() }
func (readOnlyMetadata) SetManagedFields([]metav1.ManagedFieldsEntry) { readOnly() }
