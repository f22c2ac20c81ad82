package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
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
	c := &cobra.Command{Use: "identity", Short: "Inspect, rotate and replace the root certificate of the mesh"}
	c.AddCommand(identityStatusCommand(), identityRotateCommand(), identityReplaceCommand())
	return c
}

// planeIdentity is the CA state of one control plane.
type planeIdentity struct {
	ControlPlane string `json:"controlPlane"`
	identity.Status
}

func identityStatusCommand() *cobra.Command {
	var s source
	var output *format
	c := &cobra.Command{
		Use:   "status",
		Short: "List the trusted roots, the signing root, and the phase of a rotation",
		Long: "List the trusted roots, the signing root, and the phase of a rotation.\n\n" +
			"Exit codes: 0 if every control plane can use the CA Secret, 1 if a control plane cannot, 2 for wrong usage.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			kube, config, err := s.connect()
			if err != nil {
				return err
			}
			all, err := identities(c.Context(), kube, config, s.system)
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			if output.isJSON() {
				err = terminal.JSON(out, all)
			} else {
				err = printIdentities(out, terminal.StyleFor(out), all, time.Now())
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
	output = addFormat(c, "table", "json")
	return c
}

func identityRotateCommand() *cobra.Command {
	var s source
	c := &cobra.Command{
		Use:   "rotate",
		Short: "Rotate the root certificate of the mesh, without downtime",
		Long: "Rotate the root certificate of the mesh, without downtime. First every sidecar receives the new root and confirms it,\n" +
			"within seconds, or one and a quarter certificate lifetimes if one is not connected. Then the new root signs, and the\n" +
			"old root is still trusted for one and a quarter certificate lifetimes.\n" +
			"anymesh identity status shows the phase.\n\n" +
			"The root is also rotated automatically, after four fifths of its lifetime.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			kube, config, err := s.connect()
			if err != nil {
				return err
			}
			all, err := identities(c.Context(), kube, config, s.system)
			if err != nil {
				return err
			}
			switch now := all[0]; {
			case !now.Managed:
				return fmt.Errorf("the CA in Secret %s/%s is not managed by Anymesh: rotate it yourself; see docs/security.md", s.system, identity.CASecret)
			case now.Phase != identity.Steady:
				return fmt.Errorf("a rotation is in progress: %s", describePhase(now.Status, time.Now()))
			}
			secret := &metav1.PartialObjectMetadata{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.system, Name: identity.CASecret},
			}
			secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
			patch, err := json.Marshal(map[string]any{
				"metadata": map[string]any{
					"annotations": map[string]string{identity.RotateAnnotation: time.Now().UTC().Format(time.RFC3339)},
				},
			})
			if err != nil {
				return err
			}
			if err := kube.Patch(c.Context(), secret, client.RawPatch(types.MergePatchType, patch)); err != nil {
				return fmt.Errorf("annotating the CA Secret: %w", err)
			}
			c.Println("rotation started; show its phase with: anymesh identity status")
			return nil
		},
	}
	s.addCluster(c)
	return c
}

// identities gets the CA state of every control plane; there is at least one.
func identities(ctx context.Context, kube client.Client, config *rest.Config, system string) ([]planeIdentity, error) {
	planes, err := controlPlanes(ctx, kube, system)
	if err != nil {
		return nil, err
	}
	var all []planeIdentity
	for _, plane := range planes {
		body, err := queryDebug(ctx, config, plane, "/debug/identity")
		if err != nil {
			return nil, err
		}
		one := planeIdentity{ControlPlane: plane.Name}
		if err := json.Unmarshal(body, &one.Status); err != nil {
			return nil, fmt.Errorf("decoding the roots of control plane %s: %w", plane.Name, err)
		}
		all = append(all, one)
	}
	return all, nil
}

func printIdentities(w io.Writer, s terminal.Style, all []planeIdentity, now time.Time) error {
	for i, one := range all {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		t := terminal.Table{}
		t.Row(s.Dim("control plane"), one.ControlPlane)
		t.Row(s.Dim("trust domain"), one.TrustDomain)
		t.Row(s.Dim("certificate lifetime"), (time.Duration(one.LifetimeSeconds) * time.Second).String())
		t.Row(s.Dim("rotation"), describePhase(one.Status, now))
		if one.LastError != "" {
			text := one.LastError
			if len(one.Roots) > 0 { // otherwise no CA was ever valid
				text += "; the last valid CA stays in use"
			}
			t.Row(s.Red("last error"), text)
		}
		if err := t.Write(w, s); err != nil {
			return err
		}
		roots := terminal.Table{Headings: []string{"ROOT", "EXPIRES", "FINGERPRINT (SHA-256)", "SUBJECT"}}
		for _, r := range one.Roots {
			if r.Name != "" {
				r.Subject += " (" + r.Name + ")"
			}
			roots.Row(string(r.Role), r.NotAfter.UTC().Format(time.RFC3339), r.Fingerprint[:16], r.Subject)
		}
		if err := roots.Write(w, s); err != nil {
			return err
		}
	}
	return nil
}

func describePhase(st identity.Status, now time.Time) string {
	var what string
	switch {
	case st.Phase == identity.Publishing:
		what = "Publishing: sidecars receive the new root, the old root signs"
	case st.Phase == identity.Retiring:
		what = "Retiring: the new root signs, the old root is still trusted"
	case !st.Managed:
		return "none: the CA is not managed by Anymesh"
	case st.RotateAt != nil:
		return "Steady: the next rotation starts automatically at " + st.RotateAt.UTC().Format(time.RFC3339)
	}
	if st.Until == nil {
		return string(st.Phase) // a phase of a newer control plane
	}
	named := func(r identity.Root) bool { return r.Name != "" }
	latest := fmt.Sprintf("until %s (%s)", st.Until.UTC().Format(time.RFC3339),
		max(st.Until.Sub(now), 0).Round(time.Second))
	confirmed := st.Unconfirmed != nil && *st.Unconfirmed == 0
	if (confirmed || !now.Before(*st.Until)) && slices.ContainsFunc(st.Roots, named) {
		return what + ", until the roles of objects change"
	}
	if st.Unconfirmed != nil && *st.Unconfirmed > 0 {
		what += fmt.Sprintf(", until all have confirmed it (%d have not), at the latest", *st.Unconfirmed)
		return what + " " + latest
	}
	return what + ", " + latest
}
