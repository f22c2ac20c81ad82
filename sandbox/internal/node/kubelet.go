package node

import (
	"context"
	"os"
	"path/filepath"
	"time"

	noop "go.opentelemetry.io/otel/trace/noop"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/server"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/downwardapi"
	"k8s.io/kubernetes/pkg/volume/emptydir"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/projected"
	"k8s.io/kubernetes/pkg/volume/secret"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"

	"anymesh.dev/anymesh/sandbox/internal/plan"
	"anymesh.dev/anymesh/sandbox/internal/runtime"
)

// maxPods is the capacity of the node; the address plan would allow 65 000.
const maxPods = 500

// startKubelet starts the goroutines of the kubelet and returns.
func startKubelet(ctx context.Context, lab plan.Lab, c plan.Cluster, client kubernetes.Interface, rt *runtime.Runtime,
	images runtime.Images) error {
	gates := map[string]bool{
		"EventedPLEG": true, // the runtime sends change events
	}
	if lab.UserNS {
		gates["KubeletInUserNamespace"] = true
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return err
	}
	server, err := kubeletServer(lab, c)
	if err != nil {
		return err
	}
	auth, runAuth, err := app.BuildAuth("", client, server.KubeletConfiguration)
	if err != nil {
		return err
	}
	runAuth(ctx.Done())
	mounter := mount.New("")
	return app.RunKubelet(ctx, server, &kubelet.Dependencies{
		Auth: auth, KubeClient: client, HeartbeatClient: client, EventClient: client.CoreV1(),
		RemoteRuntimeService: rt, RemoteImageService: images,
		CAdvisorInterface: &machine{}, ContainerManager: cm.NewStubContainerManager(),
		OOMAdjuster:   oom.NewFakeOOMAdjuster(),
		VolumePlugins: volumePlugins(), Mounter: mounter, Subpather: subpath.New(mounter),
		HostUtil:                  hostutil.NewHostUtil(),
		PodStartupLatencyTracker:  kubeletutil.NewPodStartupLatencyTracker(),
		NodeStartupLatencyTracker: kubeletutil.NewNodeStartupLatencyTracker(),
		TracerProvider:            noop.NewTracerProvider(),
		TLSOptions:                tlsOptions(lab, c),
	})
}

func kubeletServer(lab plan.Lab, c plan.Cluster) (*options.KubeletServer, error) {
	dir := func(name string) string { return filepath.Join(lab.ClusterDir(c), name) }
	f := options.NewKubeletFlags()
	f.RootDirectory, f.CertDirectory = dir("kubelet"), dir("kubelet/pki")
	f.HostnameOverride = c.NodeName()
	f.NodeIP = c.Node4.String() + "," + c.Node6.String()
	k, err := options.NewKubeletConfiguration()
	if err != nil {
		return nil, err
	}
	configure(k, lab, c)
	k.PodLogsDir, k.VolumePluginDir = dir("podlogs"), dir("flexvolume")
	k.ResolverConfig = dir("resolv.conf")
	for _, p := range []string{f.RootDirectory, f.CertDirectory, k.PodLogsDir} {
		if err := os.MkdirAll(p, 0o755); err != nil {
			return nil, err
		}
	}
	// Resolver of Pods with dnsPolicy Default: that of the node, which is the cluster DNS.
	err = os.WriteFile(k.ResolverConfig, []byte("nameserver "+c.Node4.String()+"\n"), 0o644)
	return &options.KubeletServer{KubeletFlags: *f, KubeletConfiguration: *k}, err
}

func configure(k *kubeletconfig.KubeletConfiguration, lab plan.Lab, c plan.Cluster) {
	tls := tlsOptions(lab, c)
	k.Address, k.Port, k.HealthzPort, k.ReadOnlyPort = "0.0.0.0", plan.KubeletPort, 0, 0
	k.Authentication.X509.ClientCAFile = tls.ClientCAFile
	k.TLSCertFile, k.TLSPrivateKeyFile = tls.CertFile, tls.KeyFile
	k.ClusterDNS, k.ClusterDomain = []string{c.DNSService().String()}, plan.ClusterDomain
	// There are no cgroups, no image store and no separate disk.
	k.CgroupsPerQOS, k.EnforceNodeAllocatable, k.FailCgroupV1 = false, nil, false
	k.LocalStorageCapacityIsolation, k.EvictionHard = false, map[string]string{}
	k.MakeIPTablesUtilChains = false
	k.MaxPods = maxPods
	k.SerializeImagePulls, k.RegistryPullQPS = false, 0 // a pull is only a map lookup
	k.NodeStatusUpdateFrequency = metav1.Duration{Duration: 5 * time.Second}
	// also limits the delay of ConfigMap updates in volumes
	k.SyncFrequency = metav1.Duration{Duration: 10 * time.Second}
	k.EventRecordQPS = 0
}

func tlsOptions(lab plan.Lab, c plan.Cluster) *server.TLSOptions {
	file := func(name string) string { return filepath.Join(lab.PKIDir(c), name) }
	return &server.TLSOptions{CertFile: file("kubelet.crt"), KeyFile: file("kubelet.key"), ClientCAFile: file("ca.crt")}
}

func volumePlugins() []volume.VolumePlugin {
	var out []volume.VolumePlugin
	out = append(out, emptydir.ProbeVolumePlugins()...)
	out = append(out, hostpath.ProbeVolumePlugins(volume.VolumeConfig{})...)
	out = append(out, secret.ProbeVolumePlugins()...)
	out = append(out, configmap.ProbeVolumePlugins()...)
	out = append(out, downwardapi.ProbeVolumePlugins()...)
	return append(out, projected.ProbeVolumePlugins()...)
}
