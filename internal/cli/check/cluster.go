package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/install"
	"anymesh.dev/anymesh/internal/dialect"
)

// resourceName is the name of the webhook configurations and of the Deployment of Anymesh.
const resourceName = "anymesh"

func apiServer(_ context.Context, c *Cluster) (string, error) {
	v, err := c.Kube.Discovery().ServerVersion()
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.Host, err)
	}
	return c.Host + ", " + v.GitVersion, nil
}

func nativeSidecars(_ context.Context, c *Cluster) (string, error) {
	v, err := c.Kube.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return "", minVersion(v.GitVersion)
}

// minVersion returns an error for Kubernetes before 1.30. Native sidecars are enabled by default since 1.29, the sleep
// action of preStop hooks since 1.30.
func minVersion(gitVersion string) error {
	v, err := version.ParseGeneric(gitVersion)
	if err != nil {
		return warn("the version %q of the API server cannot be parsed", gitVersion)
	}
	if v.LessThan(version.MustParseGeneric("1.30")) {
		return fmt.Errorf("the API server has version %s", gitVersion)
	}
	return nil
}

// permissions checks access to all resources that an installation creates.
func permissions(ctx context.Context, c *Cluster) (string, error) {
	objects, err := install.Manifests(install.Options{Namespace: c.Namespace})
	if err != nil {
		return "", err
	}
	var missing []string
	checked := map[string]bool{}
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		mapping, err := c.Client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return "", fmt.Errorf("the API server does not serve kind %s: %w", gvk.Kind, err)
		}
		for _, verb := range []string{"create", "patch"} {
			what := verb + " " + mapping.Resource.GroupResource().String()
			if checked[what] {
				continue
			}
			checked[what] = true
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: verb, Group: mapping.Resource.Group, Resource: mapping.Resource.Resource,
					Namespace: o.GetNamespace(),
				},
			}}
			response, err := c.Kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review,
				metav1.CreateOptions{})
			if err != nil {
				return "", err
			}
			if !response.Status.Allowed {
				missing = append(missing, what)
			}
		}
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("missing permissions: %s", strings.Join(missing, ", "))
	}
	return "", nil
}

func otherController(ctx context.Context, c *Cluster) (string, error) {
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	if err := c.Client.List(ctx, &mutating); err != nil {
		return "", warn("webhook configurations cannot be listed: %v", err)
	}
	if err := c.Client.List(ctx, &validating); err != nil {
		return "", warn("webhook configurations cannot be listed: %v", err)
	}
	dialects, err := c.Configured(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, m := range mutating.Items {
		for _, w := range m.Webhooks {
			if m.Name != resourceName && handles(dialects, w.Rules, w.NamespaceSelector) {
				found = append(found, "MutatingWebhookConfiguration "+m.Name)
			}
		}
	}
	for _, v := range validating.Items {
		for _, w := range v.Webhooks {
			if v.Name != resourceName && handles(dialects, w.Rules, w.NamespaceSelector) {
				found = append(found, "ValidatingWebhookConfiguration "+v.Name)
			}
		}
	}
	if found = slices.Compact(found); len(found) > 0 {
		groups := ownGroups(dialects...)
		return "", fmt.Errorf("%s: handles objects of API group %s", strings.Join(found, ", "),
			strings.Join(groups, ", "))
	}
	return "", nil
}

// ownGroups lists the API groups of dialects, without those of which they read optional kinds only: others serve these.
func ownGroups(dialects ...dialect.Dialect) []string {
	var out []string
	for _, d := range dialects {
		optional := dialect.OptionalGroupKinds(d)
		for _, kind := range dialect.OwnGroupKinds(d) {
			if !slices.Contains(optional, kind) {
				out = append(out, kind.Group)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// handles reports whether a webhook is for objects of a dialect in namespaces that may be members.
func handles(dialects []dialect.Dialect, rules []admissionregistrationv1.RuleWithOperations,
	selector *metav1.LabelSelector) bool {
	return slices.ContainsFunc(dialects, func(d dialect.Dialect) bool {
		if other, is := d.(dialect.OtherControllers); is && other.LeavesAlone(selector) {
			return false
		}
		groups := ownGroups(d)
		return slices.ContainsFunc(rules, func(r admissionregistrationv1.RuleWithOperations) bool {
			return slices.ContainsFunc(r.APIGroups, func(g string) bool { return slices.Contains(groups, g) })
		})
	})
}

func compatible(ctx context.Context, c *Cluster) (string, error) {
	return definitions(ctx, c, func(want, have *apiextensionsv1.CustomResourceDefinition) string {
		if have == nil {
			return ""
		}
		for _, stored := range have.Status.StoredVersions {
			if !slices.ContainsFunc(want.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
				return v.Name == stored
			}) {
				return fmt.Sprintf("%s has stored objects of version %s; Anymesh supports version %s", want.Name,
					stored, want.Spec.Versions[0].Name)
			}
		}
		return ""
	})
}

func installed(ctx context.Context, c *Cluster) (string, error) {
	return definitions(ctx, c, definitionFault)
}

// definitionFault compares a CRD with the CRD in the cluster, nil if it does not exist.
func definitionFault(want, have *apiextensionsv1.CustomResourceDefinition) string {
	if have == nil {
		return want.Name + " is missing"
	}
	established := func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	}
	if !slices.ContainsFunc(have.Status.Conditions, established) {
		return want.Name + " is not established"
	}
	for _, v := range want.Spec.Versions {
		i := slices.IndexFunc(have.Spec.Versions, func(h apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return h.Name == v.Name && h.Served
		})
		if i < 0 {
			return want.Name + " does not serve version " + v.Name
		}
		if !equality.Semantic.DeepEqual(have.Spec.Versions[i].Schema, v.Schema) {
			return want.Name + " has a different schema"
		}
	}
	return ""
}

// definitions compares each CRD with the CRD in the cluster.
func definitions(ctx context.Context, c *Cluster,
	fault func(want, have *apiextensionsv1.CustomResourceDefinition) string) (string, error) {
	all, err := dialect.Definitions(c.Dialects)
	if err != nil {
		return "", err
	}
	var faults []string
	for _, want := range all {
		have := &apiextensionsv1.CustomResourceDefinition{}
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(want), have)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			have, err = nil, nil
		}
		if err != nil {
			return "", fmt.Errorf("CustomResourceDefinition %s: %w", want.Name, err)
		}
		if text := fault(want, have); text != "" {
			faults = append(faults, text)
		}
	}
	if len(faults) > 0 {
		return "", errors.New(strings.Join(faults, "; "))
	}
	return fmt.Sprintf("%d kinds", len(all)), nil
}
