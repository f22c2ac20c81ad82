package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
)

// Names of the objects that a member cluster gets, and of the namespace with the Secrets in the control plane.
const (
	memberNamespace = "anymesh-member"
	readerName      = "anymesh-member-reader"
	impersonator    = "anymesh-member-impersonator"
	// SecretNamespace is the namespace of the control plane with the Secrets of Clusters.
	SecretNamespace = "anymesh-clusters"
)

// namespaceTimeout limits the wait for the end of a namespace that is being deleted.
const namespaceTimeout = 2 * time.Minute

// tokenTimeout limits the wait for the token of a service account.
const tokenTimeout = 30 * time.Second

// Join creates two service accounts in a member cluster, one that reads and one that impersonates, and the Cluster with
// their tokens in the control plane. It can be repeated.
func Join(
	ctx context.Context, control, member client.Client, config *rest.Config, name string, labels map[string]string,
) error {
	system := &corev1.Namespace{}
	if err := member.Get(ctx, client.ObjectKey{Name: "kube-system"}, system); err != nil {
		return fmt.Errorf("identity of cluster %s: %w", name, err)
	}
	if err := createNamespace(ctx, member, memberNamespace); err != nil {
		return err
	}
	if err := createNamespace(ctx, control, SecretNamespace); err != nil {
		return err
	}
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: clusterv1.ClusterSpec{
			ID: string(system.UID), SyncMode: clusterv1.Push, APIEndpoint: config.Host,
			SecretRef:                   &clusterv1.LocalSecretReference{Namespace: SecretNamespace, Name: name},
			ImpersonatorSecretRef:       &clusterv1.LocalSecretReference{Namespace: SecretNamespace, Name: name + "-impersonator"},
			InsecureSkipTLSVerification: config.Insecure,
		},
	}
	for account, target := range map[string]string{readerName: name, impersonator: name + "-impersonator"} {
		token, err := serviceAccount(ctx, member, account, rulesOf(account))
		if err != nil {
			return fmt.Errorf("cluster %s: %w", name, err)
		}
		ca := config.CAData
		if len(ca) == 0 {
			ca = token.Data[corev1.ServiceAccountRootCAKey]
		}
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: SecretNamespace, Name: target},
			Data: map[string][]byte{
				clusterv1.SecretTokenKey: token.Data[corev1.ServiceAccountTokenKey], clusterv1.SecretCADataKey: ca,
			},
		}
		if err := replace(ctx, control, secret, func(to *corev1.Secret) { to.Data = secret.Data }); err != nil {
			return err
		}
	}
	return replace(ctx, control, cluster, func(to *clusterv1.Cluster) {
		to.Labels = cluster.Labels
		to.Spec.ID, to.Spec.SyncMode, to.Spec.APIEndpoint = cluster.Spec.ID, clusterv1.Push, cluster.Spec.APIEndpoint
		to.Spec.SecretRef, to.Spec.ImpersonatorSecretRef = cluster.Spec.SecretRef, cluster.Spec.ImpersonatorSecretRef
		to.Spec.InsecureSkipTLSVerification = cluster.Spec.InsecureSkipTLSVerification
	})
}

// rulesOf returns the permissions of a service account.
func rulesOf(account string) []rbacv1.PolicyRule {
	if account == impersonator {
		return []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"users", "groups", "serviceaccounts"}, Verbs: []string{"impersonate"}},
			// uids and userextras. RBAC has no pattern for all keys of userextras.
			{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"impersonate"}},
		}
	}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
		{NonResourceURLs: []string{"*"}, Verbs: []string{"get"}},
	}
}

// serviceAccount creates a service account with permissions, and returns its token.
func serviceAccount(
	ctx context.Context, member client.Client, name string, rules []rbacv1.PolicyRule,
) (*corev1.Secret, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: memberNamespace, Name: name}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: memberNamespace, Name: name}},
	}
	token := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: memberNamespace, Name: name,
			Annotations: map[string]string{corev1.ServiceAccountNameKey: name},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
	if err := errors.Join(create(ctx, member, account), create(ctx, member, binding), create(ctx, member, token),
		replace(ctx, member, role, func(to *rbacv1.ClusterRole) { to.Rules = rules })); err != nil {
		return nil, err
	}
	check := func(ctx context.Context) (bool, error) {
		err := member.Get(ctx, client.ObjectKeyFromObject(token), token)
		return len(token.Data[corev1.ServiceAccountTokenKey]) > 0, err
	}
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, tokenTimeout, true, check); err != nil {
		return nil, fmt.Errorf("secret %s/%s gets no token: %w", memberNamespace, name, err)
	}
	return token, nil
}

func create(ctx context.Context, kube client.Client, o client.Object) error {
	if err := kube.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %T %s: %w", o, o.GetName(), err)
	}
	return nil
}

// createNamespace creates a namespace. One that is being deleted, as after Leave, has to be gone before.
func createNamespace(ctx context.Context, kube client.Client, name string) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, namespaceTimeout, true,
		func(ctx context.Context) (bool, error) {
			o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if err := create(ctx, kube, o); err != nil {
				return false, err
			}
			err := kube.Get(ctx, client.ObjectKeyFromObject(o), o)
			return err == nil && o.DeletionTimestamp == nil, client.IgnoreNotFound(err)
		})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("namespace %s is being deleted for more than %s; its finalizers, and the condition in its status, say why",
			name, namespaceTimeout)
	}
	return err
}

// replace creates an object, or changes the existing one.
func replace[O client.Object](ctx context.Context, kube client.Client, o O, change func(O)) error {
	err := kube.Create(ctx, o.DeepCopyObject().(client.Object))
	if apierrors.IsAlreadyExists(err) {
		existing := o.DeepCopyObject().(O)
		if err = kube.Get(ctx, client.ObjectKeyFromObject(o), existing); err == nil {
			change(existing)
			err = kube.Update(ctx, existing)
		}
	}
	if err != nil {
		return fmt.Errorf("writing %T %s: %w", o, o.GetName(), err)
	}
	return nil
}

// Leave deletes the Cluster and its Secrets in the control plane, and, with a client, the objects of Join in the
// member. It reports whether there was a Cluster.
func Leave(ctx context.Context, control, member client.Client, name string) (was bool, err error) {
	err = control.Delete(ctx, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("deleting Cluster %s: %w", name, err)
	}
	return err == nil, leave(ctx, control, member, name)
}

// leave deletes what Join creates besides the Cluster.
func leave(ctx context.Context, control, member client.Client, name string) error {
	gone := []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: SecretNamespace, Name: name}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: SecretNamespace, Name: name + "-impersonator"}},
	}
	if err := remove(ctx, control, gone...); err != nil || member == nil {
		return err
	}
	gone = []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: memberNamespace}}}
	for _, account := range []string{readerName, impersonator} {
		gone = append(gone, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: account}},
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: account}})
	}
	return remove(ctx, member, gone...)
}

func remove(ctx context.Context, kube client.Client, all ...client.Object) error {
	for _, o := range all {
		if err := kube.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %T %s: %w", o, o.GetName(), err)
		}
	}
	return nil
}
