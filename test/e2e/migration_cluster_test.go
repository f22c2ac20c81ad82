package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// setUpOldController creates the state of a cluster with the App Mesh controller: CRDs; objects with meshRef,
// finalizers, ARNs and conditions; pods with the Cloud Map readiness gate; a controller Deployment; and webhook
// configurations without a server.
func (m *migrationCluster) setUpOldController() {
	m.Helper()
	m.must("apply", "--server-side", "-f", filepath.Join(root, "api/crds"))
	eventually(m.T, 3*time.Minute, "the CustomResourceDefinitions are established", func() error {
		_, err := m.kubectl("", "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
		return err
	})
	m.apply(oldMesh)
	uid := m.must("get", "mesh.appmesh.k8s.aws", "shop", "-o", "jsonpath={.metadata.uid}")
	m.apply(strings.ReplaceAll(oldObjects, "MESH", fmt.Sprintf("{name: shop, uid: %s}", uid)))
	for object, arn := range map[string]string{
		"mesh/shop": "", "virtualnode/front": "/virtualNode/front_shop", "virtualnode/cart-v1": "/virtualNode/cart-v1_shop",
		"virtualnode/cart-v2": "/virtualNode/cart-v2_shop", "virtualservice/cart": "/virtualService/cart.shop.svc.cluster.local",
		"virtualrouter/cart": "/virtualRouter/cart_shop",
	} {
		kind, name, _ := strings.Cut(object, "/")
		full := map[string]string{
			"mesh": "Mesh", "virtualnode": "VirtualNode", "virtualservice": "VirtualService",
			"virtualrouter": "VirtualRouter",
		}[kind]
		field := strings.ToLower(full[:1]) + full[1:] + "ARN"
		status := fmt.Sprintf(`{"status":{%q:"arn:aws:appmesh:us-west-2:123456789012:mesh/shop%s","observedGeneration":1,
			"conditions":[{"type":"%sActive","status":"True","lastTransitionTime":"2025-01-01T00:00:00Z"}]}}`, field, arn, full)
		m.must("-n", "shop", "patch", kind+".appmesh.k8s.aws", name, "--subresource=status", "--type=merge", "-p",
			status)
	}
	m.apply(oldWorkloads)
	m.must("-n", "appmesh-system", "rollout", "status", "deployment/appmesh-controller", "--timeout=180s")
	m.must("-n", "shop", "wait", "--for=jsonpath={.status.updatedReplicas}=1", "deployment", "--all", "--timeout=180s")
	m.apply(oldWebhooks)
}

func (m *migrationCluster) apply(manifests string) {
	m.Helper()
	if _, err := m.kubectl(manifests, "apply", "-f", "-"); err != nil {
		m.Fatal(err)
	}
}

const oldMesh = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {mesh: shop, appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: Mesh
metadata: {name: shop, finalizers: [finalizers.appmesh.k8s.aws/mesh-members, finalizers.appmesh.k8s.aws/aws-appmesh-resources]}
spec: {awsName: shop, namespaceSelector: {matchLabels: {mesh: shop}}}
`

const oldObjects = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: shop, name: front, finalizers: [finalizers.appmesh.k8s.aws/aws-appmesh-resources]}
spec:
  awsName: front_shop
  meshRef: MESH
  podSelector: {matchLabels: {app: front}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: front.shop.svc.cluster.local}}
  backends:
    - virtualService: {virtualServiceARN: 'arn:aws:appmesh:us-west-2:123456789012:mesh/shop/virtualService/cart.shop.svc.cluster.local'}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata:
  namespace: shop
  name: cart-v1
  finalizers: [finalizers.appmesh.k8s.aws/aws-appmesh-resources, finalizers.appmesh.k8s.aws/aws-cloudmap-resources]
spec:
  awsName: cart-v1_shop
  meshRef: MESH
  podSelector: {matchLabels: {app: cart, version: v1}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {awsCloudMap: {namespaceName: shop.local, serviceName: cart, attributes: [{key: version, value: v1}]}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata:
  namespace: shop
  name: cart-v2
  finalizers: [finalizers.appmesh.k8s.aws/aws-appmesh-resources, finalizers.appmesh.k8s.aws/aws-cloudmap-resources]
spec:
  awsName: cart-v2_shop
  meshRef: MESH
  podSelector: {matchLabels: {app: cart, version: v2}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {awsCloudMap: {namespaceName: shop.local, serviceName: cart, attributes: [{key: version, value: v2}]}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualRouter
metadata: {namespace: shop, name: cart, finalizers: [finalizers.appmesh.k8s.aws/aws-appmesh-resources]}
spec:
  awsName: cart_shop
  meshRef: MESH
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  routes:
    - name: all
      httpRoute:
        match: {prefix: /}
        action: {weightedTargets: [{virtualNodeRef: {name: cart-v1}, weight: 1}, {virtualNodeRef: {name: cart-v2}, weight: 1}]}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: shop, name: cart, finalizers: [finalizers.appmesh.k8s.aws/aws-appmesh-resources]}
spec:
  awsName: cart.shop.svc.cluster.local
  meshRef: MESH
  provider: {virtualRouter: {virtualRouterRef: {name: cart}}}
`

const oldWorkload = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: NAMESPACE, name: NAME}
spec:
  selector: {matchLabels: LABELS}
  template:
    metadata: {labels: LABELS}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {name: app, image: anymesh.dev/colors, args: ARGS, readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}}
