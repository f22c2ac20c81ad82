package aggregate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var podPrinter = printer{
	columns: []metav1.TableColumnDefinition{
		column("Name", 0), column("Ready", 0), column("Status", 0), column("Restarts", 0), column("Age", 0),
		column("IP", 1), column("Node", 1), column("Nominated Node", 1), column("Readiness Gates", 1),
	},
	cells: func(object []byte) ([]any, error) {
		pod, err := printedPod(object)
		if err != nil {
			return nil, err
		}
		ready, total, restarts := containers(pod)
		ip := pod.Status.PodIP
		if ip == "" && len(pod.Status.PodIPs) > 0 {
			ip = pod.Status.PodIPs[0].IP
		}
		return []any{
			pod.Name, fmt.Sprintf("%d/%d", ready, total), podReason(pod), restarts, age(pod.CreationTimestamp),
			orNone(ip), orNone(pod.Spec.NodeName), orNone(pod.Status.NominatedNodeName), readinessGates(pod),
		}, nil
	},
}

// printedPod decodes the parts of a pod that are printed. To decode all of it takes twice the time.
func printedPod(object []byte) (*corev1.Pod, error) {
	var parts struct {
		Metadata struct {
			Name              string       `json:"name"`
			CreationTimestamp metav1.Time  `json:"creationTimestamp"`
			DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
		} `json:"metadata"`
		Spec struct {
			NodeName       string                    `json:"nodeName"`
			Containers     []struct{}                `json:"containers"`
			ReadinessGates []corev1.PodReadinessGate `json:"readinessGates"`
			InitContainers []struct {
				Name          string                         `json:"name"`
				RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy"`
			} `json:"initContainers"`
		} `json:"spec"`
		Status corev1.PodStatus `json:"status"`
	}
	if err := json.Unmarshal(object, &parts); err != nil {
		return nil, err
	}
	pod := &corev1.Pod{Status: parts.Status}
	pod.Name, pod.CreationTimestamp = parts.Metadata.Name, parts.Metadata.CreationTimestamp
	pod.DeletionTimestamp = parts.Metadata.DeletionTimestamp
	pod.Spec.NodeName, pod.Spec.ReadinessGates = parts.Spec.NodeName, parts.Spec.ReadinessGates
	pod.Spec.Containers = make([]corev1.Container, len(parts.Spec.Containers))
	for _, c := range parts.Spec.InitContainers {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy})
	}
	return pod, nil
}

func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}

// sidecar reports whether an init container runs as long as the pod.
func sidecar(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
}

// containers counts the containers that are ready and all, with sidecars, and prints the restarts.
func containers(pod *corev1.Pod) (ready, total int, restarts string) {
	total = len(pod.Spec.Containers)
	count := 0
	var last metav1.Time
	add := func(s corev1.ContainerStatus) {
		count += int(s.RestartCount)
		if t := s.LastTerminationState.Terminated; t != nil && last.Before(&t.FinishedAt) {
			last = t.FinishedAt
		}
		if s.Ready && s.State.Running != nil {
			ready++
		}
	}
	for _, c := range pod.Spec.InitContainers {
		if sidecar(pod, c.Name) {
			total++
		}
	}
	for _, s := range pod.Status.InitContainerStatuses {
		if sidecar(pod, s.Name) {
			add(s)
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		add(s)
	}
	restarts = strconv.Itoa(count)
	if count > 0 && !last.IsZero() {
		restarts += " (" + age(last) + " ago)"
	}
	return ready, total, restarts
}

// podReason is the column Status: the most specific reason of the pod and its containers.
func podReason(pod *corev1.Pod) string {
	reason := string(pod.Status.Phase)
	if pod.Status.Reason != "" {
		reason = pod.Status.Reason
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			reason = c.Reason
		}
	}
	if init := initReason(pod); init != "" {
		reason = init
	} else {
		running := false
		for _, s := range slices.Backward(pod.Status.ContainerStatuses) {
			if r := stateReason(s.State); r != "" {
				reason = r
			} else if s.Ready && s.State.Running != nil {
				running = true
			}
		}
		if reason == "Completed" && running {
			reason = "NotReady"
			if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}) {
				reason = "Running"
			}
		}
	}
	if pod.DeletionTimestamp != nil {
		switch {
		case pod.Status.Reason == "NodeLost":
			return "Unknown"
		case pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed:
			return "Terminating"
		}
	}
	return reason
}

// initReason describes the first init container that is not done, or is empty.
func initReason(pod *corev1.Pod) string {
	for i, s := range pod.Status.InitContainerStatuses {
		switch {
		case s.State.Terminated != nil && s.State.Terminated.ExitCode == 0:
			continue
		case sidecar(pod, s.Name) && s.Started != nil && *s.Started:
			continue
		}
		if r := stateReason(s.State); r != "" && r != "PodInitializing" {
			return "Init:" + r
		}
		return fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
	}
	return ""
}

func stateReason(s corev1.ContainerState) string {
	switch {
	case s.Waiting != nil:
		return s.Waiting.Reason
	case s.Terminated == nil:
		return ""
	case s.Terminated.Reason != "":
		return s.Terminated.Reason
	case s.Terminated.Signal != 0:
		return fmt.Sprintf("Signal:%d", s.Terminated.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", s.Terminated.ExitCode)
}

func readinessGates(pod *corev1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	passed := 0
	for _, gate := range pod.Spec.ReadinessGates {
		for _, c := range pod.Status.Conditions {
			if c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue {
				passed++
			}
		}
	}
	return fmt.Sprintf("%d/%d", passed, len(pod.Spec.ReadinessGates))
}

var nodePrinter = printer{
	columns: []metav1.TableColumnDefinition{
		column("Name", 0), column("Status", 0), column("Roles", 0), column("Age", 0), column("Version", 0),
		column("Internal-IP", 1), column("External-IP", 1), column("OS-Image", 1), column("Kernel-Version", 1),
		column("Container-Runtime", 1),
	},
	cells: func(object []byte) ([]any, error) {
		var node corev1.Node
		if err := json.Unmarshal(object, &node); err != nil {
			return nil, err
		}
		info := node.Status.NodeInfo
		return []any{
			node.Name, nodeStatus(&node), nodeRoles(&node), age(node.CreationTimestamp), info.KubeletVersion,
			nodeAddress(&node, corev1.NodeInternalIP), nodeAddress(&node, corev1.NodeExternalIP),
			orNone(info.OSImage), orNone(info.KernelVersion), orNone(info.ContainerRuntimeVersion),
		}, nil
	},
}

func nodeStatus(node *corev1.Node) string {
	status := "Unknown"
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			if status = "NotReady"; c.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if node.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

func nodeRoles(node *corev1.Node) string {
	var roles []string
	for label, value := range node.Labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		} else if label == "kubernetes.io/role" && value != "" {
			roles = append(roles, value)
		}
	}
	slices.Sort(roles)
	return orNone(strings.Join(roles, ","))
}

func nodeAddress(node *corev1.Node, kind corev1.NodeAddressType) string {
	for _, a := range node.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return "<none>"
}
