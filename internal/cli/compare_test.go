package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/cli"
	"anymesh.dev/anymesh/internal/cli/compare"
)

const compareFolder = "testdata/compare/"

// A change of one line is found, in the aspect that it is about. Changes that mean the same are not differences.
func TestCompareFindsEachDifference(t *testing.T) {
	appmesh, smi := compareFolder+"appmesh.yaml", compareFolder+"colors-smi/mesh.yaml"
	otherRoute := []compare.Aspect{compare.Balancing, compare.Destinations, compare.Retries, compare.Timeouts}
	for _, c := range []struct {
		name, file, old, new string
		// aspects are all of the differences; none for a change that means the same.
		aspects []compare.Aspect
	}{
		{"weight", appmesh, "weight: 90}", "weight: 80}", []compare.Aspect{compare.Destinations}},
		{"weight 0", appmesh, "weight: 10}", "weight: 0}", []compare.Aspect{compare.Balancing, compare.Destinations, compare.Timeouts}},
		{"request timeout", appmesh, "timeout: {perRequest: {unit: s, value: 2}}", "timeout: {perRequest: {unit: s, value: 3}}",
			[]compare.Aspect{compare.Timeouts}},
		{"number of retries", appmesh, "maxRetries: 3", "maxRetries: 2", []compare.Aspect{compare.Retries, compare.Timeouts}},
		{"retried failures", appmesh, "[gateway-error]", "[server-error]", []compare.Aspect{compare.Retries}},
		{"value of a header", appmesh, "match: {exact: beta}", "match: {exact: gamma}",
			otherRoute},
		{"kind of a header match", appmesh, "match: {exact: beta}", "match: {prefix: beta}",
			otherRoute},
		{"order of routes", appmesh, "priority: 1\n", "priority: 9\n", otherRoute},
		{"method", appmesh, "method: POST", "method: PUT", otherRoute},
		{"query parameter", appmesh, `match: {exact: "1"}`, `match: {exact: "2"}`,
			otherRoute},
		{"regular expression", appmesh, "/items/[0-9]+", "/items/[0-9a-f]+", otherRoute},
		{"prefix", appmesh, "{prefix: /admin, ", "{prefix: /adm, ", otherRoute},
		{"mode of TLS", appmesh, "mode: STRICT", "mode: PERMISSIVE", []compare.Aspect{compare.Access}},
		{"client of a listener", appmesh, `"spiffe://cluster.local/ns/shop/sa/edge", `, "", []compare.Aspect{compare.Access, compare.Destinations, compare.Result, compare.Timeouts}},
		{"server of a client", appmesh, `exact: ["spiffe://cluster.local/ns/shop/sa/cart"]`,
			`exact: ["spiffe://cluster.local/ns/shop/sa/other"]`, []compare.Aspect{compare.Result, compare.TLS}},
		{"enforced TLS", appmesh, "enforce: true", "enforce: false", []compare.Aspect{compare.TLS}},
		{"idle timeout of a listener", appmesh, "idle: {unit: s, value: 60}", "idle: {unit: s, value: 30}",
			[]compare.Aspect{compare.Timeouts}},
		{"connection pool", appmesh, "maxConnections: 10", "maxConnections: 11", []compare.Aspect{compare.Limits}},
		{"health check", appmesh, "path: /ping", "path: /pong", []compare.Aspect{compare.Balancing}},
		{"outlier detection", appmesh, "maxServerErrors: 5", "maxServerErrors: 6", []compare.Aspect{compare.Balancing}},
		{"access log", appmesh, "path: /dev/stdout", "path: /dev/stderr", []compare.Aspect{compare.AccessLog}},
		{"backend", appmesh, "    - virtualService: {virtualServiceRef: {name: stock}}\n", "", []compare.Aspect{compare.Result}},
		{"port of a router", appmesh, "listeners: [{portMapping: {port: 8080, protocol: http}}]\n  routes",
			"listeners: [{portMapping: {port: 8081, protocol: http}}]\n  routes", []compare.Aspect{compare.Failure, compare.Result}},
		{"egress", appmesh, "DROP_ALL", "ALLOW_ALL", []compare.Aspect{compare.Result}},
		{"host of a gateway", appmesh, "exact: shop.example.com", "exact: www.example.com", []compare.Aspect{compare.Result}},
		{"rewrite of a gateway", appmesh, "prefix: {value: /}", "prefix: {value: /shop/}",
			[]compare.Aspect{compare.Balancing, compare.Destinations, compare.Forwarded, compare.Retries, compare.Timeouts}},
		{"injection", appmesh, "podSelector: {matchLabels: {app: stock}}", "podSelector: {matchLabels: {app: nobody}}",
			[]compare.Aspect{compare.Membership}},
		{"identity", smi, "sources: [{kind: ServiceAccount, name: front, namespace: colors}]\n---\napiVersion: policy",
			"sources: [{kind: ServiceAccount, name: tally, namespace: colors}]\n---\napiVersion: policy",
			[]compare.Aspect{compare.Access, compare.Result}},
		{"split", smi, "weight: 3}", "weight: 4}", []compare.Aspect{compare.Destinations}},
		{"permissive mode", smi, "enablePermissiveTrafficPolicyMode: false", "enablePermissiveTrafficPolicyMode: true",
			[]compare.Aspect{compare.Access, compare.Result}},
		{"host in a policy", smi, `{host: 'tally\.`, `{host: 'tell\.`, []compare.Aspect{compare.Access, compare.Result}},

		{"equal weights", appmesh, "weight: 1}", "weight: 7}", nil},
		{"names of routes", appmesh, "name: items", "name: articles", nil},
		{"order of conditions", appmesh, "match: {prefix: /, headers: [{name: x-version, match: {exact: beta}}]}",
			"match: {headers: [{name: X-Version, match: {exact: beta}}], prefix: /}", nil},
		{"another expression", appmesh, "/items/[0-9]+", "/items/[0-9][0-9]*", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := os.ReadFile(c.file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), c.old, c.new, 1)
			if changed == string(text) {
				t.Fatalf("%s has no %q", c.file, c.old)
			}
			other := filepath.Join(t.TempDir(), "changed.yaml")
			if err := os.WriteFile(other, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{"-f", c.file, "--with", other}
			if c.file == smi {
				apps := compareFolder + "colors-smi/apps.yaml"
				args = append(args, "-f", apps, "--with", apps)
			}
			report := comparison(t, args...)
			var found []compare.Aspect
			for _, d := range report.Differences {
				if !slices.Contains(found, d.Aspect) {
					found = append(found, d.Aspect)
				}
			}
			slices.Sort(found)
			if want := slices.Sorted(slices.Values(c.aspects)); !slices.Equal(found, want) {
				t.Errorf("differences in %q, want %q: %+v", found, want, report.Differences)
			}
		})
	}
}

