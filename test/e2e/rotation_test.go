package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// ownCluster starts a separate cluster for the test, with two control planes, the colors example, and certificates that
// are valid for seconds.
func ownCluster(t *testing.T, name string, sets ...string) {
	t.Helper()
	shared := lab
	lab.name = fmt.Sprintf("%s-%s", shared.name, name)
	t.Cleanup(func() {
		if _, err := anymesh(contextOf(t), "sandbox", "down", "--name", lab.name); err != nil {
			t.Error(err)
		}
		lab = shared
	})
	must := func(out string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := must(anymesh(t.Context(), "sandbox", "up", "--name", lab.name, "--output", "json", "--images",
		filepath.Join(root, "examples/images.yaml")))
	var answer struct{ Clusters []struct{ Kubeconfig string } }
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Clusters) == 0 {
		t.Fatalf("output of sandbox up %q: %v", out, err)
	}
	lab.kubeconfig = answer.Clusters[0].Kubeconfig
	var err error
	if lab.config, err = clientcmd.BuildConfigFromFlags("", lab.kubeconfig); err != nil {
		t.Fatal(err)
	}
	if lab.kube, err = kubernetes.NewForConfig(lab.config); err != nil {
		t.Fatal(err)
	}
	must(anymesh(t.Context(), append([]string{"install", "--kubeconfig", lab.kubeconfig}, sets...)...))
	for _, file := range []string{"00-mesh", "color", "tally", "store", "front"} {
		text := must(readAll(filepath.Join(root, "examples/colors", file+".yaml")))
		must(kubectlInput(t.Context(), strings.ReplaceAll(text, "--rate=100", "--rate=0"), "apply", "-f", "-"))
	}
	run(t, "-n", "colors", "wait", "--for=condition=Available", "deployment", "--all", "--timeout=180s")
}

func readAll(file string) (string, error) {
	text, err := os.ReadFile(file)
	return string(text), err
}

// planeStatus is the certificate authority status of a control plane.
type planeStatus struct {
	TrustDomain      string
	Phase, LastError string
	Roots            []struct{ Role, Fingerprint string }
}

// identityStatus fails while a control plane starts or ends.
func identityStatus(t *testing.T) (all []planeStatus, err error) {
	t.Helper()
	out, code := runVerb(t, "identity", "status", "--output", "json")
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 || len(all) == 0 {
		return nil, errors.Join(fmt.Errorf("exit code %d: %s", code, out), err)
	}
	return all, nil
}

// awaitPhase waits until every control plane is in the given phase with the given number of roots.
func awaitPhase(t *testing.T, phase string, roots int) planeStatus {
	t.Helper()
	var first planeStatus
	eventually(t, 30*time.Second, "all control planes are "+phase, func() error {
		all, err := identityStatus(t)
		if err != nil {
			return err
		}
		for _, one := range all {
			if one.Phase != phase || len(one.Roots) != roots || fmt.Sprint(one.Roots) != fmt.Sprint(all[0].Roots) {
				return fmt.Errorf("%+v", all)
			}
		}
		first = all[0]
		return nil
	})
	return first
}

var serialOf = regexp.MustCompile(`certificate written .*serial=([0-9a-f]+)`)

// serials returns the serial numbers of all certificates of each sidecar of colors, by pod.
func serials(t *testing.T) map[string]map[string]bool {
	t.Helper()
	out := map[string]map[string]bool{}
	for _, pod := range podsOf(t, "colors", "") {
		log := run(t, "-n", "colors", "logs", pod.Name, "-c", "envoy")
		out[pod.Name] = map[string]bool{}
		for _, found := range serialOf.FindAllStringSubmatch(log, -1) {
			out[pod.Name][found[1]] = true
		}
	}
	return out
}

// awaitRenewals waits until each pod has received at least this many new certificates.
func awaitRenewals(t *testing.T, before map[string]map[string]bool, more int) {
	t.Helper()
	eventually(t, 60*time.Second, fmt.Sprintf("%d new certificates in each pod", more), func() error {
		now := serials(t)
		for pod, had := range before {
			if got := len(now[pod]) - len(had); got < more {
				return fmt.Errorf("%s has %d new certificates", pod, got)
			}
		}
		return nil
	})
}

// startPod creates one more pod of color-red. It becomes ready only with a certificate, and gets its configuration
// only over mutual TLS.
func startPod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	deployment, err := lab.kube.AppsV1().Deployments("colors").Get(t.Context(), "color-red", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: *deployment.Spec.Template.ObjectMeta.DeepCopy(), Spec: *deployment.Spec.Template.Spec.DeepCopy(),
	}
	pod.Name = "new-" + name
	if pod, err = lab.kube.CoreV1().Pods("colors").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	run(t, "-n", "colors", "wait", "--for=condition=Ready", "pod/"+pod.Name, "--timeout=180s")
	return pod
}