---
`

func workload(namespace, name, labels, args string) string {
	return strings.NewReplacer("NAMESPACE", namespace, "NAME", name, "LABELS", labels, "ARGS",
		args).Replace(oldWorkload)
}

// oldPod is a pod as the App Mesh injector left it. It has the readiness gate, which new pods do not get.
const oldPod = `
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: injected-of-old, labels: {app: cart, version: v1}}
spec:
  terminationGracePeriodSeconds: 1
  readinessGates: [{conditionType: conditions.appmesh.k8s.aws/aws-cloudmap-healthy}]
  containers: [{name: app, image: anymesh.dev/colors, args: [serve, --version=v1]}]
---
`

var oldWorkloads = `
apiVersion: v1
kind: Namespace
metadata: {name: appmesh-system}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: cart}
spec: {selector: {app: cart}, ports: [{port: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: front}
spec: {selector: {app: front}, ports: [{port: 8080}]}
---
` + oldPod + workload("appmesh-system", "appmesh-controller", "{app: controller}", "[serve]") +
	workload("shop", "front", "{app: front}", `[drive, "--listen=:8080", --rate=0]`) +
	workload("shop", "cart-v1", "{app: cart, version: v1}", "[serve, --version=v1]") +
	workload("shop", "cart-v2", "{app: cart, version: v2}", "[serve, --version=v2]")

const oldWebhooks = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: appmesh-controller}
webhooks:
  - name: mpod.appmesh.k8s.aws
    admissionReviewVersions: [v1beta1, v1]
    sideEffects: None
    failurePolicy: Fail
    clientConfig: {service: {namespace: appmesh-system, name: appmesh-controller-webhook-service, path: /mutate-v1-pod}}
    namespaceSelector: {matchExpressions: [{key: appmesh.k8s.aws/sidecarInjectorWebhook, operator: In, values: [enabled, disabled]}]}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: appmesh-controller}
webhooks:
  - name: vvirtualnode.appmesh.k8s.aws
    admissionReviewVersions: [v1beta1, v1]
    sideEffects: None
    failurePolicy: Fail
    clientConfig: {service: {namespace: appmesh-system, name: appmesh-controller-webhook-service, path: /validate-appmesh-k8s-aws-v1beta2-virtualnode}}
    rules: [{apiGroups: [appmesh.k8s.aws], apiVersions: [v1beta2], operations: [CREATE, UPDATE], resources: [virtualnodes]}]
`
