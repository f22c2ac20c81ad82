package aggregate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var eventPrinter = printer{
	columns: []metav1.TableColumnDefinition{
		column("Last Seen", 0), column("Type", 0), column("Reason", 0), column("Object", 0), column("Subobject", 1),
		column("Source", 1), column("Message", 0), column("First Seen", 1), column("Count", 1), column("Name", 1),
	},
	cells: printed("", eventCells).cells,
}

func eventCells(e *corev1.Event) []any {
	first, last, count := age(e.FirstTimestamp), age(e.LastTimestamp), max(e.Count, 1)
	if e.FirstTimestamp.IsZero() {
		first = age(metav1.Time{Time: e.EventTime.Time})
	}
	if e.LastTimestamp.IsZero() {
		last = first
	}
	if e.Series != nil {
		last, count = age(metav1.Time{Time: e.Series.LastObservedTime.Time}), e.Series.Count
	}
	object := strings.ToLower(e.InvolvedObject.Kind)
	if e.InvolvedObject.Name != "" {
		object += "/" + e.InvolvedObject.Name
	}
	return []any{
		last, e.Type, e.Reason, object, e.InvolvedObject.FieldPath, eventSource(e), strings.TrimSpace(e.Message), first,
		count, e.Name,
	}
}

// eventSource is the component and its host. Events of events.k8s.io have them in other fields.
func eventSource(e *corev1.Event) string {
	component, host := e.Source.Component, e.Source.Host
	if component == "" {
		component = e.ReportingController
	}
	if host == "" {
		host = e.ReportingInstance
	}
	if host == "" {
		return component
	}
	return component + ", " + host
}
