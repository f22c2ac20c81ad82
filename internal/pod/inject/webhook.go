package inject

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	kjson "sigs.k8s.io/json"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/objects/patch"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Webhook handles admission requests for new pods. All fields but KubeClient are required.
type Webhook struct {
	// Dialects are the dialects with injection, in order of evaluation.
	Dialects []dialect.Injection
	Cluster  Cluster
	// Mesh has the settings of all drivers.
	Mesh       *sidecar.MeshConfig
	KubeClient kubernetes.Interface
	// SystemNamespace is the namespace of the control plane; its pods get no sidecars.
	SystemNamespace string
	// SigningURL is the URL of the signing endpoint.
	SigningURL string
	// NamesPort returns the port of the control plane that serves host names to the agents of a class.
	NamesPort func(class string) (uint32, error)
	// PullPolicy is the imagePullPolicy of the injected containers.
	PullPolicy corev1.PullPolicy
	// Roots returns the PEM bundle with which agents verify the control plane.
	Roots func() []byte
}

// Handle handles one admission request.
func (w *Webhook) Handle(ctx context.Context, req admission.Request) admission.Response {
	if other := req.Operation != "" && req.Operation != admissionv1.Create; other || req.SubResource != "" {
		return admission.Allowed("only new pods get a sidecar")
	}
	var pod corev1.Pod
	doubts, err := kjson.UnmarshalStrict(req.Object.Raw, &pod, kjson.DisallowDuplicateFields)
	if err = errors.Join(append(doubts, err)...); err != nil {
		return admission.Errored(400, fmt.Errorf("the pod cannot be read: %w", err))
	}
	if gvk := pod.GroupVersionKind(); !gvk.Empty() && gvk != corev1.SchemeGroupVersion.WithKind("Pod") {
		return admission.Errored(400, fmt.Errorf("the object is a %s, not a pod", gvk))
	}
	if pod.Namespace == "" {
		pod.Namespace = req.Namespace
	}
	claim, inject, err := w.selectWorkload(ctx, &pod)
	if pod.Spec.HostNetwork {
		return w.handleHostNetwork(req.Object.Raw, &pod, inject || err != nil)
	}
	if err != nil {
		return admission.Denied(err.Error())
	}
	if !inject {
		return admission.Allowed("no sidecar is injected")
	}
	mesh, options, err := w.settings(claim, &pod)
	if err != nil {
		return admission.Denied(fmt.Sprintf("pod %s cannot get a sidecar: %v", podName(&pod), err))
	}
	if lacks := lacksProxy(&pod, claim.workload, options); lacks != "" {
		return admission.Allowed(lacks).WithWarnings(lacks)
	}
	bypasses := w.bypasses(&pod, claim.workload, options)
	if err := w.refuse(&pod, bypasses); err != nil {
		return admission.Denied(err.Error())
	}
	before := pod.DeepCopy()
	users := uncapturedUsers(&pod, claim.workload, options)
	dryRun := req.DryRun != nil && *req.DryRun
	if err := w.inject(ctx, &pod, claim, mesh, options, string(req.UID), dryRun); err != nil {
		return admission.Denied(fmt.Sprintf("pod %s cannot get a sidecar: %v", podName(&pod), err))
	}
	markBypass(&pod, bypasses)
	patches, err := patch.Diff(req.Object.Raw, before, &pod)
	if err != nil {
		return admission.Errored(500, err)
	}
	warnings := slices.Concat(options.Warnings, unprotected(pod.Annotations[sidecar.ClassAnnotation], claim.workload),
		bypassWarnings(bypasses), users)
	return admission.Patched("is an instance of "+claim.workload.NodeID, patches...).WithWarnings(warnings...)
}

// handleHostNetwork admits a pod in the network of its node, without a sidecar. meshed says that it would get one
// otherwise, or be refused.
func (w *Webhook) handleHostNetwork(raw []byte, pod *corev1.Pod, meshed bool) admission.Response {
	const message = "no sidecar is injected"
	if !meshed {
		return admission.Allowed(message)
	}
	bypasses := []string{hostNetworkBypass}
	if err := w.refuse(pod, bypasses); err != nil {
		return admission.Denied(err.Error())
	}
	before := pod.DeepCopy()
	markBypass(pod, bypasses)
	patches, err := patch.Diff(raw, before, pod)
	if err != nil {
		return admission.Errored(500, err)
	}
	return admission.Patched(message, patches...).WithWarnings(bypassWarnings(bypasses)...)
}

