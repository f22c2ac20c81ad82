package l7mp_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/l7mp"
	"anymesh.dev/anymesh/model"
)

// Messages that go into a stream of bytes are served, with one note.
func TestMessageBoundaries(t *testing.T) {
	const text = `
{apiVersion: v1, kind: Pod, metadata: {name: gateway, namespace: web, uid: g, labels: {app: gateway, anymesh.dev/proxy-uuid: g}}, spec: {containers: [{name: l7mp}]}}
---
{apiVersion: l7mp.io/v1, kind: VirtualService, metadata: {name: in, namespace: web}, spec: {selector: {matchLabels: {app: gateway}}, listener: {spec: %s, rules: [{action: {route: {destination: %s, ingress: [%s]}}}]}}}
`
	const unix, tcp, udp, echo = "{UnixDomainSocket: {filename: /a}}", "{spec: {TCP: {port: 2}}, endpoints: [{spec: {address: 10.0.0.1}}]}",
		"{spec: {UDP: {port: 2}}, endpoints: [{spec: {address: 10.0.0.1}}]}", "{spec: {Echo: {}}}"
	for _, c := range []struct {
		listener, destination, ingress string
		want                           string // the path; empty without a note
	}{
		{"{WebSocket: {port: 1}}", unix, "", "destination"},
		{"{UDP: {port: 1}}", tcp, "", "destination"},
		{"{JSONSocket: {transport: {UDP: {port: 1}}}}", tcp, "", "destination"},
		{"{UDP: {port: 1}}", udp, tcp, "ingress[0]"},
		{"{UDP: {port: 1}}", tcp, tcp, "destination"},
		{"{UDP: {port: 1}}", udp, echo, ""},
		{"{UDP: {port: 1}}", echo, "", ""},
		{"{WebSocket: {port: 1}}", udp, "", ""},
		{"{TCP: {port: 1}}", unix, "", ""},
	} {
		m, objects := newMesh()
		var service *api.VirtualService
		for _, o := range decode(t, fmt.Sprintf(text, c.listener, c.destination, c.ingress)) {
			objects.Set(cached(t, o))
			if v, is := o.(*api.VirtualService); is {
				service = v
			}
		}
		m.run()
		notes := m.findings(model.CodeBoundaries)
		if c.want == "" {
			if len(notes) > 0 {
				t.Errorf("%s to %s by %s: got %v", c.listener, c.destination, c.ingress, notes)
			}
			continue
		}
		if len(notes) != 1 || !strings.HasSuffix(notes[0].Path, "."+c.want) || notes[0].Severity != model.Info {
			t.Errorf("%s to %s by %s: got %v", c.listener, c.destination, c.ingress, notes)
			continue
		}
		out := l7mp.Dialect{}.Status(service, dialect.StatusInput{Findings: notes}).(*api.VirtualService)
		condition := meta.FindStatusCondition(out.Status.Conditions, "Accepted")
		if condition.Status != "True" || condition.Reason != "Accepted" || !strings.Contains(condition.Message, notes[0].Text) {
			t.Errorf("got condition %v", condition)
		}
	}
}
