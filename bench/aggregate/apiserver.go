package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// system is the namespace of the objects that the benchmark itself needs.
const system = "kube-system"

// apiServer is a kube-apiserver with its etcd in one process. It has the union of the pods, and is the control plane of
// the aggregator.
type apiServer struct {
	process
	bin, name, dir string
	// config connects through the relay of the sandbox; direct connects in the network namespace of the server.
	config, direct *rest.Config
	kube           kubernetes.Interface
	// token is that of an administrator.
	token string
}

func startAPIServer(ctx context.Context, bin string) (*apiServer, error) {
	dir, err := os.MkdirTemp("", "anymesh-bench-")
	if err != nil {
		return nil, err
	}
	s := &apiServer{bin: bin, name: fmt.Sprintf("bench-%d", os.Getpid()), dir: dir}
	up := exec.CommandContext(ctx, filepath.Join(bin, "anymesh-sandbox"), "up", "--api-server-only", "--name", s.name, "--dir", dir)
	up.Stderr = os.Stderr
	if err := up.Run(); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return s, s.connect(ctx)
}

func (s *apiServer) kubeconfig() string { return filepath.Join(s.dir, "c1.kubeconfig") }

func (s *apiServer) connect(ctx context.Context) (err error) {
	if s.process, err = processWith("controlplane", s.dir); err != nil {
		return err
	}
	if s.config, err = clientcmd.BuildConfigFromFlags("", s.kubeconfig()); err != nil {
		return err
	}
	s.config.QPS, s.config.WarningHandler = -1, rest.NoWarnings{}
	if s.direct, err = clientcmd.BuildConfigFromFlags("", filepath.Join(s.dir, "c1.inside.kubeconfig")); err != nil {
		return err
	}
	s.direct.QPS, s.direct.Dial, s.direct.WarningHandler = -1, s.dial, rest.NoWarnings{}
	writer := rest.CopyConfig(s.direct)
	writer.ContentType, writer.UserAgent = "application/vnd.kubernetes.protobuf", "anymesh-bench"
	if s.kube, err = kubernetes.NewForConfig(writer); err != nil {
		return err
	}
	return s.makeToken(ctx)
}

// dial connects in the network namespace of the server, without the relay of the sandbox.
func (s *apiServer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	type result struct {
		net.Conn
		error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // The thread ends with the goroutine.
		space, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", s.pid))
		if err == nil {
			err = errors.Join(unix.Setns(int(space.Fd()), unix.CLONE_NEWNET), space.Close())
		}
		if err != nil {
			done <- result{nil, fmt.Errorf("network namespace of the API server: %w", err)}
			return
		}
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		done <- result{c, err}
	}()
	r := <-done
	return r.Conn, r.error
}

// makeToken creates an administrator.
func (s *apiServer) makeToken(ctx context.Context) error {
	meta := metav1.ObjectMeta{Name: "bench", Namespace: system}
	accounts := s.kube.CoreV1().ServiceAccounts(system)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := s.kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: meta.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: system}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	seconds := int64((24 * time.Hour).Seconds())
	review := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if review, err = accounts.CreateToken(ctx, meta.Name, review, metav1.CreateOptions{}); err != nil {
		return err
	}
	s.token = review.Status.Token
	return nil
}

func (s *apiServer) stop() {
	down := exec.Command(filepath.Join(s.bin, "anymesh-sandbox"), "down", "--name", s.name, "--dir", s.dir)
	down.Stderr = os.Stderr
	if err := down.Run(); err != nil {
		progress("stopping the sandbox: %v", err)
	}
	_ = os.RemoveAll(s.dir) // a temporary folder
}

// target is a server that clients compare.
type target struct {
	process
	name, url string
	config    *rest.Config
	// strict is true for the aggregator: no request may fail.
	strict bool
}

// client returns a client with connections of its own, without compression.
func (t target) client() (*http.Client, error) {
	config := rest.CopyConfig(t.config)
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true, DisableCompression: true, DialContext: config.Dial,
		WriteBufferSize: 4 << 10, ReadBufferSize: 16 << 10,
	}
	return &http.Client{Transport: withToken{transport, config.BearerToken}}, nil
}

// withToken adds a bearer token to requests.
type withToken struct {
	*http.Transport
	token string
}

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	return w.Transport.RoundTrip(r)
}
