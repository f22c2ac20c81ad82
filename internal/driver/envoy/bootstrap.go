package envoy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	internallistenerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/bootstrap/internal_listener/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

const (
	controlPlaneCluster = "anymesh"
	adminCluster        = "admin"
	// sdsCluster is the server of the secret discovery service of the node. Envoy rejects a listener that refers to it if
	// it is not in the bootstrap. So that a sidecar without such a server serves its other listeners, it has the cluster,
	// too; nothing listens on noSDSSocket.
	sdsCluster  = "static_cluster_sds_unix_socket"
	noSDSSocket = sidecar.CertificatesDir + "/no-sds.sock"
	// adminSocket is a Unix domain socket, so that only the sidecar container can access the whole admin interface.
	adminSocket = sidecar.CertificatesDir + "/admin.sock"
	// defaultStatsPort exposes the metrics and readiness endpoints of the admin interface.
	defaultStatsPort = 9901

	// xdsSocket is where the agent relays xDS: Envoy itself would watch the certificates of its pod, and those of secrets
	// in files. Each watch takes an instance of inotify, of which a user has 128 on a node by default.
	xdsSocket = sidecar.CertificatesDir + "/xds.sock"

	bootstrapFile = "envoy.json"
)

// The backoff of reconnects to the control plane. Envoy's default maximum of 30 s would delay changes after an outage.
const (
	retryBaseInterval = 500 * time.Millisecond
	retryMaxInterval  = 10 * time.Second
)

// proxy has what the bootstrap of one pod depends on.
type proxy struct {
	workload  model.Workload
	node      string
	sdsSocket string
	sidecar.ProxySettings
}

// statsPort is the port of metrics and readiness.
func (p proxy) statsPort() uint32 { return uint32(cmp.Or(p.StatsPort, defaultStatsPort)) }

// bootstrap returns the bootstrap configuration: ADS over a delta gRPC stream, which the agent relays.
func bootstrap(p proxy) *bootstrapv3.Bootstrap {
	out := &bootstrapv3.Bootstrap{
		Node: &corev3.Node{Id: p.node, Cluster: p.service()},
		Admin: &bootstrapv3.Admin{
			Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: adminSocket, Mode: 0o600}}},
		},
		DynamicResources: &bootstrapv3.Bootstrap_DynamicResources{
			LdsConfig: adsConfigSource(),
			CdsConfig: adsConfigSource(),
			AdsConfig: &corev3.ApiConfigSource{
				ApiType:                   corev3.ApiConfigSource_DELTA_GRPC,
				TransportApiVersion:       corev3.ApiVersion_V3,
				SetNodeOnFirstMessageOnly: true,
				GrpcServices:              []*corev3.GrpcService{grpcService(controlPlaneCluster)},
			},
		},
		StaticResources: &bootstrapv3.Bootstrap_StaticResources{
			Clusters: []*clusterv3.Cluster{
				socketCluster(controlPlaneCluster, xdsSocket, model.GRPC),
				socketCluster(adminCluster, adminSocket, model.HTTP),
				socketCluster(sdsCluster, cmp.Or(p.sdsSocket, noSDSSocket), model.GRPC),
			},
			Listeners: []*listenerv3.Listener{statsListener(p)},
		},
		LayeredRuntime: &bootstrapv3.LayeredRuntime{Layers: []*bootstrapv3.RuntimeLayer{{
			Name:           "static",
			LayerSpecifier: &bootstrapv3.RuntimeLayer_StaticLayer{StaticLayer: runtimeValues(p)},
		}}},
		StatsConfig: &metricsv3.StatsConfig{StatsTags: statsTags(p)},
		// A cluster without requests has no metrics of its traffic. They would be half of all metrics.
		DeferredStatOptions: &bootstrapv3.Bootstrap_DeferredStatOptions{EnableDeferredCreationStats: true},
		// A worker thread has a cluster from its first request on.
		ClusterManager:      &bootstrapv3.ClusterManager{EnableDeferredClusterCreation: true},
		Tracing:             tracing(p), //nolint:staticcheck // the only place for a tracer of one pod
		BootstrapExtensions: bootstrapExtensions(p.workload),
	}
	out.DynamicResources.LdsConfig.InitialFetchTimeout = durationpb.New(p.FetchTimeout)
	out.DynamicResources.CdsConfig.InitialFetchTimeout = durationpb.New(p.FetchTimeout)
	switch {
	case p.StatsFlushInterval > 0:
		out.StatsFlushInterval = durationpb.New(p.StatsFlushInterval)
	case p.Statsd == nil && len(p.ConfigFiles) == 0:
		// Nothing is sent: the metrics are prepared when they are read, not every 5 s. With 1000 services, that delays
		// changes. A histogram shows the values until the previous read.
		out.StatsFlush = &bootstrapv3.Bootstrap_StatsFlushOnAdmin{StatsFlushOnAdmin: true}
	}
	proto.Merge(out, receivers(p, false))
	return out
}

// runtimeValues returns the runtime keys.
func runtimeValues(p proxy) *structpb.Struct {
	out := &structpb.Struct{Fields: map[string]*structpb.Value{
		"re2.max_program_size.error_level": structpb.NewNumberValue(maxRegexProgramSize),
		// Matches several header fields of one name as one value (RFC 9110). Since 1.39, Envoy matches them
		// individually by default.
		"envoy.reloadable_features.match_headers_individually": structpb.NewBoolValue(false),
	}}
	if rate := samplingRate(p); rate != nil {
		out.Fields["tracing.random_sampling"] = rate
	}
	return out
}

// bootstrapExtensions enables the internal listeners of gateways.
func bootstrapExtensions(w model.Workload) []*corev3.TypedExtensionConfig {
	if w.Role != model.RoleGateway {
		return nil
	}
	return []*corev3.TypedExtensionConfig{{
		Name: "envoy.bootstrap.internal_listener", TypedConfig: typedConfig(&internallistenerv3.InternalListener{}),
	}}
}

func statsTags(p proxy) []*metricsv3.TagSpecifier {
	out := routeTags()
	if p.NoStatsTags {
		return out
	}
	for _, t := range p.workload.StatsTags {
		out = append(out,
			&metricsv3.TagSpecifier{TagName: t.Name, TagValue: &metricsv3.TagSpecifier_FixedValue{FixedValue: t.Value}})
	}
	return out
}

// socketCluster is the cluster of a server on a Unix domain socket.
func socketCluster(name, path string, p model.Protocol) *clusterv3.Cluster {
	endpoint := &endpointv3.Endpoint{
		Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}},
	}
	return &clusterv3.Cluster{
		Name:                          name,
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout:                durationpb.New(applicationConnectTimeout),
		TypedExtensionProtocolOptions: protocolOptions(p),
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{
				LbEndpoints: []*endpointv3.LbEndpoint{{
					HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: endpoint},
				}},
			}},
		},
	}
}

// files returns the sidecar's files: the bootstrap.
func files(p proxy) (map[string][]byte, error) {
	text, err := compactJSON(bootstrap(p))
	return map[string][]byte{bootstrapFile: text}, err
}

// compactJSON returns deterministic compact JSON.
func compactJSON(m proto.Message) ([]byte, error) {
	loose, err := protojson.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", m, err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, loose); err != nil {
		return nil, fmt.Errorf("encoding %T: %w", m, err)
	}
	return out.Bytes(), nil
}
