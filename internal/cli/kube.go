package cli

import (
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// restConfig finds the cluster as kubectl does; inside a pod, by its service account.
func restConfig(kubeconfig string) (*rest.Config, error) {
	config, _, err := clusterConfig(kubeconfig, "")
	return config, err
}

// clientQPS limits the requests a second to the API server, whose own priority and fairness does the rest.
const clientQPS, clientBurst = 200, 400

const clientTimeout = 30 * time.Second

// clusterConfig is restConfig for a context of the kubeconfig, with the context's namespace.
func clusterConfig(kubeconfig, kubecontext string) (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: kubecontext})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("finding the cluster: %w; set --kubeconfig or KUBECONFIG", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("finding the cluster: %w", err)
	}
	config.QPS, config.Burst = clientQPS, clientBurst
	config.UserAgent = "anymesh/" + Version
	return config, namespace, nil
}

func kubeClient(kubeconfig string) (client.Client, error) {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = clientTimeout
	return client.New(config, client.Options{})
}
