package agent

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/pod/secrets"
)

// startSecrets starts the server of certificates of Secrets, with the service account of the pod. It returns the
// problems of the Secrets, see secrets.Server.Problems; nil if the pod serves none.
func (a *agent) startSecrets(ctx context.Context, run func(func())) (problems func() map[string]string, err error) {
	if a.SecretsSocket == "" {
		return nil, nil
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("agent: client for Secrets: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("agent: client for Secrets: %w", err)
	}
	server := secrets.New(client, a.Logger)
	run(func() {
		if err := server.Serve(ctx, a.SecretsSocket); err != nil {
			a.Logger.Error("certificates of Secrets are not served", "error", err)
		}
	})
	return server.Problems, nil
}
