package crds_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"anymesh.dev/anymesh/api/crds"
)

// released is what `kubectl api-resources` and `kubectl get` show of the released App Mesh API.
var released = []string{
	"backendgroups BackendGroup Namespaced categories=[all] columns=[]",
	"gatewayroutes GatewayRoute Namespaced categories=[all] columns=[ARN .status.gatewayRouteARN string, AGE .metadata.creationTimestamp date, SERVED .status.conditions[?(@.type==\"GatewayRouteActive\")].status string, REASON .status.conditions[?(@.type==\"GatewayRouteActive\")].reason string]",
	"meshes Mesh Cluster categories=[] columns=[ARN .status.meshARN string, AGE .metadata.creationTimestamp date, SERVED .status.conditions[?(@.type==\"MeshActive\")].status string, REASON .status.conditions[?(@.type==\"MeshActive\")].reason string]",
	"virtualgateways VirtualGateway Namespaced categories=[all] columns=[ARN .status.virtualGatewayARN string, AGE .metadata.creationTimestamp date, SERVED .status.conditions[?(@.type==\"VirtualGatewayActive\")].status string, REASON .status.conditions[?(@.type==\"VirtualGatewayActive\")].reason string]",
	"virtualnodes VirtualNode Namespaced categories=[all] columns=[ARN .status.virtualNodeARN string, AGE .metadata.creationTimestamp date, SERVED .status.conditions[?(@.type==\"VirtualNodeActive\")].status string, REASON .status.conditions[?(@.type==\"VirtualNodeActive\")].reason string]",
	"virtualrouters VirtualRouter Namespaced categories=[all] columns=[ARN .status.virtualRouterARN string, AGE .metadata.creationTimestamp date, SERVED .status.conditions[?(@.type==\"VirtualRouterActive\")].status string, REASON .status.conditions[?(@.type==\"VirtualRouterActive\")].reason string]",
	"virtualservices VirtualService Namespaced categories=[all] columns=[ARN .status.virtualServiceARN string, AGE .metadata.creationTimestamp date, SERVED .status.conditions[?(@.type==\"VirtualServiceActive\")].status string, REASON .status.conditions[?(@.type==\"VirtualServiceActive\")].reason string]",
}

func appMesh(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(c *apiextensionsv1.CustomResourceDefinition) bool {
		return c.Spec.Group != "appmesh.k8s.aws"
	})
}

func TestAppMeshKindsAreTheReleasedOnes(t *testing.T) {
	var got []string
	for _, crd := range appMesh(t) {
		v := crd.Spec.Versions[0]
		var columns []string
		for _, c := range v.AdditionalPrinterColumns {
			columns = append(columns, c.Name+" "+c.JSONPath+" "+c.Type)
		}
		got = append(got, fmt.Sprintf("%s %s %s categories=%v columns=[%s]", crd.Spec.Names.Plural, crd.Spec.Names.Kind,
			crd.Spec.Scope, crd.Spec.Names.Categories, strings.Join(columns, ", ")))
		if len(crd.Spec.Versions) != 1 || v.Name != "v1beta2" || !v.Served || !v.Storage ||
			v.Subresources.Status == nil {
			t.Errorf("%s: want one version v1beta2, served, stored, with status; got %+v", crd.Name, crd.Spec.Versions)
		}
		if len(crd.Spec.Names.ShortNames) > 0 {
			t.Errorf("%s: the released API has no short names, got %v", crd.Name, crd.Spec.Names.ShortNames)
		}
	}
	if !slices.Equal(got, released) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(released, "\n"))
	}
}

func TestAppMeshSchemasOnlyPreserveUnknownFieldsAtTheRoot(t *testing.T) {
	for _, crd := range appMesh(t) {
		root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		if p := root.XPreserveUnknownFields; p == nil || !*p {
			t.Errorf("%s: unknown fields at the root must be preserved", crd.Name)
		}
		if len(root.Required) > 0 {
			t.Errorf("%s: spec is optional in the released API, required: %v", crd.Name, root.Required)
		}
		walk(root, crd.Spec.Names.Kind, func(path string, s *apiextensionsv1.JSONSchemaProps) {
			if s != root && s.XPreserveUnknownFields != nil {
				t.Errorf("%s: unknown fields must be pruned", path)
			}
			if s.Default != nil || s.Pattern != "" || len(s.XValidations) > 0 {
				t.Errorf("%s: the released API has no defaults, patterns or rules in its schema", path)
			}
		})
	}
}

