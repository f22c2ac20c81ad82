package appmesh

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"anymesh.dev/anymesh/internal/dialect"
)

// Settings are the operator's settings. The zero value is the behavior of the released controller.
type Settings struct {
	// TrustDomain is the trust domain of the pods' identities. The default is dialect.DefaultTrustDomain.
	TrustDomain string
	// NoDefaultRetry disables the default retries of routes without a retry policy.
	NoDefaultRetry bool
	// NoAWSEgress blocks TLS connections to *.amazonaws.com if the egress filter is DROP_ALL. Otherwise, the sidecar
	// connects to the address to which it resolves the name.
	NoAWSEgress bool
	// PanicThreshold is the percentage of healthy endpoints of a VirtualNode below which clients use all of them. Nil
	// means defaultPanicThreshold.
	PanicThreshold *uint32
	// AnyAddress makes a TCP service that is alone on its port take connections to every address, also if it has addresses
	// of its own.
	AnyAddress bool
	// GatewayHealthCheck is what the health checks of VirtualGateways decide. The zero value is ReportHealth.
	GatewayHealthCheck GatewayHealthCheck
	// SDS is the server of the secret discovery service of the nodes, for example the SPIRE agent.
	SDS SDS
	// ACM has the Secrets in place of certificates and authorities of AWS Certificate Manager.
	ACM ACM
	// Region is the AWS region of X-Ray.
	Region string
	// Resources are the resources of sidecars, besides those of gateways.
	Resources corev1.ResourceRequirements
	Tracing   Tracing
	// NoStatsTags omits the tags with the names of mesh and resource from metrics.
	NoStatsTags bool
	Stats       Stats
	XRay        XRay
}

// SDS is the server of the secret discovery service of the nodes.
type SDS struct {
	Enabled bool `json:"enabled"`
	// Path is the path of its Unix domain socket, on the nodes and in the sidecars.
	Path string `json:"udsPath"`
}

// ACM maps ARNs to names of Secrets, which are in the namespace of the pod.
type ACM struct {
	// Certificates are Secrets with tls.crt and tls.key, Authorities are Secrets with ca.crt.
	Certificates map[string]string `json:"certificates"`
	Authorities  map[string]string `json:"authorities"`
}

// defaultPanicThreshold is that of Envoy, and so of App Mesh.
const defaultPanicThreshold = 50

// defaultSDSPath is the socket of the SPIRE agent.
const defaultSDSPath = "/run/spire/sockets/agent.sock"

// defaultXRayImage is the image of App Mesh's chart.
const defaultXRayImage = "public.ecr.aws/xray/aws-xray-daemon:latest"

func (s Settings) trustDomain() string {
	if s.TrustDomain == "" {
		return dialect.DefaultTrustDomain
	}
	return s.TrustDomain
}

// values are the settings in the format of the chart value.
type values struct {
	DefaultRetry       bool               `json:"defaultRetry"`
	AWSEgress          bool               `json:"awsEgress"`
	PanicThreshold     uint32             `json:"panicThreshold"`
	TCPAnyAddress      bool               `json:"tcpAnyAddress"`
	GatewayHealthCheck GatewayHealthCheck `json:"gatewayHealthCheck"`
	SDS                SDS                `json:"sds"`
	ACM                ACM                `json:"acm"`

	Region  string        `json:"region"`
	Sidecar sidecarValues `json:"sidecar"`
	Tracing Tracing       `json:"tracing"`
	Stats   Stats         `json:"stats"`
	XRay    XRay          `json:"xray"`
}

// Values returns the default settings in the format of the chart value.
func (Dialect) Values() any {
	return values{
		DefaultRetry: true, AWSEgress: true, PanicThreshold: defaultPanicThreshold, GatewayHealthCheck: ReportHealth,
		SDS: SDS{Path: defaultSDSPath},
		ACM: ACM{Certificates: map[string]string{}, Authorities: map[string]string{}},
		Sidecar: sidecarValues{Resources: resourceValues{
			Requests: map[corev1.ResourceName]scalar{}, Limits: map[corev1.ResourceName]scalar{},
		}},
		Tracing: Tracing{Provider: providerXRay},
		Stats:   Stats{TagsEnabled: true, StatsdAddress: "127.0.0.1", StatsdPort: statsdPort},
		XRay:    XRay{Image: defaultXRayImage},
	}
}

// Configure returns the dialect with settings in the format of the chart value.
func (d Dialect) Configure(s dialect.Settings) (dialect.Dialect, error) {
	v := d.Values().(values)
	if err := dialect.Decode(s.Values[d.Name()], &v); err != nil {
		return nil, err
	}
	if v.PanicThreshold > 100 {
		return nil, fmt.Errorf("panicThreshold: %d is not a percentage from 0 to 100", v.PanicThreshold)
	}
	if p := v.SDS.Path; v.SDS.Enabled && (!path.IsAbs(p) || path.Clean(p) != p || p == "/") {
		return nil, fmt.Errorf("sds.udsPath: %q is not the absolute path of a socket", p)
	}
	for _, secrets := range []struct {
		setting string
		byARN   map[string]string
	}{{"acm.certificates", v.ACM.Certificates}, {"acm.authorities", v.ACM.Authorities}} {
		for _, arn := range slices.Sorted(maps.Keys(secrets.byARN)) {
			name := secrets.byARN[arn]
			if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
				return nil, fmt.Errorf("%s: %s: %q is not the name of a Secret: %s", secrets.setting, arn, name, problems[0])
			}
		}
	}
	if err := errors.Join(v.Tracing.check(v.XRay.Image), v.Stats.check(), v.GatewayHealthCheck.check()); err != nil {
		return nil, err
	}
	resources, err := v.Sidecar.Resources.requirements()
	if err != nil {
		return nil, err
	}
	return Dialect{Settings{
		TrustDomain: s.TrustDomain, NoDefaultRetry: !v.DefaultRetry, NoAWSEgress: !v.AWSEgress,
		PanicThreshold: &v.PanicThreshold, AnyAddress: v.TCPAnyAddress, GatewayHealthCheck: v.GatewayHealthCheck,
		SDS: v.SDS, ACM: v.ACM,
		Region: v.Region, Resources: resources, Tracing: v.Tracing, NoStatsTags: !v.Stats.TagsEnabled, Stats: v.Stats,
		XRay: v.XRay,
	}}, nil
}
