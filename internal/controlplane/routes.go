package controlplane

import (
	"context"

	"k8s.io/client-go/tools/events"

	"anymesh.dev/anymesh/internal/trait/builtin"
	"anymesh.dev/anymesh/internal/trait/certificate"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/issuer"
	"anymesh.dev/anymesh/internal/trait/oam"
	"anymesh.dev/anymesh/internal/trait/route"
)

// newRoutes creates the controller of Routes and the authority of their certificates, unless the Route trait is
// disabled.
func (cp *controlPlane) newRoutes(ctx context.Context, recorder events.EventRecorder) error {
	settings := cp.RouteTrait
	if !settings.Enabled {
		return nil
	}
	err := cp.progress.retry(ctx, cp.Log, "the certificate authority of Routes", func(ctx context.Context) (err error) {
		cp.routeCA, err = certificate.OpenStore(ctx, cp.kube.core, cp.Namespace, cp.TrustDomain)
		return classifyError(err)
	})
	if err != nil {
		return err
	}
	find := discovery.Options{DefinitionNamespaces: settings.DefinitionNamespaces()}
	cp.routes, err = controller.New(controller.Options{
		Config: withAPIServerRetry(cp.KubeConfig, cp.reportAPIServer), Recorder: recorder, Log: cp.Log,
		Registerer: cp.registry,
		Planners: []controller.Planner{
			&route.Planner{
				Providers: builtin.Providers(), Default: settings.Provider, Discovery: find,
				Certificates: issuer.Certificates{Authority: certificate.Authority{CA: cp.routeCA, Client: cp.kube.core}},
			},
			oam.Applications{Discovery: find}, oam.ContainerizedWorkloads{}, oam.PodSpecWorkloads{},
		},
	})
	return err
}
