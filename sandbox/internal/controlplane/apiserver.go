package controlplane

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// apiServer completes the options of the API server and returns the function that runs it.
func apiServer(ctx context.Context, c plan.Cluster, etcdURL string,
	pki func(string) string) (func(context.Context) error, error) {
	o := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	named := o.Flags()
	for _, f := range named.FlagSets {
		flags.AddFlagSet(f)
	}
	err := flags.Parse([]string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=0.0.0.0", "--advertise-address=" + c.Node4.String(),
		"--secure-port=" + strconv.Itoa(plan.APIPort),
		"--cert-dir=" + pki("."), "--tls-cert-file=" + pki("apiserver.crt"),
		"--tls-private-key-file=" + pki("apiserver.key"),
		"--client-ca-file=" + pki("ca.crt"),
		"--kubelet-certificate-authority=" + pki("ca.crt"),
		"--kubelet-client-certificate=" + pki("apiserver-kubelet.crt"),
		"--kubelet-client-key=" + pki("apiserver-kubelet.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--proxy-client-cert-file=" + pki("front-proxy.crt"), "--proxy-client-key-file=" + pki("front-proxy.key"),
		"--requestheader-client-ca-file=" + pki("ca.crt"), "--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--service-account-issuer=https://kubernetes.default.svc." + plan.ClusterDomain,
		"--service-account-key-file=" + pki("sa.pub"), "--service-account-signing-key-file=" + pki("sa.key"),
		"--service-cluster-ip-range=" + c.Services4.String() + "," + c.Services6.String(),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged",
		"--enable-aggregator-routing",
		"--endpoint-reconciler-type=lease",
		"--shutdown-delay-duration=0s",
	})
	if err != nil {
		return nil, err
	}
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	// Once per process: all components share the log.
	if err := logsapi.ValidateAndApply(o.Logs, utilfeature.DefaultFeatureGate); err != nil {
		return nil, err
	}
	completed, err := o.Complete(ctx)
	if err != nil {
		return nil, err
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return nil, utilerrors.NewAggregate(errs)
	}
	return func(ctx context.Context) error { return app.Run(ctx, completed) }, nil
}

// waitReady polls /readyz until it succeeds.
func waitReady(ctx context.Context, kubeconfig string) (kubernetes.Interface, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.QPS = -1
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			return client, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the API server: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}
