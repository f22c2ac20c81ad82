package l7mp_test

import (
	"fmt"
	"testing"

	"anymesh.dev/anymesh/model"
)

// Predicates on requests match the same requests, whether they are conditions that each driver has or predicates.
func TestMatches(t *testing.T) {
	get := model.Request{Method: "GET", Path: "/api/x?y=1", Headers: []model.Header{{Name: "X-User", Value: "Ann"}}}
	for _, c := range []struct {
		match         string
		matches       bool
		needPredicate bool
	}{
		{match: `"*"`, matches: true},
		{match: `null`, matches: true},
		{match: `{op: test, path: /HTTP/method, value: GET}`, matches: true},
		{match: `{op: test, path: /HTTP/method, value: POST}`},
		{match: `{op: starts, path: /HTTP/url/path, value: /api}`, matches: true},
		{match: `{op: starts, path: HTTP/url/path/, value: /other}`},
		{match: `{op: starts, path: /HTTP/url/path, value: "/api/x?y"}`, needPredicate: true},
		{match: `{op: test, path: /HTTP/url/path, value: /api/x}`, needPredicate: true},
		{match: `{op: test, path: /HTTP/headers/x-user, value: Ann}`, matches: true},
		{match: `{op: test, path: /HTTP/headers/X-User, value: Ann}`, needPredicate: true},
		{match: `{op: test, path: /HTTP/headers/x-user, value: ann, ignore_case: true}`, matches: true},
		{match: `{op: contains, path: /HTTP/headers/x-user, value: nn}`, matches: true},
		{match: `{op: contains, path: /HTTP/headers/x-user, value: .}`},
		{match: `{op: ends, path: /HTTP/headers/x-user, value: nn}`, matches: true},
		{match: `{op: matches, path: /HTTP/headers/x-user, value: "n{2}"}`, matches: true},
		{match: `{op: defined, path: /HTTP/headers/x-user}`, matches: true},
		{match: `{op: undefined, path: /HTTP/headers/x-user}`},
		{match: `{op: and, apply: [{op: test, path: /HTTP/method, value: GET}, {op: undefined, path: /HTTP/headers/a}]}`, matches: true},
		{match: `{op: and, apply: [{op: test, path: /HTTP/method, value: GET}, {op: test, path: /HTTP/method, value: PUT}]}`, needPredicate: true},
		{match: `{op: or, apply: [{op: test, path: /HTTP/method, value: PUT}, {op: test, path: /HTTP/method, value: GET}]}`, matches: true},
		{match: `{op: not, apply: [{op: test, path: /HTTP/method, value: GET}]}`, needPredicate: true},
		{match: `{op: more, path: /TCP/src_port, value: 1}`, needPredicate: true},
	} {
		routes := routesOf(t, c.match)
		if len(routes) == 0 {
			t.Errorf("%s: no route", c.match)
			continue
		}
		matches := false
		for _, r := range routes {
			matches = matches || r.Match.Matches(get)
		}
		if has := routes[0].Match.Predicate != nil; has != c.needPredicate || !has && matches != c.matches {
			t.Errorf("%s: it is a predicate: %v, want %v; it matches: %v, want %v", c.match, has, c.needPredicate, matches,
				c.matches)
		}
	}
}

// An invalid predicate matches nothing: its rule has no route.
func TestInvalidMatches(t *testing.T) {
	for _, match := range []string{
		`{op: tset, path: /HTTP/method, value: GET}`, `{op: type, path: /HTTP/method, value: string}`,
		`{op: test, value: GET}`, `{op: test, path: /HTTP/method}`, `{op: matches, path: /HTTP/method, value: "("}`,
		`{op: and, path: /HTTP, apply: [{op: defined, path: /method}]}`, `{op: or, apply: [{op: x}]}`, `[]`, `7`,
	} {
		if routes := routesOf(t, match); len(routes) > 0 {
			t.Errorf("%s: got %v", match, routes)
		}
	}
}

// routesOf returns the routes of a rule with a match.
func routesOf(t *testing.T, match string) []model.Route {
	t.Helper()
	m, objects := newMesh()
	for _, o := range decode(t, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: g, namespace: web, uid: g, labels: {app: gateway, anymesh.dev/proxy-uuid: g}}, spec: {containers: [{name: l7mp}]}}
---
{apiVersion: l7mp.io/v1, kind: VirtualService, metadata: {name: in, namespace: web}, spec: {selector: {matchLabels: {app: gateway}}, listener: {spec: {HTTP: {port: 8000}}, rules: [{match: %s, action: {route: {destination: users}}}]}}}
`, match)) {
		objects.Set(cached(t, o))
	}
	m.run()
	return m.mesh.Snapshot().Routers[0].Routes
}
