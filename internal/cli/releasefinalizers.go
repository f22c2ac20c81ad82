package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/cli/install"
	"anymesh.dev/anymesh/internal/dialect"
)

// releaseFinalizersCommand is the last step of an uninstallation by Helm, as a Job.
func releaseFinalizersCommand() *cobra.Command {
	var kubeconfig, kubecontext string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "release-finalizers",
		Short: "Remove finalizers, so that objects can be deleted without Anymesh",
		Long: "Remove the finalizers that the control plane handles from all objects, so that objects and namespaces can be\n" +
			"deleted without it. The control plane must not run: it adds the finalizers again. anymesh uninstall and\n" +
			"helm uninstall include this step.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			kube, err := kubeClient(kubeconfig, kubecontext)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			return install.ReleaseFinalizers(ctx, kube, dialect.All(), progressPrinter(c, "removed"))
		},
	}
	c.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file")
	c.Flags().StringVar(&kubecontext, "context", "", "kubeconfig context; the current context if empty")
	completeContexts(c, "context", &kubeconfig)
	c.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "maximum time to wait for the cluster")
	return c
}
