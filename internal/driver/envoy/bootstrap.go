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
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	internallistenerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/bootstrap/internal_listener/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
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
	// statsPort exposes the metrics and readiness endpoints of the admin interface.
	statsPort = 9901

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

// bootstrap returns the bootstrap configuration: ADS over a delta gRPC stream, with the client certificate that the
// agent renews.
func bootstrap(w model.Workload, node, host string, port uint32, sdsSocket string) *bootstrapv3.Bootstrap {
	return &bootstrapv3.Bootstrap{
		Node: &corev3.Node{Id: node, Cluster: node},
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
				xdsCluster(host, port), socketCluster(adminCluster, adminSocket, model.HTTP),
				socketCluster(sdsCluster, cmp.Or(sdsSocket, noSDSSocket), model.GRPC),
			},
			Listeners: []*listenerv3.Listener{statsListener()},
		},
		LayeredRuntime: &bootstrapv3.LayeredRuntime{Layers: []*bootstrapv3.RuntimeLayer{{
			Name: "static",
			LayerSpecifier: &bootstrapv3.RuntimeLayer_StaticLayer{StaticLayer: &structpb.Struct{
				Fields: map[string]*structpb.Value{
					"re2.max_program_size.error_level": structpb.NewNumberValue(maxRegexProgramSize),
					// Matches several header fields of one name as one value (RFC 9110). Since 1.39, Envoy matches them
					// individually by default.
					"envoy.reloadable_features.match_headers_individually": structpb.NewBoolValue(false),
				}}},
		}}},
		StatsConfig:         &metricsv3.StatsConfig{StatsTags: statsTags(w)},
		BootstrapExtensions: bootstrapExtensions(w),
	}
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

func statsTags(w model.Workload) []*metricsv3.TagSpecifier {
	var out []*metricsv3.TagSpecifier
	for _, t := range w.StatsTags {
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

// statsListener exposes GET for the metrics and readiness paths of the admin interface, and no other path.
func statsListener() *listenerv3.Listener {
	var routes []*routev3.Route
	for _, path := range []string{"/stats", "/stats/prometheus", "/ready"} {
		routes = append(routes, &routev3.Route{
			Name: path,
			Match: &routev3.RouteMatch{
				PathSpecifier: &routev3.RouteMatch_Path{Path: path},
				Headers: []*routev3.HeaderMatcher{
					headerMatcher(model.FieldMatch{Name: ":method", Kind: model.Exact, Value: "GET"}),
				},
			},
			Action: &routev3.Route_Route{
				Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: adminCluster}},
			},
		})
	}
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: "stats",
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			VirtualHosts: []*routev3.VirtualHost{{Name: "stats", Domains: []string{"*"}, Routes: routes}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name:       "envoy.filters.http.router",
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: typedConfig(&routerv3.Router{})},
		}},
	}
	return &listenerv3.Listener{
		Name:    "stats",
		Address: socketAddress("0.0.0.0", statsPort),
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.http_connection_manager",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: typedConfig(manager)},
		}}}},
		IgnoreGlobalConnLimit: true,
	}
}

// files returns the sidecar's files: the bootstrap and the SDS files.
func files(w model.Workload, node, host string, port uint32, sdsSocket string) (map[string][]byte, error) {
	out := map[string][]byte{}
	var err error
	if out[bootstrapFile], err = compactJSON(bootstrap(w, node, host, port, sdsSocket)); err != nil {
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
