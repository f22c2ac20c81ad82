package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/internal/objects/admission"
)

const reviewPath = "/mutate-v1-pod"

// unverified accepts every server: an attacker has no reason to verify.
var unverified = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above

// anonymous is a client with a connection per request, as of as many processes, unless it keeps them.
func anonymous(keep bool) *http.Client {
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: !keep, MaxIdleConnsPerHost: 100, TLSClientConfig: unverified,
	}}
}

// prepareReview reviews a small pod of a namespace that does not exist: such a review waits for the cache.
func prepareReview(options) (attempt, error) {
	return reviewer(anonymous(false), reviewOf("nowhere", "attacker", 0, 0)), nil
}

// prepareLargeReview is refused unread.
func prepareLargeReview(options) (attempt, error) {
	return reviewer(anonymous(false), reviewOf("nowhere", "attacker", 6<<20, 0)), nil
}

// prepareLargestReview is the largest that is evaluated. Its connections are kept, or it would be refused for their
// number most of the time.
func prepareLargestReview(o options) (attempt, error) {
	namespace, app, err := o.workloadNames()
	return reviewer(anonymous(true), reviewOf(namespace, app, admission.MaxBody-1<<10, 0)), err
}

// prepareManyValues has the most values that are evaluated: structures of up to 1 KiB each.
func prepareManyValues(o options) (attempt, error) {
	namespace, app, err := o.workloadNames()
	return reviewer(anonymous(true), reviewOf(namespace, app, 0, admission.MaxValues/2-32)), err
}

func (o options) workloadNames() (namespace, app string, err error) {
	namespace, app, ok := strings.Cut(o.workload, "/")
	if !ok {
		return "", "", fmt.Errorf("--workload %q: want NAMESPACE/APP", o.workload)
	}
	return namespace, app, nil
}

// reviewOf returns the review of a pod that is larger than padding, in bytes, and has a number of empty containers.
func reviewOf(namespace, app string, padding, containers int) []byte {
	all := []any{map[string]string{"name": "app", "image": "app"}}
	for range containers {
		all = append(all, map[string]string{})
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": map[string]any{
			"uid": "1", "operation": "CREATE", "namespace": namespace, "name": "attacker",
			"kind":     map[string]string{"version": "v1", "kind": "Pod"},
			"resource": map[string]string{"version": "v1", "resource": "pods"},
			"object": map[string]any{
				"apiVersion": "v1", "kind": "Pod",
				"metadata": map[string]any{
					"name": "attacker", "namespace": namespace, "labels": map[string]string{"app": app},
					"annotations": map[string]string{"padding": strings.Repeat("x", padding)},
				},
				"spec": map[string]any{"containers": all},
			},
		},
	})
	if err != nil {
		panic(err) // the value above can be encoded
	}
	return body
}

// reviewer posts a review. It is answered if it is evaluated, with whatever result.
func reviewer(client *http.Client, body []byte) attempt {
	return func(ctx context.Context, target string, t *tally) {
		post(ctx, client, "https://"+target+reviewPath, bytes.NewReader(body), "", t)
	}
}

var certificateClient = anonymous(false)

func requestCertificate(ctx context.Context, target string, t *tally) {
	post(ctx, certificateClient, "https://"+target+identity.SigningPath, strings.NewReader("no request"), "Bearer e30.e30.e30", t)
}

func post(ctx context.Context, client *http.Client, url string, body io.Reader, token string, t *tally) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		panic(err) // the target is checked
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	response, err := client.Do(r)
	if err != nil {
		return
	}
	t.connected.Add(1)
	if response.StatusCode == http.StatusOK {
		t.answered.Add(1)
	}
	_, _ = io.Copy(io.Discard, response.Body) // so that the connection can be used again
	_ = response.Body.Close()
}

// abortReview ends the connection in the middle of a review.
func abortReview(ctx context.Context, target string, t *tally) {
	conn, done := dial(ctx, target, t)
	defer done()
	if conn == nil {
		return
	}
	secure := tls.Client(conn, unverified)
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	// The attempt has ended in any case.
	_, _ = fmt.Fprintf(secure, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 2000\r\n\r\n%s",
		reviewPath, target, strings.Repeat(" ", 1000))
}

// abortHandshake ends the connection in the middle of a ClientHello.
func abortHandshake(ctx context.Context, target string, t *tally) {
	conn, done := dial(ctx, target, t)
	defer done()
	if conn == nil {
		return
	}
	_, _ = conn.Write([]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")) // the attempt has ended in any case
}
