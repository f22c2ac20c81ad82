package check

import (
	"context"
	"strings"

	"anymesh.dev/anymesh/internal/dialect"
)

// common are the checks that do not depend on dialects, in the order in which they run.
var common = []Check{
	{"APIServerReachable", "the API server is reachable", "The API server cannot be reached, or rejects the credentials.",
		"Check the kubeconfig (--kubeconfig, --context, KUBECONFIG), the network and the credentials.", Always, "", apiServer},
	{"NativeSidecars", "the API server supports native sidecars (Kubernetes 1.30 or newer)", "Sidecars are init containers with restartPolicy Always. Older clusters do not support them, and pods do not start. The sleep action of preStop hooks needs Kubernetes 1.30.",
		"Upgrade Kubernetes to 1.30 or newer.", Always, "APIServerReachable", nativeSidecars},
	{"InstallPermissions", "the user has the permissions to install", "The user does not have all permissions that anymesh install needs.",
		"Let a cluster administrator install Anymesh, or grant the permissions that the message names.", Before, "APIServerReachable", permissions},
	{"NoOtherController", "no other controller handles the same objects", "Webhooks of another controller handle the same objects. Both would set defaults.",
		"Remove the other controller and its webhook configurations first. Keep its CustomResourceDefinitions and your objects.", Always, "APIServerReachable", otherController},
	{"CRDsCompatible", "existing CustomResourceDefinitions can be updated", "Existing CustomResourceDefinitions of the same names have stored versions that Anymesh does not support.",
		"Migrate the objects to the version that the message names, then remove the other versions from status.storedVersions.", Before, "APIServerReachable", compatible},
	{"ReservedRangesFree", "the reserved address ranges do not overlap addresses of the cluster", "Pods, Services or Nodes use addresses of the ranges that names without a Service get their addresses from. Connections to these addresses can reach the wrong destination.",
		"Set osm.reservedRanges of the Helm values to ranges that neither the cluster nor its clients use. If the user may not list a kind, compare the ranges yourself.", Always, "APIServerReachable", reservedRanges},
	{"CRDsInstalled", "the CustomResourceDefinitions match this version", "A CustomResourceDefinition is missing, is not established, or differs from this version of anymesh. The API server can drop fields.",
		"Run anymesh install, or apply the files in api/crds.", After, "APIServerReachable", installed},
	{"DeletionsFinish", "no object waits for its deletion", "Objects are being deleted for more than a minute, and finalizers keep them. An object with members waits until they are deleted. Without a control plane, nothing removes the finalizers, and the namespaces of the objects cannot be deleted either.",
		"Delete the members that the condition of the object lists. If no control plane runs, run anymesh install, or anymesh release-finalizers to delete the objects without it.", Always, "APIServerReachable", deletions},
	{"ControlPlaneReady", "the control plane is ready", "The control plane is not deployed, or not all of its pods are ready. Without a control plane, new pods are refused and changes do not reach sidecars.",
		"Run anymesh install. Check the pods and the log of the Deployment anymesh in its namespace.", After, "APIServerReachable", ready},
	{"CertificatesValid", "the CA certificate is valid", "The CA certificate of the control plane is not valid now, or expires soon. The API server and sidecars verify the control plane with it.",
		"Check the clocks, and run anymesh identity status. The root is rotated automatically, and by anymesh identity rotate. A CA that you provide in the Secret anymesh-ca is not rotated automatically: replace it yourself.", After, "ControlPlaneReady", certificates},
	{"WebhooksTrusted", "the API server trusts the webhooks", "A webhook configuration is missing or has no caBundle. The API server cannot call the webhooks of the control plane.",
		"Wait some seconds: the control plane sets caBundle. If it does not, check its log and run anymesh install.", After, "ControlPlaneReady", trusted},
	{"WebhooksAnswer", "the webhooks work", "A test object, created as a dry run, did not get its defaults. Objects and pods of the mesh are refused, or are stored without defaults.",
		"Read the message. A common cause is a network policy or firewall between the API server and port 9443 of the control plane.", After, "WebhooksTrusted", webhooks},
	{"PodsAdmitted", "no pods are refused", "The webhooks of Anymesh refuse the pods of workloads, which lack pods. The message has the reason: for example, no object selects the pod, or the object that selects it is not served.",
		"Correct the object that the message names, or disable injection for the pods. The controllers of the workloads then create their pods again, after some minutes at most; kubectl rollout restart does it at once.", After, "ControlPlaneReady", refused},
	{"PodsInjected", "pods of the mesh have sidecars", "Pods that a workload selects run without a sidecar. The mesh does not route their traffic.",
		"Enable injection and restart the pods. Pods that are older than the object that selects them also need a restart.", After, "ControlPlaneReady", injected},
	{"NamesAnswered", "agents answer the names that the cluster's DNS does not know", "Pods send requests to services that have no Kubernetes Service, and the agents of these pods do not answer the names: the pods were injected by a version without a DNS server, or their DNS mode is Off. The names do not resolve, unless another DNS server knows them.",
		"Restart pods of an older version. For pods with mode Off, set the annotation anymesh.dev/dns of the pod template or the namespace to Unresolved, or remove it if osm.dns of the Helm values is not Off, and restart the pods. Ignore the warning if another DNS server knows the names.", After, "ControlPlaneReady", namesAnswered},
	{"SidecarsConnected", "sidecars are connected", "Running sidecars are not connected to a control plane. They keep their configuration and do not receive changes.",
		"Check the log of the sidecar container for the connection error. Restart workloads that trust the authority of an earlier installation.", After, "ControlPlaneReady", connected},
	{"SidecarsInSync", "sidecars are in sync", "Sidecars reject their configuration (NACK), or do not acknowledge it.",
		"Run anymesh proxy status. A rejected resource is also a finding (RejectedBySidecar) in the status of its object.", After, "SidecarsConnected", synced},
	{"GatewayCertificates", "the Secrets of gateways have certificates", "A Secret that an object names for hosts of a gateway does not exist, or has no certificate that fits its key. New connections to these hosts fail, unless the gateway has an earlier certificate; other hosts are not affected. A new pod that mounts a Secret which does not exist waits for it.",
		"Create the Secret, of type kubernetes.io/tls, with tls.crt and tls.key that belong together. Gateways use it within seconds, without a restart; if their pods mount it, within two minutes.", After, "ControlPlaneReady", gatewaySecrets},
	{"ObjectsServed", "objects have no findings", "Objects have findings: a part of the object is not served, or a field is not implemented.",
		"Run anymesh lint on the manifests, or read the conditions of the objects. anymesh lint --explain CODE explains each code.", After, "CRDsInstalled", served},
}

// Checks lists every check, in the order in which they run: the common ones, then those of the dialects.
func Checks(dialects []dialect.Dialect) []Check {
	var out []Check
	for _, c := range common {
		if c.Code == "PodsInjected" {
			for _, d := range dialect.Implementing[dialect.Injection](dialects) {
				c.Remedy += " With " + d.Title() + ", " + d.InjectionHint() + "."
			}
		}
		out = append(out, c)
	}
	for _, d := range dialect.Implementing[dialect.Checks](dialects) {
		for _, c := range d.Checks() {
			out = append(out, Check{
				Code: Code(c.Code), Title: c.Title, Meaning: c.Meaning, Remedy: c.Remedy, Stage: Always,
				Needs: "APIServerReachable",
				run: func(ctx context.Context, cluster *Cluster) (string, error) {
					return c.Run(ctx, cluster.Client)
				},
			})
		}
	}
	return out
}

// anchor is the anchor of a check on its documentation page.
func anchor(c Code) string { return strings.ToLower(string(c)) }