// TestAppMeshConstraints samples the value sets and ranges that the API server enforces.
func TestAppMeshConstraints(t *testing.T) {
	want := map[string]string{
		"Mesh.spec.egressFilter.type":                                                                     `enum="ALLOW_ALL","DROP_ALL"`,
		"Mesh.spec.meshServiceDiscovery.ipPreference":                                                     `enum="IPv6_ONLY","IPv4_ONLY"`,
		"VirtualNode.spec.listeners":                                                                      `items=0..`,
		"VirtualNode.spec.listeners[].portMapping.port":                                                   `range=1..65535`,
		"VirtualNode.spec.listeners[].portMapping.protocol":                                               `enum="grpc","http","http2","tcp"`,
		"VirtualNode.spec.listeners[].healthCheck":                                                        `required=healthyThreshold,intervalMillis,protocol,timeoutMillis,unhealthyThreshold`,
		"VirtualNode.spec.listeners[].healthCheck.intervalMillis":                                         `range=5000..300000`,
		"VirtualNode.spec.listeners[].healthCheck.timeoutMillis":                                          `range=2000..60000`,
		"VirtualNode.spec.listeners[].outlierDetection.maxEjectionPercent":                                `range=0..100`,
		"VirtualNode.spec.listeners[].tls":                                                                `required=certificate,mode`,
		"VirtualNode.spec.listeners[].tls.certificate.file.privateKey":                                    `length=1..255`,
		"VirtualNode.spec.serviceDiscovery.awsCloudMap.serviceName":                                       `length=1..1024`,
		"VirtualNode.spec.serviceDiscovery.dns.responseType":                                              `enum="ENDPOINTS","LOADBALANCER"`,
		"VirtualNode.spec.backendDefaults.clientPolicy.tls.validation.trust.acm.certificateAuthorityARNs": `items=1..3`,
		"VirtualRouter.spec.listeners":                                                                    `items=1..`,
		"VirtualRouter.spec.routes[].priority":                                                            `range=0..1000`,
		"VirtualRouter.spec.routes[].httpRoute":                                                           `required=action,match`,
		"VirtualRouter.spec.routes[].tcpRoute":                                                            `required=action`,
		"VirtualRouter.spec.routes[].httpRoute.action.weightedTargets":                                    `items=1..10`,
		"VirtualRouter.spec.routes[].httpRoute.action.weightedTargets[].weight":                           `range=0..100`,
		"VirtualRouter.spec.routes[].httpRoute.match.headers":                                             `items=1..10`,
		"VirtualRouter.spec.routes[].httpRoute.match.headers[].name":                                      `length=1..50`,
		"VirtualRouter.spec.routes[].httpRoute.match.path.regex":                                          `length=1..255`,
		"VirtualRouter.spec.routes[].httpRoute.match.scheme":                                              `enum="http","https"`,
		"VirtualRouter.spec.routes[].httpRoute.match.port":                                                `range=0..`,
		"VirtualRouter.spec.routes[].httpRoute.retryPolicy":                                               `required=maxRetries,perRetryTimeout`,
		"VirtualRouter.spec.routes[].httpRoute.retryPolicy.httpRetryEvents":                               `items=1..25`,
		"VirtualRouter.spec.routes[].httpRoute.retryPolicy.tcpRetryEvents":                                `items=1..1`,
		"VirtualRouter.spec.routes[].httpRoute.timeout.idle.unit":                                         `enum="s","ms"`,
		"VirtualRouter.spec.routes[].grpcRoute.retryPolicy.grpcRetryEvents":                               `items=1..5`,
		"VirtualRouter.spec.routes[].grpcRoute.match.methodName":                                          `length=1..50`,
		"VirtualGateway.spec.listeners[].portMapping.protocol":                                            `enum="grpc","http","http2"`,
		"VirtualGateway.spec.listeners[].healthCheck":                                                     `required=intervalMillis,protocol,timeoutMillis,unhealthyThreshold`,
		"GatewayRoute.spec.httpRoute.match.hostname.suffix":                                               `length=1..253`,
		"GatewayRoute.spec.httpRoute.action.rewrite.prefix.defaultPrefix":                                 `enum="ENABLED","DISABLED"`,
		"GatewayRoute.spec.virtualGatewayRef":                                                             `required=name,uid`,
		"BackendGroup.spec.virtualservices[]":                                                             `required=name`,
	}
	got := map[string]string{}
	for _, crd := range appMesh(t) {
		walk(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, crd.Spec.Names.Kind,
			func(path string, s *apiextensionsv1.JSONSchemaProps) {
				got[path] = constraints(s)
			})
	}
	for path, constraint := range want {
		if got[path] != constraint {
			t.Errorf("%s: got %q, want %q", path, got[path], constraint)
		}
	}
	if _, ok := got["VirtualNode.spec.listeners[].tls.validation.trust.acm"]; ok {
		t.Error("a VirtualNode's listener does not offer ACM trust")
	}
}

// walk visits a schema and all that is below it. Paths look like field paths, with [] for the items of a list.
func walk(s *apiextensionsv1.JSONSchemaProps, path string, visit func(string, *apiextensionsv1.JSONSchemaProps)) {
	visit(path, s)
	for name, p := range s.Properties {
		walk(&p, path+"."+name, visit)
	}
	if s.Items != nil {
		walk(s.Items.Schema, path+"[]", visit)
	}
}

func constraints(s *apiextensionsv1.JSONSchemaProps) string {
	var out []string
	if len(s.Required) > 0 {
		out = append(out, "required="+strings.Join(s.Required, ","))
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, e := range s.Enum {
			values = append(values, string(e.Raw))
		}
		out = append(out, "enum="+strings.Join(values, ","))
	}
	out = append(out, bounds("range", s.Minimum, s.Maximum), bounds("length", s.MinLength, s.MaxLength),
		bounds("items", s.MinItems, s.MaxItems))
	return strings.Join(slices.DeleteFunc(out, func(c string) bool { return c == "" }), " ")
}

func bounds[N float64 | int64](name string, low, high *N) string {
	if low == nil && high == nil {
		return ""
	}
	text := name + "="
	if low != nil {
		text += fmt.Sprintf("%.0f", float64(*low))
	}
	text += ".."
	if high != nil {
		text += fmt.Sprintf("%.0f", float64(*high))
	}
	return text
}