// metricsTexts returns the metrics of each control plane.
func metricsTexts(t *testing.T) (texts []string) {
	t.Helper()
	planes := podsOf(t, "anymesh-system", "app.kubernetes.io/name=anymesh")
	if len(planes) == 0 {
		t.Fatal("no control plane")
	}
	for _, plane := range planes {
		text, err := lab.kube.CoreV1().RESTClient().Get().Namespace("anymesh-system").Resource("pods").Name(plane.Name +
			":9090").SubResource("proxy").Suffix("metrics").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// total sums a metric over all control planes and all series whose labels contain a text.
func total(t *testing.T, name, label string) (sum float64) {
	t.Helper()
	for _, text := range metricsTexts(t) {
		sum += metric(text, name, label)
	}
	return sum
}

// TestCertificatesAndRootRotateUnderLoad renews certificates ten times and the root once, and creates pods in each
// phase. The services require mutual TLS with these certificates, or with those of a server on the nodes, which rotates
// too. No request may fail, and unchanged resources are not sent again to reconnecting sidecars.
func TestCertificatesAndRootRotateUnderLoad(t *testing.T) {
	onNodes := startNodeAuthority(t)
	ownCluster(t, "rotation", "--set", "certificateLifetime=12s", "--set", "rootLifetime=1h", "--set", "replicas=2",
		"--set", "appmesh.sds.enabled=true", "--set", "appmesh.sds.udsPath="+onNodes.socket)
	requireMutualTLS(t)
	before, keys := serials(t), caKeyLines(t)
	onNodes.rotateUnderLoad(t, func() {
		underSteadyLoad(t, func() {
			old := awaitPhase(t, "Steady", 1).Roots[0].Fingerprint
			startPod(t, "before")
			if out, code := runVerb(t, "identity", "rotate"); code != 0 {
				t.Fatal(out)
			}
			if s := awaitPhase(t, "Publishing", 2); s.Roots[0].Fingerprint != old {
				t.Errorf("the new root signs before it is distributed: %+v", s)
			}
			startPod(t, "publishing")
			if out, code := runVerb(t, "identity", "rotate"); code != 1 || !strings.Contains(out, "in progress") {
				t.Errorf("second rotation: exit code %d, %s", code, out)
			}
			keys = append(keys, caKeyLines(t)...)
			newRoot := awaitPhase(t, "Retiring", 2).Roots[0].Fingerprint
			startPod(t, "retiring")
			if s := awaitPhase(t, "Steady", 1); newRoot == old || s.Roots[0].Fingerprint != newRoot {
				t.Errorf("trusted roots after rotation: %+v; the old root was %s", s, old)
			}
			deletedPod := startPod(t, "after")
			webhooksTrustNewRoot(t)
			checkTokenAfterDeletion(t, deletedPod)

			awaitRenewals(t, before, 8)
			const metricName = "anymesh_xds_resources_total"
			resources := func() (sum float64) {
				for _, text := range metricsTexts(t) { // scopes may be sent between two requests
					sum += metric(text, metricName, "") - metric(text, metricName, scopes)
				}
				return sum
			}
			sent, reconnected := resources(), total(t, "anymesh_xds_closed_streams_total",
				"certificate_expired")
			awaitRenewals(t, before, 10)
			eventually(t, 60*time.Second, "all sidecars reconnect with new certificates", func() error {
				if n := total(t, "anymesh_xds_closed_streams_total",
					"certificate_expired") - reconnected; int(n) < len(before) {
					return fmt.Errorf("%v streams have ended", n)
				}
				if n, want := total(t, "anymesh_xds_streams", ""), streamsPerPod*len(podsOf(t, "colors", "")); int(n) != want {
					return fmt.Errorf("%v sidecars are connected, want %d", n, want)
				}
				return nil
			})
			if more := resources() - sent; more != 0 {
				t.Errorf("%v unchanged resources were sent again", more)
			}
		})
	})
	checkNoKeysDisclosed(t, append(keys, caKeyLines(t)...))
	replaceStolenAuthority(t)
	startWithoutAuthority(t)
}

// replaceStolenAuthority replaces the authority of all replicas: check names the pods that have to restart.
func replaceStolenAuthority(t *testing.T) {
	t.Helper()
	old := awaitPhase(t, "Steady", 1).Roots[0].Fingerprint
	if out, code := runVerb(t, "identity", "replace"); code != 2 {
		t.Errorf("without --yes: exit code %d, %s", code, out)
	}
	if out, code := runVerb(t, "identity", "replace", "--yes"); code != 0 {
		t.Fatal(out)
	}
	eventually(t, 60*time.Second, "all sidecars are of another authority", func() error {
		out, code := runVerb(t, "check")
		if code != 1 || !strings.Contains(out, "another authority") {
			return fmt.Errorf("exit code %d: %s", code, out)
		}
		return nil
	})
	if s := awaitPhase(t, "Steady", 1); s.Roots[0].Fingerprint == old {
		t.Error("the old root signs")
	}
}

// webhooksTrustNewRoot checks that caBundle contains only the new root and that webhooks still work.
func webhooksTrustNewRoot(t *testing.T) {
	t.Helper()
	secret, err := lab.kube.CoreV1().Secrets("anymesh-system").Get(t.Context(), "anymesh-ca", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "caBundle is the new root", func() error {
		hooks, err := lab.kube.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "anymesh",
			metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := string(hooks.Webhooks[0].ClientConfig.CABundle); got != string(secret.Data["ca.crt"]) ||
			strings.Count(got, "BEGIN") != 1 {
			return fmt.Errorf("caBundle:\n%s", got)
		}
		return nil
	})
}