// inject injects the sidecar of the selected workload. It is idempotent.
func (w *Webhook) inject(ctx context.Context, pod *corev1.Pod, s selection, mesh *sidecar.MeshConfig,
	o dialect.PodOptions, request string, dryRun bool) error {
	workload, namespace := s.workload, s.namespace
	gateway := workload.Role == model.RoleGateway
	if alreadyInjected(pod) {
		return nil
	}
	delay, err := preStopDelay(pod)
	if err != nil {
		return err
	}
	class, err := classOf(mesh, pod, namespace)
	if err != nil {
		return err
	}
	c := w.injectorContext(ctx, pod, workload, mesh.Of(class), o, proxyUUID(request))
	c.SidecarClass, c.DryRun = class, dryRun
	patchCtx, cancel := context.WithCancel(c)
	defer cancel()
	if err := sidecar.Patch(patchCtx); err != nil {
		return err
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[sidecar.ClassAnnotation] = class
	s.mark(pod)
	dns, err := w.dnsMode(pod, namespace)
	if err != nil {
		return err
	}
	proxyless := c.Sidecar != nil && c.Sidecar.Proxyless()
	if c.Sidecar == nil || gateway || o.CNI || proxyless {
		dns = model.DNSOff // the driver changed the pod itself, or nothing redirects DNS questions
	}
	if proxyless && gateway {
		return fmt.Errorf("driver %s has no proxy, which a gateway needs; use another %s", class, sidecar.ClassAnnotation)
	}
	if proxyless && w.Mesh.Sidecar.Bypass == sidecar.BypassRefuse {
		return fmt.Errorf("driver %s captures no connections, which osm.bypass of the Helm values refuses", class)
	}
	pod.Annotations[sidecar.DNSAnnotation] = string(dns)
	maps.Copy(pod.Annotations, o.Annotations)
	if c.Sidecar == nil {
		return nil
	}
	if len(o.Proxy.ConfigFiles) > 0 && c.Sidecar.ConfigArgument == "" {
		return fmt.Errorf("driver %s does not support configuration files of the pod: %s", class,
			strings.Join(o.Proxy.ConfigFiles, ", "))
	}
	files := map[string][]byte{rootFile: c.BootstrapCertificate.IssuingCA}
	for name, content := range c.Sidecar.Files {
		files[name] = content
	}
	addScrape(pod)
	if err := addVolumes(pod, o); err != nil {
		return err
	}
	addContainers(pod, o, c.ContainerPullPolicy)
	port, err := w.NamesPort(class)
	if err != nil {
		return err
	}
	server := controlPlane{w.SigningURL, fmt.Sprintf("anymesh.%s.svc.cluster.local:%d", c.OsmNamespace, port)}
	if gateway {
		injectGateway(pod, c, o, server, terminationDelay(pod, delay))
	} else if err := w.injectSidecar(pod, c, o, server, delay, dns != model.DNSOff); err != nil {
		return err
	}
	if err := setFiles(Agent(pod), files); err != nil {
		return err
	}
	addAccessLog(pod, Agent(pod), c.Sidecar, workload.AccessLog)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[sidecar.UUIDLabel] = c.ProxyUUID.String()
	return nil
}

// injectorContext is what a driver gets to know about a pod and its workload.
func (w *Webhook) injectorContext(ctx context.Context, pod *corev1.Pod, workload model.Workload,
	mesh *sidecar.MeshConfig, o dialect.PodOptions, id uuid.UUID) *sidecar.InjectorContext {
	c := &sidecar.InjectorContext{
		Context: ctx, Pod: pod, MeshName: workload.Mesh, OsmNamespace: w.SystemNamespace, PodNamespace: pod.Namespace,
		PodOS:           "linux",
		ProxyUUID:       id,
		ProxyCommonName: sidecar.CommonName(fmt.Sprintf("%s.%s.%s", id, pod.Spec.ServiceAccountName, pod.Namespace)),
		Configurator:    mesh, KubeClient: w.KubeClient,
		ContainerPullPolicy: w.PullPolicy, OutboundPortExclusionList: o.OutboundPortExclusions,
		OutboundIPRangeExclusionList: o.OutboundIPExclusions, OutboundIPRangeInclusionList: o.OutboundIPInclusions,
		InboundPortExclusionList: o.InboundPortExclusions, OriginalHealthProbes: originalProbes(pod),
		Workload: workload, Node: workload.NodeID, Proxy: o.Proxy,
	}
	c.BootstrapCertificate = &sidecar.Certificate{CommonName: c.ProxyCommonName, IssuingCA: w.Roots()}
	if o.SDSSocket != nil {
		c.SDSSocketPath = o.SDSSocket.Path
	}
	return c
}

// injectSidecar adds the containers of a sidecar.
func (w *Webhook) injectSidecar(pod *corev1.Pod, c *sidecar.InjectorContext, o dialect.PodOptions,
	server controlPlane, delay int64, dns bool) error {
	if hasContainer(pod, c.Sidecar.Container.Name) {
		return fmt.Errorf("it already has a container named %s; rename that container",
			c.Sidecar.Container.Name)
	}
	if c.Sidecar.Proxyless() {
		w.injectProxyless(pod, c, o, server, delay)
		return nil
	}
	probes, err := rewriteProbes(pod, o.Captures, c.ProxyUUID)
	if err != nil {
		return err
	}
	if o.AllInbound || len(o.InboundPorts) > 0 { // the application has clients
		addPreStop(pod, delay)
	}
	proxy := sidecarContainer(c, o, server, probes, dns)
	if !o.CNI && !hasContainer(pod, captureContainer) {
		capture := captureInit(c.Configurator, c.ContainerPullPolicy, o, dns)
		if o.AppOnPodIP {
			capture.Env = append(capture.Env, applicationOnPodIP(proxy)...)
		}
		// Quotas of a namespace require requests or limits of each container. The pod does not need more: the init
		// container ends before the proxy starts.
		capture.Resources = *proxy.Resources.DeepCopy()
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, capture)
	}
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, proxy)
	return nil
}

// proxyUUID derives the UUID from the admission request, so that a repeated request gets the same response.
func proxyUUID(request string) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("anymesh.dev/sidecar/"+request))
}

func hasContainer(pod *corev1.Pod, name string) bool {
	named := func(c corev1.Container) bool { return c.Name == name }
	debugs := func(c corev1.EphemeralContainer) bool { return c.Name == name }
	return slices.ContainsFunc(pod.Spec.Containers, named) || slices.ContainsFunc(pod.Spec.InitContainers, named) ||
		slices.ContainsFunc(pod.Spec.EphemeralContainers, debugs)
}
