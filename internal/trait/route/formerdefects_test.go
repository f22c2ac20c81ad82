package route

import (
	"os"
	"strings"
	"testing"
)

// formerDefects are the defects of the Route controller of KubeVela, with what this one does in their place. The file
// of each row has the texts: it is a golden case, or a test on a cluster.
var formerDefects = []struct {
	defect string
	file   string
	texts  []string
}{
	// Fields.
	{"the UID of the workload is ignored, or wrong for a workload that is created again", "testdata/workload-uid.txtar", []string{"uid: another", "Service: site", "status: Ready"}},
	{"a Route without workload reference", "testdata/no-workload-reference.txtar", []string{"NoWorkloadReference"}},
	{"a host that contains localhost has no Ingress", "testdata/not-local.txtar", []string{"Host: my-localhost.example.com"}},
	{"an empty host is accepted, and means a Service only", "testdata/local-empty.txtar", []string{"status: Ready", "kind: Service"}},
	{"an unknown provider crashes the controller", "testdata/unknown-provider.txtar", []string{"UnknownProvider"}},
	{"the document has another name for the provider than the code", "../nginx/nginx.go", []string{`"nginx", "nginx-ingress"`}},
	{"the class is an annotation, which is empty without a class", "../testdata/01-host-only.txtar", []string{"results/nginx", "ingressClassName: nginx"}},
	{"a certificate for each rule of the same host", "../testdata/09-tls-with-several-rules.txtar", []string{"name: web-b", "secretName: web-cert"}},
	{"tls without an issuer is undefined", "../certificate/plan_test.go", []string{`builtIn.IssuerName = ""`}},
	{"a ClusterIssuer is not checked", "../certificate/plan_test.go", []string{`typed.IssuerType = "ClusterIssuer"`}},
	{"a path may be empty, and has no type", "../testdata/01-host-only.txtar", []string{"path: /", "pathType: Prefix"}},
	{"two rules with one name collide", "testdata/duplicate-names.txtar", []string{"DuplicateRuleName"}},
	{"a name collides with an index", "testdata/duplicate-index.txtar", []string{"DuplicateRuleName"}},
	{"a rewrite target replaces whole paths", "../testdata/03-all-fields.txtar", []string{"type: ReplacePrefixMatch", "anymesh.dev/rewrite-prefix: /v1", "rewrite-target: /v1$"}},
	{"custom headers are set in responses, by a snippet", "../testdata/03-all-fields.txtar", []string{"anymesh.dev/request-headers: ", "type: RequestHeaderModifier", "requestHeadersPolicy:"}},
	{"custom headers have a random order", "testdata/all-fields.txtar", []string{"- Name: X-A\n        Value: one\n      - Name: X-B"}},
	{"custom headers are not escaped", "testdata/invalid-header.txtar", []string{"InvalidHeader"}},
	{"a read timeout makes the Ingress invalid", "../testdata/03-all-fields.txtar", []string{"anymesh.dev/read-timeout: 1.5s", "nginx.ingress.kubernetes.io/proxy-read-timeout: "}},
	{"Contour gets a timeout without unit", "../testdata/03-all-fields.txtar", []string{"idle: 30s"}},
	{"send timeout, rewrite and headers are missing for Contour", "../testdata/03-all-fields.txtar", []string{"results/contour", "pathRewritePolicy:", "spec.rules[0].backend.sendTimeout"}},
	{"the group of a default backend has a version", "testdata/all-fields.txtar", []string{"Group: networking.example.com\n        Kind: Bucket"}},
	{"a default backend cannot be a Service, and is that of the host", "../testdata/03-all-fields.txtar", []string{"anymesh.dev/default-backend: sorry:8080"}},
	{"an invalid default backend", "testdata/invalid-defaultbackend.txtar", []string{"InvalidDefaultBackend"}},
	{"a port without the name of the Service needs an empty name", "testdata/many-ports.txtar", []string{"backendService: {port: http}", "Service: site"}},

	// Metadata.
	{"a pod with two ports has no Service, because its ports have no names", "testdata/many-ports.txtar", []string{"name: tcp-9090"}},
	{"equal ports of containers are refused", "testdata/many-ports.txtar", []string{"status: Ready"}},
	{"the Service has TCP ports only", "testdata/many-ports.txtar", []string{"protocol: UDP"}},
	{"the labels of the Service are all of the Route", "testdata/labels-of-application.txtar", []string{"app.oam.dev/name: "}},
	{"objects of removed rules and providers stay", "../../../test/e2e/trait/route_test.go", []string{"func TestObjectsOfRemovedRulesAndProvidersAreRemoved("}},
	{"objects have the UID of the Route as field manager", "../../../test/e2e/trait/former_test.go", []string{"func TestObjectsOfTheFormerController("}},

	// Status.
	{"the status has the UID of the Route in place of the Ingress", "testdata/host-only.txtar", []string{"uid: uid of site"}},
	{"a Service that exists is not in the status", "testdata/child-service.txtar", []string{"service:\n    apiVersion: v1\n    kind: Service\n    name: web"}},
	{"the status is polled every 10 s", "../../../test/e2e/trait/scale_test.go", []string{"func TestWorkDoesNotGrowWithTheNumberOfRoutes("}},
	{"a change of a container port or a deleted Service is not noticed", "../../../test/e2e/trait/route_test.go", []string{"func TestRouteFollowsTheCluster("}},
	{"conditions are replaced, with a new time", "../controller/diff_test.go", []string{"func TestStatusDiffers("}},
	{"the first condition of a Certificate is judged, whatever it is", "../certificate/plan_test.go", []string{"type: Issuing"}},

	// Discovery.
	{"a numeric and a named port of the same container differ", "testdata/child-service.txtar", []string{"port: 8080, targetPort: http", "Port: 8080\n        Service: web"}},
	{"the port of the Service itself is not found", "testdata/child-service-own-port.txtar", []string{"Service: web"}},
	{"a named port counts as unset, and overwrites the name of the Service", "testdata/service-by-name.txtar", []string{"serviceName: mine, port: http", "Name: name\n      Path: /n"}},
	{"a Service is that of the workload only one level below it", "testdata/grandchild-service.txtar", []string{"Service: "}},
	{"a UDP port of a Service is used for HTTP", "testdata/child-service-udp.txtar", []string{"protocol: UDP"}},
	{"a missing definition is an error although the workload does not name one", "testdata/host-only.txtar", []string{"status: Ready"}},
	{"a missing definition that the workload names", "testdata/definition-missing.txtar", []string{"failed to create the services: WorkloadDefinition.core.oam.dev"}},
	{"the labels at podSpecPath are those of the workload, which pods may not have", "testdata/podspecpath-template.txtar", []string{"selector:\n      app: web"}},
	{"nothing says that no pod has the labels", "testdata/no-pods.txtar", []string{"NoPods"}},
	{"a PodTemplate without labels has a Service that selects nothing", "testdata/no-pod-labels.txtar", []string{"NoPodLabels"}},
	{"ports of init containers count", "testdata/init-containers.txtar", []string{"initContainers"}},
	{"protocols of ports are ignored", "testdata/udp-only.txtar", []string{"TCP"}},
	{"no port is an error without advice", "testdata/no-ports.txtar", []string{"no port found in", "add ports to a container"}},
	{"CronJobs and Pods have no PodTemplate", "testdata/workload-cronjob.txtar", []string{"Ready=True"}},
}

// TestFormerDefects checks that each defect has its case. The cases themselves are compared by other tests.
func TestFormerDefects(t *testing.T) {
	for _, d := range formerDefects {
		text, err := os.ReadFile(d.file)
		if err != nil {
			t.Errorf("%s: %v", d.defect, err)
			continue
		}
		for _, want := range d.texts {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: %s does not have %q", d.defect, d.file, want)
			}
		}
	}
}
