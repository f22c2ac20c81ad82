package main

import (
	"bytes"
	"net"
	"strings"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"anymesh.dev/anymesh/sidecar"
)

// bootstrap changes the bootstrap of the driver: dir is the folder of the certificates and sockets. Unless discovery is
// nil, Envoy connects to a control plane on this address without TLS, and not to the agent.
func bootstrap(text []byte, dir string, discovery *net.TCPAddr) ([]byte, error) {
	text = bytes.ReplaceAll(text, []byte(sidecar.CertificatesDir), []byte(dir))
	var b bootstrapv3.Bootstrap
	if err := protojson.Unmarshal(text, &b); err != nil {
		return nil, err
	}
	for _, c := range b.StaticResources.Clusters {
		endpoint := c.LoadAssignment.Endpoints[0].LbEndpoints[0].GetEndpoint()
		if discovery == nil || !strings.HasSuffix(endpoint.Address.GetPipe().GetPath(), "/xds.sock") {
			continue
		}
		endpoint.Address = &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address:       discovery.IP.String(),
			PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(discovery.Port)},
		}}}
	}
	return protojson.Marshal(&b)
}
