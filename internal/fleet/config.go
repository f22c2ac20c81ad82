package fleet

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
)

var errPull = errors.New("spec.syncMode: Pull is not supported; use Push")

// Config returns how to connect to a member cluster with the token of a Secret. The certificates are those of the
// Secret ca, which may be the same.
func Config(cluster *clusterv1.Cluster, token, ca *corev1.Secret) (*rest.Config, error) {
	spec := cluster.Spec
	if spec.SyncMode == clusterv1.Pull {
		return nil, errPull
	}
	if spec.APIEndpoint == "" {
		return nil, errors.New("spec.apiEndpoint: the address of the API server is required")
	}
	config := &rest.Config{Host: spec.APIEndpoint, UserAgent: "anymesh-aggregator", QPS: -1}
	if !strings.Contains(config.Host, "://") {
		config.Host = "https://" + config.Host
	}
	if u, err := url.Parse(config.Host); err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("spec.apiEndpoint: %q is not an https URL, host:port or host", spec.APIEndpoint)
	}
	config.BearerToken = string(token.Data[clusterv1.SecretTokenKey])
	if config.BearerToken == "" {
		return nil, fmt.Errorf("secret %s/%s: key %s is required", token.Namespace, token.Name, clusterv1.SecretTokenKey)
	}
	switch caData := ca.Data[clusterv1.SecretCADataKey]; {
	case spec.InsecureSkipTLSVerification:
		config.Insecure = true
	case len(caData) == 0:
		return nil, fmt.Errorf("secret %s/%s: key %s is required", ca.Namespace, ca.Name, clusterv1.SecretCADataKey)
	default:
		config.CAData = caData
	}
	return config, setProxy(config, spec)
}

func setProxy(config *rest.Config, spec clusterv1.ClusterSpec) error {
	if spec.ProxyURL == "" {
		if len(spec.ProxyHeader) > 0 {
			return errors.New("spec.proxyHeader: requires spec.proxyURL")
		}
		return nil
	}
	address, err := url.Parse(spec.ProxyURL)
	if err != nil || address.Host == "" {
		return fmt.Errorf("spec.proxyURL: %q is not a URL", spec.ProxyURL)
	}
	config.Proxy = http.ProxyURL(address)
	if len(spec.ProxyHeader) == 0 {
		return nil
	}
	headers := http.Header{}
	for name, values := range spec.ProxyHeader {
		for value := range strings.SplitSeq(values, ",") {
			headers.Add(name, strings.TrimSpace(value))
		}
	}
	config.WrapTransport = func(rt http.RoundTripper) http.RoundTripper {
		if t, ok := rt.(*http.Transport); ok {
			t.ProxyConnectHeader = headers
		}
		return rt
	}
	return nil
}
