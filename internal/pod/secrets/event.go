package secrets

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Component is the source of the events, and the reasons are those about a Secret that a gateway needs.
const (
	Component              = "anymesh-gateway"
	CertificateUnavailable = "CertificateUnavailable"
	CertificateServed      = "CertificateServed"
)

// reporter gets the problem of a Secret when it changes; an empty one if there is none any more.
type reporter func(namespace, name, problem string)

// events writes the problems of Secrets as events about them.
type events struct {
	client kubernetes.Interface
	log    *slog.Logger
}

// eventTimeout limits the time to write an event.
const eventTimeout = 10 * time.Second

// record writes an event. The pods of a gateway share the event about one problem.
func (e events) record(namespace, secret, problem string) {
	kind, reason, text := corev1.EventTypeWarning, CertificateUnavailable, problem
	if problem == "" {
		kind, reason, text = corev1.EventTypeNormal, CertificateServed, "the gateway has the certificate"
	}
	id := fnv.New64a()
	_, _ = fmt.Fprintf(id, "%s %s", reason, text)
	now := metav1.Now()
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%.200s.%x", secret, id.Sum64())},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: secret},
		Type:           kind, Reason: reason, Message: text, Source: corev1.EventSource{Component: Component},
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	_, err := e.client.CoreV1().Events(namespace).Create(ctx, event, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		patch := fmt.Sprintf(`{"lastTimestamp":%q}`, now.UTC().Format(time.RFC3339))
		_, err = e.client.CoreV1().Events(namespace).Patch(ctx, event.Name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{})
	}
	if err != nil {
		e.log.Warn("the event about a Secret is not written", "secret", namespace+"/"+secret, "error", err)
	}
}
