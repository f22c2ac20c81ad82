// Command certmanager runs the real controllers of cert-manager in one process, for tests of the Route trait.
//
// In: a kubeconfig of a cluster with the CRDs of cert-manager, which are in deploy/crds of its Go module. Out:
// certificates of SelfSigned, CA and ACME issuers in that cluster. It has neither webhook nor CA injector, which these
// need not, and no leader election. With --listen-port, it is the solver of a challenge, as the pods of HTTP-01 run it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/acmechallenges"
	"github.com/cert-manager/cert-manager/pkg/controller/acmeorders"
	ingresses "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/ingresses"
	acmecontroller "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/acme"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	cacontroller "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	"github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	"github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/acme" // registers issuers with an ACME server
	"github.com/cert-manager/cert-manager/pkg/issuer/acme/http/solver"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"         // registers issuers with a CA
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned" // registers issuers without
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/resource"
)

// names are the controllers that run. Importing their packages registers them.
var names = []string{
	approver.ControllerName, cacontroller.CRControllerName, selfsigned.CRControllerName, issuing.ControllerName,
	keymanager.ControllerName, readiness.ControllerName, requestmanager.ControllerName, revisionmanager.ControllerName,
	trigger.ControllerName, clusterissuers.ControllerName, issuers.ControllerName, ingresses.ControllerName,
	acmecontroller.CRControllerName, acmeorders.ControllerName, acmechallenges.ControllerName,
}

// options are the flags.
type options struct {
	kubeconfig, namespace, solverImage, nameservers string
}

func main() {
	var o options
	var challenge solver.HTTP01Solver
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "path of the kubeconfig; empty means that of the pod")
	flag.StringVar(&o.namespace, "cluster-resource-namespace", "cert-manager", "namespace of the Secrets of ClusterIssuers")
	flag.StringVar(&o.solverImage, "solver-image", "", "image of the pods that solve challenges, which runs this program")
	flag.StringVar(&o.nameservers, "nameservers", "", "DNS server, as HOST:PORT, of the check before a challenge")
	flag.IntVar(&challenge.ListenPort, "listen-port", 0, "port of the solver; 0 runs the controllers")
	flag.StringVar(&challenge.Domain, "domain", "", "host name of the challenge")
	flag.StringVar(&challenge.Token, "token", "", "token of the challenge")
	flag.StringVar(&challenge.Key, "key", "", "response to the challenge")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, &challenge); err != nil {
		fmt.Fprintln(os.Stderr, "certmanager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, challenge *solver.HTTP01Solver) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if challenge.ListenPort != 0 {
		go func() {
			<-ctx.Done()
			_ = challenge.Close()
		}()
		return challenge.Listen(logr.Discard())
	}
	one := resource.MustParse("1")
	small := resource.MustParse("64Mi")
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig: o.kubeconfig, KubernetesAPIQPS: 100, KubernetesAPIBurst: 200,
		IssuerOptions: controller.IssuerOptions{ClusterResourceNamespace: o.namespace},
		ACMEOptions: controller.ACMEOptions{
			HTTP01SolverImage: o.solverImage, HTTP01SolverNameservers: strings.Fields(o.nameservers),
			HTTP01SolverResourceRequestCPU: resource.MustParse("10m"), HTTP01SolverResourceRequestMemory: small,
			HTTP01SolverResourceLimitsCPU: one, HTTP01SolverResourceLimitsMemory: small,
		},
		SchedulerOptions: controller.SchedulerOptions{MaxConcurrentChallenges: 10},
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: time.Second, CertificateRequestMaximumBackoffDuration: time.Minute,
		},
	})
	if err != nil {
		return err
	}
	known := controller.Known()
	var all []controller.Interface
	for _, name := range names {
		constructor, ok := known[name]
		if !ok {
			return fmt.Errorf("there is no controller %s; there are %v", name, slices.Sorted(maps.Keys(known)))
		}
		one, err := constructor(factory)
		if err != nil {
			return fmt.Errorf("controller %s: %w", name, err)
		}
		all = append(all, one)
	}
	shared, err := factory.Build("certmanager")
	if err != nil {
		return err
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	shared.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, one := range all {
		group.Go(func() {
			if err := one.Run(2, ctx); err != nil {
				errs[i] = fmt.Errorf("controller %s: %w", names[i], err)
				cancel()
			}
		})
	}
	fmt.Printf("%d controllers of cert-manager run\n", len(all))
	group.Wait()
	return errors.Join(errs...)
}