// The App Mesh objects of the demo and their translation to SMI route all requests to the same pods.
func TestCompareAppMeshWithSMI(t *testing.T) {
	report := comparison(t, "-f", "../../examples/colors", "--with", compareFolder+"colors-smi",
		"--ignore", "access,failure,tls,retries,timeouts")
	if !report.Equal() || report.Requests < 200 || report.Parties != 5 {
		t.Errorf("%d requests of %d parties: %+v", report.Requests, report.Parties, report.Differences)
	}
}

// With the mutual TLS, timeouts and retries of Open Service Mesh, App Mesh objects serve the same requests in the same
// way, and refuse the same ones; only what the clients of refused requests get is different.
func TestCompareMutualTLS(t *testing.T) {
	folder := compareFolder + "mutual-tls/"
	report := comparison(t, "-f", folder+"apps.yaml", "-f", folder+"appmesh.yaml", "--with", folder+"apps.yaml",
		"--with", folder+"smi.yaml", "--ignore", "failure")
	if !report.Equal() || report.Requests < 200 || report.Parties != 5 {
		t.Errorf("%d requests of %d parties: %+v", report.Requests, report.Parties, report.Differences)
	}
}

// comparison runs anymesh compare, and checks that the exit code says what the report says.
func comparison(t *testing.T, args ...string) compare.Report {
	t.Helper()
	var out, errors bytes.Buffer
	code := cli.Run(t.Context(), append([]string{"compare", "-o", "json"}, args...), nil, &out, &errors)
	var report compare.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v: exit code %d: %s", err, code, errors.String())
	}
	if report.Equal() != (code == 0) {
		t.Errorf("exit code %d for %d differences", code, len(report.Differences))
	}
	return report
}
