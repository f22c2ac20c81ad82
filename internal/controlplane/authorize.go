package controlplane

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// defaultPodWatchTimeout bounds the wait for the pod of a sidecar: the sidecar may connect before the watch event of
// its pod arrives.
const defaultPodWatchTimeout = 3 * time.Second

// authorizer authorizes the sidecars of a driver. The pod in the client certificate determines the workload; the node
// id of the request must match it.
func (cp *controlPlane) authorizer(d *driver) xds.Authorizer {
	return func(ctx context.Context, peer xds.Peer, node *corev3.Node) (xds.Grant, error) {
		if len(peer.Chain) == 0 {
			return xds.Grant{}, grpcstatus.Error(codes.Unauthenticated, "no client certificate")
		}
		workload, who, err := cp.authorizePod(ctx, peer.Chain[0], d)
		if err != nil {
			return xds.Grant{}, grpcstatus.Error(codes.PermissionDenied, err.Error())
		}
		if id := node.GetId(); id != "" && !workload.HasNode(id) {
			return xds.Grant{}, grpcstatus.Errorf(codes.PermissionDenied, "pod %s/%s is an instance of %s, not of %s",
				who.Namespace, who.Pod, workload.NodeID, id)
		}
		return xds.Grant{Key: workload.Key.String(), Identity: who.PodUID}, nil
	}
}

// authorizePod returns the workload of the pod in a client certificate, which has sidecars of the driver.
func (cp *controlPlane) authorizePod(ctx context.Context, certificate *x509.Certificate,
	d *driver) (workload model.Workload, who identity.Peer, err error) {
	if who, err = identity.PeerFromCertificate(certificate); err != nil {
		return workload, who, err
	}
	ctx, cancel := context.WithTimeout(ctx, cp.podWatchTimeout)
	defer cancel()
	err = cp.engine.Await(ctx, func() (known bool) {
		workload, known = cp.engine.WorkloadOf(who.PodUID)
		return known
	})
	if err != nil {
		return workload, who, fmt.Errorf("pod %s/%s is not an instance of any workload", who.Namespace, who.Pod)
	}
	if class := cp.engine.ClassOf(who.PodUID); !d.Has(class) {
		return workload, who, fmt.Errorf("pod %s/%s has annotation %s: %q, but this is the server of driver %s; %s",
			who.Namespace, who.Pod, sidecar.ClassAnnotation, class, d.Name, cp.wrongServerHint(class))
	}
	return workload, who, nil
}
