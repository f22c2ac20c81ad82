package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/identity"
)

// replaceTimeout bounds the wait for the control plane, which retries every 15 s while it has no authority.
const replaceTimeout = time.Minute

func identityReplaceCommand() *cobra.Command {
	var s source
	var yes bool
	c := &cobra.Command{
		Use:   "replace",
		Short: "Make a new authority of the mesh at once, for a stolen key or a lost Secret",
		Long: "Make a new authority of the mesh at once, for a stolen key or a lost Secret. The old root is not trusted any more:\n" +
			"the control plane restarts and refuses certificates of the old root. Running sidecars keep their last\n" +
			"configuration, but get no changes and no certificates until their pods restart. anymesh check names these pods.\n\n" +
			"If the key is safe, use anymesh identity rotate, which needs no restart.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if !yes {
				return exitError{2, errors.New("all pods with a sidecar must restart after this: confirm it with --yes")}
			}
			kube, _, err := s.connect()
			if err != nil {
				return err
			}
			if err := replaceAuthority(c.Context(), kube, s.system); err != nil {
				return err
			}
			c.Println("the mesh has a new authority, and the control plane restarts\n" +
				"restart all pods with a sidecar; list those that are left with: anymesh check")
			return nil
		},
	}
	s.addCluster(c)
	c.Flags().BoolVar(&yes, "yes", false, "confirm that all pods with a sidecar must restart")
	return c
}

// replaceAuthority requests a new authority, and waits until the control plane has made it.
func replaceAuthority(ctx context.Context, kube client.Client, namespace string) error {
	secret := &corev1.Secret{}
	err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: identity.CASecret}, secret)
	switch {
	case err == nil && identity.HasCA(secret) && !identity.Managed(secret):
		return fmt.Errorf("the CA in Secret %s/%s is not managed by Anymesh: replace it yourself; see docs/security.md",
			namespace, identity.CASecret)
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("Secret %s/%s: %w", namespace, identity.CASecret, err)
	}
	name := identity.ReplaceAnnotation(identity.CASecret)
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: identity.RecordConfigMap}}
	request := map[string]string{name: time.Now().UTC().Format(time.RFC3339Nano)}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": request}})
	if err != nil {
		return err
	}
	if err := kube.Patch(ctx, record, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("requesting a new authority in ConfigMap %s/%s: %w", namespace, identity.RecordConfigMap, err)
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, time.Second, replaceTimeout, true, func(ctx context.Context) (bool, error) {
		if last = kube.Get(ctx, client.ObjectKeyFromObject(record), record); last != nil {
			return false, nil
		}
		return record.Annotations[name] == "", nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("the control plane has not made a new authority within %s; its log says why",
			replaceTimeout), last)
	}
	return nil
}
