package e2e

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// checkTokenAfterDeletion checks that the token of a deleted pod is rejected.
func checkTokenAfterDeletion(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	signing, bearer := forward(t, 15010), token(t, pod, "anymesh")
	if _, code := sign(t, signing, bearer); code != http.StatusOK {
		t.Fatalf("signing: status %d", code)
	}
	run(t, "-n", "colors", "delete", "pod", pod.Name, "--wait=true", "--timeout=180s")
	if certificate, code := sign(t, signing, bearer); code != http.StatusUnauthorized && code != http.StatusForbidden ||
		len(certificate.Certificate) > 0 {
		t.Errorf("signing for a deleted pod: status %d", code)
	}
}

// caKeyLines returns the lines of the private keys in the Secret of the certificate authority.
func caKeyLines(t *testing.T) []string {
	t.Helper()
	secret, err := lab.kube.CoreV1().Secrets("anymesh-system").Get(t.Context(), "anymesh-ca", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for name, text := range secret.Data {
		for line := range strings.Lines(string(text)) {
			if strings.HasSuffix(name, ".key") && !strings.HasPrefix(line, "-----") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	if len(lines) == 0 {
		t.Fatal("the Secret contains no key")
	}
	return lines
}

// checkNoKeysDisclosed searches all logs and all debug server output for keys.
func checkNoKeysDisclosed(t *testing.T, keys []string) {
	t.Helper()
	outputs := map[string]string{
		"logs of the control planes": run(t, "-n", "anymesh-system", "logs", "-l", "app.kubernetes.io/name=anymesh",
			"--tail=-1"),
	}
	for _, pod := range podsOf(t, "colors", "") {
		outputs["logs of "+pod.Name] = run(t, "-n", "colors", "logs", pod.Name, "--all-containers", "--tail=-1")
	}
	debug := forward(t, 9091)
	for _, path := range []string{
		"/debug/identity", "/debug/model", "/debug/clients", "/debug/pprof/goroutine?debug=2",
		"/debug/pprof/heap?debug=1", "/debug/pprof/cmdline",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+debug+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		cancel()
		if err != nil || len(body) == 0 {
			t.Fatalf("%s: %d bytes, %v", path, len(body), err)
		}
		outputs[path] = string(body)
	}
	for where, text := range outputs {
		if strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("private key in %s", where)
		}
		for _, key := range keys {
			if strings.Contains(text, key) {
				t.Errorf("key of the certificate authority in %s", where)
			}
		}
	}
}
