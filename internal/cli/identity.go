package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/identity"
)

func identityCommand() *cobra.Command {
	c := &cobra.Command{Use: "identity", Short: "Look at the root that the mesh's certificates come from, and replace it"}
	c.AddCommand(identityStatusCommand(), identityRotateCommand())
	return c
}

// planeIdentity is what one control plane says of the authority.
type planeIdentity struct {
	ControlPlane string `json:"controlPlane"`
	identity.Status
}

func identityStatusCommand() *cobra.Command {
	var s source
	var output, system string
	c := &cobra.Command{
		Use:   "status",
		Short: "List the roots that the mesh trusts, which of them signs, and how far a rotation is",
		Long: "List the roots that the mesh trusts, which of them signs, and how far a rotation is.\n\n" +
			"Exit code 0 means that every control plane can use the authority as it is stored, 1 that one cannot.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := terminal.CheckFormat(output, "table", "json"); err != nil {
				return exitError{2, err}
			}
			kube, config, err := s.connect()
			if err != nil {
				return err
			}
			all, err := identities(c.Context(), kube, config, system)
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			if output == "json" {
				err = terminal.JSON(out, all)
			} else {
				err = tellIdentities(out, terminal.StyleFor(out), all, time.Now())
			}
			for _, one := range all {
				if err == nil && one.LastError != "" {
					return exitError{code: 1}
				}
			}
			return err
		},
	}
	s.addCluster(c)
	c.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	addSystemNamespace(c, &system)
	return c
}

func identityRotateCommand() *cobra.Command {
	var s source
	var system string
	c := &cobra.Command{
		Use:   "rotate",
		Short: "Replace the mesh's root certificate, without interruption",
		Long: "Replace the mesh's root certificate, without interruption. It takes two and a half lifetimes of a certificate: first every sidecar learns the\n" +
			"new root, then the new root signs while the old one is still trusted. See anymesh identity status for how far it is.\n\n" +
			"The root is also replaced by itself, after four fifths of its life.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			kube, config, err := s.connect()
			if err != nil {
				return err
			}
			all, err := identities(c.Context(), kube, config, system)
			if err != nil {
				return err
			}
			switch now := all[0]; {
			case !now.Managed:
				return fmt.Errorf("the authority in Secret %s/%s was put there by somebody else, and is theirs to rotate; see docs/security.md", system, identity.CASecret)
			case now.Phase != identity.Steady:
				return fmt.Errorf("a rotation is under way: %s", tellPhase(now.Status, time.Now()))
			}
			secret := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: identity.CASecret}}
			secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
			patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{identity.RotateAnnotation: time.Now().UTC().Format(time.RFC3339)}}})
			if err != nil {
				return err
			}
			if err := kube.Patch(c.Context(), secret, client.RawPatch(types.MergePatchType, patch)); err != nil {
				return fmt.Errorf("asking for a new root: %w", err)
			}
			c.Println("the root is being replaced; follow it with: anymesh identity status")
			return nil
		},
	}
	s.addCluster(c)
	addSystemNamespace(c, &system)
	return c
}

// identities asks every control plane; there is at least one.
func identities(ctx context.Context, kube client.Client, config *rest.Config, system string) ([]planeIdentity, error) {
	planes, err := controlPlanes(ctx, kube, system)
	if err != nil {
		return nil, err
	}
	var all []planeIdentity
	for _, plane := range planes {
		body, err := askDebug(ctx, config, plane, "/debug/identity")
		if err != nil {
			return nil, err
		}
		one := planeIdentity{ControlPlane: plane.Name}
		if err := json.Unmarshal(body, &one.Status); err != nil {
			return nil, fmt.Errorf("the roots of control plane %s: %w", plane.Name, err)
		}
		all = append(all, one)
	}
	return all, nil
}

func tellIdentities(w io.Writer, s terminal.Style, all []planeIdentity, now time.Time) error {
	for i, one := range all {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		t := terminal.Table{}
		t.Row(s.Dim("control plane"), one.ControlPlane)
		t.Row(s.Dim("trust domain"), one.TrustDomain)
		t.Row(s.Dim("certificates live"), (time.Duration(one.LifetimeSeconds) * time.Second).String())
		t.Row(s.Dim("rotation"), tellPhase(one.Status, now))
		if one.LastError != "" {
			t.Row(s.Red("last error"), one.LastError+"; the last valid CA stays in use")
		}
		if err := t.Write(w, s); err != nil {
			return err
		}
		roots := terminal.Table{Headings: []string{"ROOT", "EXPIRES", "FINGERPRINT (SHA-256)", "SUBJECT"}}
		for _, r := range one.Roots {
			roots.Row(string(r.Role), r.NotAfter.UTC().Format(time.RFC3339), r.Fingerprint[:16], r.Subject)
		}
		if err := roots.Write(w, s); err != nil {
			return err
		}
	}
	return nil
}

func tellPhase(st identity.Status, now time.Time) string {
	var what string
	switch {
	case st.Phase == identity.Publishing:
		what = "Publishing: every sidecar learns the new root, the old one signs"
	case st.Phase == identity.Retiring:
		what = "Retiring: the new root signs, the old one is still trusted"
	case !st.Managed:
		return "none: the authority was put there by somebody else"
	case st.RotateAt != nil:
		return "Steady: the next one begins by itself on " + st.RotateAt.UTC().Format(time.RFC3339)
	}
	if st.Until == nil {
		return string(st.Phase) // of a newer control plane
	}
	return fmt.Sprintf("%s, until %s (%s)", what, st.Until.UTC().Format(time.RFC3339), max(st.Until.Sub(now), 0).Round(time.Second))
}
