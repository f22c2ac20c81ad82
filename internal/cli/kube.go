package cli

import (
	"fmt"
	"time"

	"anymesh.dev/anymesh/internal/build"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// restConfig loads the kubeconfig as kubectl does; inside a pod, it uses the service account.
func restConfig(kubeconfig string) (*rest.Config, error) {
	config, _, err := clusterConfig(kubeconfig, "")
	return config, err
}

// clientQPS and clientBurst limit requests to the API server per second. API Priority and Fairness limits them further.
const clientQPS, clientBurst = 200, 400

// clientTimeout limits one request to the API server.
const clientTimeout = 30 * time.Second

// clusterConfig is restConfig for a context of the kubeconfig. It also returns the namespace of the context.
func clusterConfig(kubeconfig, kubecontext string) (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: kubecontext})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("loading the kubeconfig: %w; set --kubeconfig or KUBECONFIG", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("loading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = clientQPS, clientBurst
	config.UserAgent = "anymesh/" + build.Version
	return config, namespace, nil
}

func kubeClient(kubeconfig, kubecontext string) (client.Client, error) {
	config, _, err := clusterConfig(kubeconfig, kubecontext)
	if err != nil {
		return nil, err
	}
	config.Timeout = clientTimeout
	return client.New(config, client.Options{})
}
