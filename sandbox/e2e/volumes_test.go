package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func mount(volume, path string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: volume, MountPath: path}
}

func volume(name string, s corev1.VolumeSource) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: s}
}

func ref(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }

// TestVolumes checks contents, owner and mode of all volume types that meshes use.
func TestVolumes(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "config"}, Data: map[string]string{"a": "from config", "b": "other"},
	}
	if _, err := c.client.CoreV1().ConfigMaps(ns).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "secret"}, StringData: map[string]string{"key": "from secret"},
	}
	if _, err := c.client.CoreV1().Secrets(ns).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	group, mode, seconds := int64(4321), int32(0o640), int64(3600)
	write := shell("write", "echo shared > /data/file; echo fast > /memory/file")
	write.VolumeMounts = []corev1.VolumeMount{mount("data", "/data"), mount("memory", "/memory")}
	read := shell("read", `
		cat /config/a /secret/key /data/file /memory/file /all/sub/config /all/labels /podinfo/name /etc/one
		echo "mode $(stat -Lc %a:%g /secret/key)"
		echo "memory $(stat -fc %T /memory)"
		echo "$ENV_CONFIG $ENV_POD"
		touch /config/x 2>/dev/null && echo "config is writable"
		test -s /all/token && echo token
		test "$(cat /old)" = other && echo other
	`)
	onlyA := mount("config", "/etc/one")
	onlyA.SubPath = "a"
	read.VolumeMounts = slices.Concat(write.VolumeMounts, []corev1.VolumeMount{
		mount("config", "/config"), mount("secret", "/secret"), mount("all", "/all"), mount("podinfo", "/podinfo"),
		onlyA,
		{Name: "config", MountPath: "/old", SubPath: "b"},
	})
	read.Env = []corev1.EnvVar{
		{Name: "ENV_CONFIG", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref("config"), Key: "b"}}},
		{Name: "ENV_POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
	}
	p := pod("volumes", read)
	p.Spec.InitContainers = []corev1.Container{write}
	p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
	fields := func(path, field string) []corev1.DownwardAPIVolumeFile {
		return []corev1.DownwardAPIVolumeFile{{Path: path, FieldRef: &corev1.ObjectFieldSelector{FieldPath: field}}}
	}
	p.Spec.Volumes = []corev1.Volume{
		volume("data", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}),
		volume("memory",
			corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}),
		volume("config",
			corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref("config")}}),
		volume("secret",
			corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "secret", DefaultMode: &mode}}),
		volume("podinfo",
			corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: fields("name", "metadata.name")}}),
		volume("all", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: ref("config"), Items: []corev1.KeyToPath{{Key: "a", Path: "sub/config"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: fields("labels", "metadata.labels")}},
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: "mesh", ExpirationSeconds: &seconds}},
		}}}),
	}
	got := c.succeeded(t, ns, p)
	for _, want := range []string{
		"from config", "from secret", "shared", "fast", `app="volumes"`, "volumes\n", "mode 640:4321", "memory tmpfs", "other volumes", "token\n", "other\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "config is writable") {
		t.Error("a ConfigMap volume can be written")
	}
	if n := strings.Count(got, "from config"); n != 3 {
		t.Errorf("the file of the ConfigMap was found %d times, want 3: as folder, projected, subPath", n)
	}
}

// TestConfigMapUpdate checks that a ConfigMap change appears in a running Pod.
func TestConfigMapUpdate(t *testing.T) {
	c := shared.clusters[1]
	ns := c.namespace(t)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "config"}, Data: map[string]string{"a": "old"}}
	if _, err := c.client.CoreV1().ConfigMaps(ns).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	box := shell("watch", `while ! grep -q new /config/a; do sleep 0.1; done`)
	box.VolumeMounts = []corev1.VolumeMount{mount("config", "/config")}
	p := pod("watch", box)
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	p.Spec.Volumes = []corev1.Volume{
		volume("config",
			corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref("config")}}),
	}
	c.create(t, ns, p)
	c.await(t, ns, "watch", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	cm.Data["a"] = "new"
	if _, err := c.client.CoreV1().ConfigMaps(ns).Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.await(t, ns, "watch", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
}

// TestServiceAccountToken checks that a Pod token is valid only for its audience and identifies the Pod, and that the
// Pod can use it with the API server.
func TestServiceAccountToken(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	seconds := int64(3600)
	box := shell("token", `
		cat /mesh/token; echo
		d=/var/run/secrets/kubernetes.io/serviceaccount
		curl -s --cacert $d/ca.crt -H "Authorization: Bearer $(cat $d/token)" https://kubernetes.default.svc/api/v1/namespaces/default/pods
	`)
	box.VolumeMounts = []corev1.VolumeMount{mount("mesh", "/mesh")}
	p := pod("token", box)
	p.Spec.Volumes = []corev1.Volume{volume("mesh",
		corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: "mesh", ExpirationSeconds: &seconds}},
		}}})}
	token, answer, _ := strings.Cut(c.succeeded(t, ns, p), "\n")
	review := func(audience string) *authv1.TokenReview {
		r := &authv1.TokenReview{Spec: authv1.TokenReviewSpec{Token: token, Audiences: []string{audience}}}
		r, err := c.client.AuthenticationV1().TokenReviews().Create(t.Context(), r, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := review("somebody-else"); r.Status.Authenticated {
		t.Error("the token is valid for another audience")
	}
	r := review("mesh")
	if name := r.Status.User.Extra["authentication.kubernetes.io/pod-name"]; !r.Status.Authenticated ||
		len(name) != 1 || name[0] != "token" {
		t.Errorf("review: %+v", r.Status)
	}
	if len(r.Status.User.Extra["authentication.kubernetes.io/pod-uid"]) != 1 {
		t.Errorf("no Pod UID: %+v", r.Status.User.Extra)
	}
	var got metav1.Status
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	want := fmt.Sprintf("system:serviceaccount:%s:default", ns)
	if got.Reason != metav1.StatusReasonForbidden || !strings.Contains(got.Message, want) {
		t.Errorf("want the API server to authenticate %s and deny the request: %+v", want, got)
	}
}

// TestContainersSeeTheirOwnFiles checks that a container has no access to the keys of the lab and to /tmp of the
// host, and that its changes are not visible to other containers.
func TestContainersSeeTheirOwnFiles(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	dir := shared.dir
	p := pod("files", shell("first", fmt.Sprintf(`
		ls -A %[1]s 2>/dev/null; ls -A /tmp; test -e %[1]s/c1.kubeconfig && echo kubeconfig
		echo mine > /etc/mine && cat /etc/mine; cat /etc/hostname; grep files /etc/hosts; echo $HOSTNAME
		ls /dev; cat /proc/1/comm
	`, dir)), shell("second", "sleep 1; test -e /etc/mine && echo theirs; true"))
	got := c.succeeded(t, ns, p)
	for _, bad := range []string{"kubeconfig", "logs", "sandbox-e2e", "sda"} {
		if strings.Contains(got, bad) {
			t.Errorf("a container has access to %q:\n%s", bad, got)
		}
	}
	if !strings.HasPrefix(got, "mine\nfiles\n") || !strings.Contains(got, "\nfiles\n") {
		t.Errorf("got:\n%s", got)
	}
	eventually(t, "the second container", func(context.Context) error {
		return wantf(c.logs(t, ns, "files", "second") == "", "files of the first container are visible in the second")
	})
}
