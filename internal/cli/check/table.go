package check

import (
	"context"
	"strings"

	"anymesh.dev/anymesh/internal/dialect"
)

// common are the checks that do not depend on the dialects, in the order in which they run.
var common = []Check{
	{"APIServerReachable", "the API server answers", "The API server cannot be reached, or does not let you in.",
		"Check the kubeconfig (--kubeconfig, --context, KUBECONFIG), the network and your credentials.", Always, "", apiServer},
	{"NativeSidecars", "the API server knows native sidecars (1.30 or newer)", "Sidecars run as init containers that restart, which older clusters do not know: pods would not start. The pause before applications stop needs 1.30.",
		"Upgrade Kubernetes to 1.30 or newer.", Always, "APIServerReachable", nativeSidecars},
	{"InstallPermissions", "you may install", "Your user lacks rights that anymesh install needs.",
		"Have a cluster administrator install Anymesh, or grant the rights that the text names.", Before, "APIServerReachable", permissions},
	{"NoOtherController", "no other controller is in the way", "Webhooks of another controller act on the same objects; both would fill in their fields.",
		"Remove the other controller and its webhook configurations first. Its CustomResourceDefinitions, and your objects, can stay.", Always, "APIServerReachable", otherController},
	{"CRDsCompatible", "CustomResourceDefinitions that are there can be updated", "CustomResourceDefinitions of the same names store versions that Anymesh does not know.",
		"Migrate the objects to the version that the text names, then remove the other versions from status.storedVersions.", Before, "APIServerReachable", compatible},
	{"CRDsInstalled", "the CustomResourceDefinitions are those of this version", "A CustomResourceDefinition is missing, not accepted by the API server, or not that of this version of anymesh: fields may be dropped.",
		"Run anymesh install, or apply the files of api/crds.", After, "APIServerReachable", installed},
	{"ControlPlaneReady", "the control plane is ready", "The control plane is not deployed, or not all of its pods are ready: new pods are refused, and changes do not reach sidecars.",
		"Run anymesh install; look at the pods and the log of deployment anymesh in its namespace.", After, "APIServerReachable", ready},
	{"CertificatesValid", "certificates are valid", "The authority by which the API server and sidecars trust the control plane is not valid now, or not for long.",
		"Check the clocks, and read anymesh identity status. The root is replaced in time by itself, and by anymesh identity rotate; one that you have put into the Secret anymesh-ca is yours to replace.", After, "ControlPlaneReady", certificates},
	{"WebhooksTrusted", "the API server trusts the webhooks", "A webhook configuration is missing or has no caBundle: the API server cannot ask the control plane.",
		"Wait for some seconds: the control plane fills it in. If it stays so, look at its log; run anymesh install.", After, "ControlPlaneReady", trusted},
	{"WebhooksAnswer", "the webhooks answer", "An object that was created for a trial, without storing it, was not given its defaults: objects and pods of the mesh are refused, or are stored without defaults.",
		"Read the text. Often a network policy or firewall keeps the API server from port 9443 of the control plane.", After, "WebhooksTrusted", webhooks},
	{"PodsInjected", "pods of the mesh have sidecars", "Pods that workloads select run without a sidecar: their traffic is not that of the mesh.",
		"Enable injection and restart the pods; those that existed before the object that selects them need a restart too.", After, "ControlPlaneReady", injected},
	{"SidecarsConnected", "sidecars are connected", "Running sidecars are not connected to a control plane: they keep their configuration and do not hear of changes.",
		"Look at the log of the pod's sidecar container: it says why the control plane is not reached or refuses it.", After, "ControlPlaneReady", connected},
	{"SidecarsInSync", "sidecars have the newest configuration", "Sidecars refuse their configuration, or do not answer.",
		"Run anymesh proxy status. A refusal is a finding (RejectedBySidecar) in the status of the object that it comes from.", After, "SidecarsConnected", synced},
	{"ObjectsServed", "objects are served as they are written", "Objects have findings: a part of them is not served, or something that they ask for is not honoured.",
		"Run anymesh lint on the manifests, or look at the conditions of the objects; anymesh lint --explain CODE says what to do about each code.", After, "CRDsInstalled", served},
}

// extended is a dialect that has checks of its own.
type extended interface {
	Checks() []dialect.Check
}

// hinting is a dialect whose workloads get sidecars by injection.
type hinting interface {
	Title() string
	// InjectionHint says how pods of a namespace get sidecars.
	InjectionHint() string
}

// Checks lists every check, in the order in which they run: the common ones, then those of the dialects.
func Checks(dialects []dialect.Dialect) []Check {
	var out []Check
	for _, c := range common {
		if c.Code == "PodsInjected" {
			for _, d := range dialects {
				if h, is := d.(hinting); is {
					c.Remedy += " With " + h.Title() + ", " + h.InjectionHint() + "."
				}
			}
		}
		out = append(out, c)
	}
	for _, d := range dialects {
		e, is := d.(extended)
		if !is {
			continue
		}
		for _, c := range e.Checks() {
			out = append(out, Check{
				Code: Code(c.Code), Title: c.Title, Meaning: c.Meaning, Remedy: c.Remedy, Stage: Always, Needs: "APIServerReachable",
				run: func(ctx context.Context, cluster *Cluster) (string, error) { return c.Run(ctx, cluster.Client) },
			})
		}
	}
	return out
}

// anchor is the name of a check's section on the page.
func anchor(c Code) string { return strings.ToLower(string(c)) }
