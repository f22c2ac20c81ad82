package conformance

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"anymesh.dev/anymesh/sidecar"
)

// FindEnvoy searches for the binary on PATH, in $ANYMESH_BIN and in the folder bin of the repository.
func FindEnvoy(repository string) (string, error) {
	if path, err := exec.LookPath("envoy"); err == nil {
		return path, nil
	}
	for _, dir := range []string{os.Getenv("ANYMESH_BIN"), filepath.Join(repository, "bin")} {
		if info, err := os.Stat(filepath.Join(dir, "envoy")); dir != "" && err == nil && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, "envoy"), nil
		}
	}
	return "", errors.New("no Envoy on PATH, in $ANYMESH_BIN or in bin; fetch it with `make envoy`")
}

// Bootstrap changes the bootstrap of the driver: dir is the folder of the certificates and sockets. Unless discovery is
// nil, Envoy connects to a control plane on this address without TLS, and not to the agent.
func Bootstrap(text []byte, dir string, discovery *net.TCPAddr) ([]byte, error) {
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
