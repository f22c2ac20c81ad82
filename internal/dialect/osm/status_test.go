package osm

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/api/osm/status"
	access "anymesh.dev/anymesh/api/smi/access/v1alpha3"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

func TestConditionServed(t *testing.T) {
	at := model.NewOrigin(model.ObjectRef{Kind: "TrafficTarget", Name: "a"})
	info := model.NewFinding(at.At("spec"), model.CodeFieldNotImplemented, "has no effect")
	info.Severity = model.Info
	wrong := model.NewFinding(at.At("spec.rules"), model.CodeInvalidField, "is empty")
	for name, c := range map[string]struct {
		findings        []model.Finding
		reason, message string
		status          metav1.ConditionStatus
	}{
		"no finding":       {nil, status.Served, "", metav1.ConditionTrue},
		"a note":           {[]model.Finding{info}, status.Served, "spec: has no effect", metav1.ConditionTrue},
		"a note, an error": {[]model.Finding{info, wrong}, "InvalidField", "spec.rules: is empty; spec: has no effect", "False"},
	} {
		t.Run(name, func(t *testing.T) {
			before := time.Unix(1000, 0)
			o := &access.TrafficTarget{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
			first := Dialect{}.Status(o, dialect.StatusInput{Mesh: "osm", Findings: c.findings, Now: before})
			again := Dialect{}.Status(first, dialect.StatusInput{
				Mesh: "osm", Findings: c.findings, Now: before.Add(time.Hour),
			})
			s := again.(*access.TrafficTarget).Status
			if len(s.Conditions) != 1 || s.ObservedGeneration != 3 || len(o.Status.Conditions) > 0 {
				t.Fatalf("got %+v", s)
			}
			got := s.Conditions[0]
			if got.Status != c.status || got.Reason != c.reason || got.Message != c.message ||
				!got.LastTransitionTime.Time.Equal(before) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
