package cli

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// restConfig finds the cluster as kubectl does; inside a pod, by its service account.
func restConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w; set --kubeconfig or KUBECONFIG", err)
	}
	config.QPS, config.Burst = clientQPS, clientBurst
	config.UserAgent = "anymesh/" + Version
	return config, nil
}

func kubeClient(kubeconfig string) (client.Client, error) {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = clientTimeout
	return client.New(config, client.Options{})
}
