package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Sizes of the union. The pods of a node are in one cluster.
const (
	clusterCount   = 10
	nodeCount      = 100
	namespaceCount = 10
	// rareEvery is the number of pods of which one has the label of the label selector.
	rareEvery = 100
)

// sequence is the annotation that counts the events of the benchmark. Its values have a fixed width.
const (
	sequence      = "bench.anymesh.dev/sequence"
	sequenceWidth = 10
)

func sequenceText(n int) string { return fmt.Sprintf("%0*d", sequenceWidth, n) }

func namespaceOf(i int) string { return fmt.Sprintf("team-%d", i/nodeCount%namespaceCount) }
func nodeOf(i int) string      { return fmt.Sprintf("node-%d", i%nodeCount) }
func nameOf(i int) string      { return fmt.Sprintf("checkout-%05d-%05x", i, uint32(i)*2654435761>>12) }

// newPod returns a pod with two containers as a deployment controller creates it.
func newPod(i int) *corev1.Pod {
	container := func(name string, port int32) corev1.Container {
		c := corev1.Container{
			Name: name, Image: "registry.example.com/shop/" + name + ":v1.42.0", ImagePullPolicy: corev1.PullIfNotPresent,
			Ports: []corev1.ContainerPort{{ContainerPort: port, Protocol: corev1.ProtocolTCP}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("256Mi")},
				Limits:   corev1.ResourceList{"memory": resource.MustParse("512Mi")},
			},
		}
		if name == "sidecar" {
			return c
		}
		c.ReadinessProbe = &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(port)}},
			PeriodSeconds: 10,
		}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/etc/" + name, ReadOnly: true}}
		for _, v := range []string{"REGION", "LOG_LEVEL"} {
			c.Env = append(c.Env, corev1.EnvVar{Name: v, Value: strings.ToLower(v) + "-of-" + name})
		}
		return c
	}
	yes, no := true, false
	labels := map[string]string{"app": "checkout", "pod-template-hash": fmt.Sprintf("%x", i/50), "tier": fmt.Sprint(i % 7)}
	if i%rareEvery == 0 {
		labels["rare"] = "yes"
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: nameOf(i), Namespace: namespaceOf(i), Labels: labels,
			Annotations: map[string]string{sequence: sequenceText(0)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprintf("checkout-%05d", i/50), Controller: &yes,
				BlockOwnerDeletion: &yes, UID: types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", i/50, i/50*7919)),
			}},
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: &no,
			NodeName:                     nodeOf(i),
			Containers:                   []corev1.Container{container("application", 8080), container("sidecar", 15021)},
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "checkout"},
			}}}},
		},
	}
}

// runningStatus is the status that a kubelet writes.
func runningStatus(i int) corev1.PodStatus {
	at := metav1.NewTime(time.Date(2026, 8, 1, 10, i/60%60, i%60, 0, time.UTC))
	ip := fmt.Sprintf("10.%d.%d.%d", 64+i>>16, i>>8&255, i&255)
	s := corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, StartTime: &at, QOSClass: corev1.PodQOSBurstable,
		HostIP: fmt.Sprintf("192.168.0.%d", i%nodeCount), HostIPs: []corev1.HostIP{{IP: fmt.Sprintf("192.168.0.%d", i%nodeCount)}},
	}
	for _, c := range []corev1.PodConditionType{
		"PodReadyToStartContainers", corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	yes := true
	for n, name := range []string{"application", "sidecar"} {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Ready: true, Started: &yes, Image: "registry.example.com/shop/" + name + ":v1.42.0",
			ImageID:     "registry.example.com/shop/" + name + "@sha256:" + strings.Repeat("5f", 32),
			ContainerID: fmt.Sprintf("containerd://%064x", i*2+n),
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
		})
	}
	return s
}

// fill creates pods in the API server, with the field managers of a cluster, and returns their JSON in its answers.
func (s *apiServer) fill(ctx context.Context, n int) ([]json.RawMessage, error) {
	for i := range namespaceCount {
		name := fmt.Sprintf("team-%d", i)
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := s.kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		if _, err := s.kube.CoreV1().ServiceAccounts(name).Create(ctx, account, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	group, writing := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error {
			pods := s.kube.CoreV1().Pods(namespaceOf(i))
			p, err := pods.Create(writing, newPod(i), metav1.CreateOptions{FieldManager: "kube-controller-manager"})
			if err != nil {
				return err
			}
			p.Status = runningStatus(i)
			_, err = pods.UpdateStatus(writing, p, metav1.UpdateOptions{FieldManager: "kubelet"})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("creating pods: %w", err)
	}
	c, err := target{config: s.direct}.client()
	if err != nil {
		return nil, err
	}
	text, err := fetch(ctx, c, s.direct.Host+"/api/v1/pods")
	if err != nil {
		return nil, err
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	if len(list.Items) != n {
		return nil, fmt.Errorf("the API server has %d pods, not %d", len(list.Items), n)
	}
	for i, raw := range list.Items {
		// Items of a list have no kind; events of a watch have. Members send the same bytes in both.
		list.Items[i] = append([]byte(`{"kind":"Pod","apiVersion":"v1",`), bytes.TrimPrefix(raw, []byte("{"))...)
	}
	return list.Items, nil
}

// multiply returns copies of pods with other names, uids and addresses, for sizes that an API server is not filled
// with.
func multiply(pods []json.RawMessage, times int) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(pods)*times)
	for k := range times {
		for _, raw := range pods {
			if k == 0 {
				out = append(out, raw)
				continue
			}
			var o struct {
				Metadata struct{ Name, UID string }
				Status   struct{ PodIP string }
			}
			if err := json.Unmarshal(raw, &o); err != nil {
				return nil, err
			}
			suffix := fmt.Sprintf("%02x", k)
			out = append(out, []byte(strings.NewReplacer(
				`"name":"`+o.Metadata.Name+`"`, `"name":"`+o.Metadata.Name+"-"+suffix+`"`,
				o.Metadata.UID, suffix+o.Metadata.UID[2:],
				o.Status.PodIP, strings.Replace(o.Status.PodIP, "10.", fmt.Sprintf("10%d.", k%10), 1),
			).Replace(string(raw))))
		}
	}
	return out, nil
}
