package controlplane

import (
	"context"

	"github.com/spf13/pflag"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kcmoptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	sched "k8s.io/kubernetes/cmd/kube-scheduler/app"
	schedoptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// controllerManager prepares kube-controller-manager with its default controllers.
func controllerManager(ctx context.Context, pki func(string) string) (func(context.Context) error, error) {
	o, err := kcmoptions.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	all, disabled, aliases := kcm.KnownControllers(), kcm.ControllersDisabledByDefault(), kcm.ControllerAliases()
	named := o.Flags(all, disabled, aliases)
	o.ParsedFlags = &named
	flags := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	for _, f := range named.FlagSets {
		flags.AddFlagSet(f)
	}
	err = flags.Parse([]string{
		"--kubeconfig=" + pki("kcm.kubeconfig"), "--secure-port=0", "--leader-elect=false",
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + pki("sa.key"), "--root-ca-file=" + pki("ca.crt"),
		"--cluster-signing-cert-file=" + pki("ca.crt"), "--cluster-signing-key-file=" + pki("ca.key"),
		"--allocate-node-cidrs=false",
		"--flex-volume-plugin-dir=" + pki("../flexvolume"), // the default is a host folder
		"--node-monitor-grace-period=60s", "--node-monitor-period=5s",
		// A lab is small: do not delay controllers by rate limits.
		"--kube-api-qps=1000", "--kube-api-burst=2000",
	})
	if err != nil {
		return nil, err
	}
	if err := o.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	c, err := o.Config(ctx, all, disabled, aliases)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return kcm.Run(ctx, c.Complete()) }, nil
}

// scheduler prepares kube-scheduler with its default profile.
func scheduler(ctx context.Context, pki func(string) string) (func(context.Context) error, error) {
	o := schedoptions.NewOptions()
	flags := pflag.NewFlagSet("kube-scheduler", pflag.ContinueOnError)
	for _, f := range o.Flags.FlagSets {
		flags.AddFlagSet(f)
	}
	err := flags.Parse([]string{
		"--kubeconfig=" + pki("scheduler.kubeconfig"), "--secure-port=0", "--leader-elect=false",
		"--kube-api-qps=1000", "--kube-api-burst=2000",
	})
	if err != nil {
		return nil, err
	}
	if err := o.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	completed, s, err := sched.Setup(ctx, o)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return sched.Run(ctx, completed, s) }, nil
}
