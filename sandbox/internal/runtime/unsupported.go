package runtime

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	rt "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func unsupported(what string) error {
	return status.Errorf(codes.Unimplemented, "the sandbox does not support %s", what)
}

// UpdateContainerResources implements the CRI. Limits require cgroups, which the sandbox does not use.
func (r *Runtime) UpdateContainerResources(context.Context, string, *rt.ContainerResources) error {
	return unsupported("resource limits")
}

// UpdatePodSandboxResources implements the CRI.
func (r *Runtime) UpdatePodSandboxResources(context.Context,
	*rt.UpdatePodSandboxResourcesRequest) (*rt.UpdatePodSandboxResourcesResponse, error) {
	return nil, unsupported("resource limits")
}

// CheckpointContainer implements the CRI.
func (r *Runtime) CheckpointContainer(context.Context, *rt.CheckpointContainerRequest) error {
	return unsupported("checkpoints")
}

// ContainerStats implements the CRI.
func (r *Runtime) ContainerStats(context.Context, string) (*rt.ContainerStats, error) {
	return nil, unsupported("statistics")
}

// ListContainerStats implements the CRI. It returns an empty list, because the kubelet calls it periodically.
func (r *Runtime) ListContainerStats(context.Context, *rt.ContainerStatsFilter) ([]*rt.ContainerStats, error) {
	return nil, nil
}

// PodSandboxStats implements the CRI.
func (r *Runtime) PodSandboxStats(context.Context, string) (*rt.PodSandboxStats, error) {
	return nil, unsupported("statistics")
}

// ListPodSandboxStats implements the CRI. It returns an empty list like ListContainerStats.
func (r *Runtime) ListPodSandboxStats(context.Context, *rt.PodSandboxStatsFilter) ([]*rt.PodSandboxStats, error) {
	return nil, nil
}

// ListMetricDescriptors implements the CRI.
func (r *Runtime) ListMetricDescriptors(context.Context) ([]*rt.MetricDescriptor, error) {
	return nil, nil
}

// ListPodSandboxMetrics implements the CRI.
func (r *Runtime) ListPodSandboxMetrics(context.Context) ([]*rt.PodSandboxMetrics, error) {
	return nil, nil
}
