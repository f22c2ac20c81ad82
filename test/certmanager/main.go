// Command certmanager runs the real controllers of cert-manager in one process, for tests of the Route trait.
//
// In: a kubeconfig of a cluster with the CRDs of cert-manager, which are in deploy/crds of its Go module. Out:
// certificates of SelfSigned and CA issuers in that cluster. It has neither webhook nor CA injector, which these need
// not, and no leader election.
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
	"sync"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
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
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"         // registers issuers with a CA
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned" // registers issuers without
)

// names are the controllers that run. Importing their packages registers them.
var names = []string{
	approver.ControllerName, cacontroller.CRControllerName, selfsigned.CRControllerName, issuing.ControllerName,
	keymanager.ControllerName, readiness.ControllerName, requestmanager.ControllerName, revisionmanager.ControllerName,
	trigger.ControllerName, clusterissuers.ControllerName, issuers.ControllerName,
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig; empty means that of the pod")
	namespace := flag.String("cluster-resource-namespace", "cert-manager", "namespace of the Secrets of ClusterIssuers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, "certmanager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig: kubeconfig, KubernetesAPIQPS: 100, KubernetesAPIBurst: 200,
		IssuerOptions: controller.IssuerOptions{ClusterResourceNamespace: namespace},
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
