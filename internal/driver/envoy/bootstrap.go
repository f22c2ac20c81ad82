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
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

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

	bootstrapFile = "envoy.json"
	identityFile  = "identity.json"
	trustFile     = "trust.json"
	secretName    = "identity"
	trustName     = "trust"
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
	host      string // of the control plane
	port      uint32
	sdsSocket string
	sidecar.ProxySettings
}

// statsPort is the port of metrics and readiness.
func (p proxy) statsPort() uint32 { return uint32(cmp.Or(p.StatsPort, defaultStatsPort)) }

// bootstrap returns the bootstrap configuration: ADS over a delta gRPC stream, with the client certificate that the
// agent renews.
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
				xdsCluster(p.host, p.port), socketCluster(adminCluster, adminSocket, model.HTTP),
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

// xdsCluster is the cluster of the ADS server. TCP keepalive detects a dead connection within 30 s.
func xdsCluster(host string, port uint32) *clusterv3.Cluster {
	tls := &tlsv3.UpstreamTlsContext{
		Sni: host,
		CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsParams: &tlsv3.TlsParameters{
				TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_3,
				TlsMaximumProtocolVersion: tlsv3.TlsParameters_TLSv1_3,
			},
			TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{fileSecret(secretName, identityFile)},
			ValidationContextType: &tlsv3.CommonTlsContext_CombinedValidationContext{
				CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
					DefaultValidationContext: &tlsv3.CertificateValidationContext{
						MatchTypedSubjectAltNames: []*tlsv3.SubjectAltNameMatcher{{
							SanType: tlsv3.SubjectAltNameMatcher_DNS,
							Matcher: &matcherv3.StringMatcher{
								MatchPattern: &matcherv3.StringMatcher_Exact{Exact: host},
							},
						}},
					},
					ValidationContextSdsSecretConfig: fileSecret(trustName, trustFile),
				},
			},
		},
	}
	return &clusterv3.Cluster{
		Name:                          controlPlaneCluster,
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS},
		ConnectTimeout:                durationpb.New(5 * time.Second),
		LoadAssignment:                staticLoadAssignment(controlPlaneCluster, host+".", port),
		TypedExtensionProtocolOptions: protocolOptions(model.GRPC),
		UpstreamConnectionOptions: &clusterv3.UpstreamConnectionOptions{TcpKeepalive: &corev3.TcpKeepalive{
			KeepaliveTime: wrapperspb.UInt32(10), KeepaliveInterval: wrapperspb.UInt32(5),
			KeepaliveProbes: wrapperspb.UInt32(3),
		}},
		TransportSocket: &corev3.TransportSocket{
			Name:       "envoy.transport_sockets.tls",
			ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: typedConfig(tls)},
		},
	}
}

// fileSecret is a file-based SDS secret. Envoy reads it again when the agent renews the certificates.
func fileSecret(name, file string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{PathConfigSource: &corev3.PathConfigSource{
			Path: sidecar.FilesDir + "/" + file,
		}},
	}}
}

// secrets returns the SDS files with the paths of certificate, key and trust bundle.
func secrets() map[string]*tlsv3.Secret {
	return map[string]*tlsv3.Secret{
		identityFile: certificateFiles(secretName, identityCertificate),
		trustFile:    trustFiles(trustName, identityTrust),
	}
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

// files returns the sidecar's files: the bootstrap and the SDS files.
func files(p proxy) (map[string][]byte, error) {
	out := map[string][]byte{}
	var err error
	if out[bootstrapFile], err = compactJSON(bootstrap(p)); err != nil {
		return nil, err
	}
	for name, secret := range secrets() {
		response := &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{typedConfig(secret)}}
		if out[name], err = compactJSON(response); err != nil {
			return nil, err
		}
	}
	return out, nil
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
