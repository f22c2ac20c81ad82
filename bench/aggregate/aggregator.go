package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
)

// control is the member cluster that is the control plane itself. It has the objects that clients write.
const control = "control"

// aggregator is the program that is measured.
type aggregator struct {
	process
	api *apiServer
	// Addresses.
	plaintext, metrics, debug string
	// kube writes Clusters and Secrets of the control plane, config is for the aggregator.
	kube    client.Client
	config  *rest.Config
	command *exec.Cmd
	log     bytes.Buffer
}

func startAggregator(ctx context.Context, api *apiServer, flags ...string) (*aggregator, error) {
	a := &aggregator{api: api}
	var address string
	if err := freeAddresses(&address, &a.plaintext, &a.metrics, &a.debug); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	err := errors.Join(corev1.AddToScheme(scheme), clusterv1.AddToScheme(scheme), searchv1.AddStorageToScheme(scheme))
	if err != nil {
		return nil, err
	}
	if a.kube, err = client.New(api.config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(api.dir, "aggregator.kubeconfig")
	_ = os.Remove(kubeconfig) // it may not exist
	a.command = exec.Command(filepath.Join(api.bin, "anymesh"), append([]string{"aggregator",
		"--kubeconfig", api.kubeconfig(), "--address", address, "--plaintext-address", a.plaintext,
		"--metrics-address", a.metrics, "--debug-address", a.debug, "--probe-interval", "1s",
		"--write-kubeconfig", kubeconfig}, flags...)...)
	a.command.Stderr = &a.log
	if err := a.command.Start(); err != nil {
		return nil, err
	}
	a.process = process{a.command.Process.Pid}
	err = eventually(ctx, "aggregator does not answer", func() error {
		if _, err := os.Stat(kubeconfig); err != nil {
			return err
		}
		if a.config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
			return err
		}
		a.config.QPS = -1
		return a.ready(ctx)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, a.log.String()), a.stop())
	}
	return a, nil
}

// ready returns an error if /readyz is not 200.
func (a *aggregator) ready(ctx context.Context) error {
	_, err := fetch(ctx, http.DefaultClient, "http://"+a.plaintext+"/readyz")
	return err
}

func (a *aggregator) stop() error {
	_ = a.command.Process.Signal(os.Interrupt) // it may have exited
	if err := a.command.Wait(); err != nil {
		return fmt.Errorf("aggregator: %w\n%s", err, a.log.String())
	}
	return nil
}

// encrypted is the address with TLS, unencrypted the one without.
func (a *aggregator) encrypted() target {
	return target{a.process, "aggregator", a.config.Host, a.config, true}
}

func (a *aggregator) unencrypted() target {
	host := "http://" + a.plaintext
	config := &rest.Config{Host: host, BearerToken: a.api.token}
	return target{a.process, "aggregator without TLS", host, config, true}
}

// join makes a virtual cluster a member.
func (a *aggregator) join(ctx context.Context, m *member) error {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.server.Certificate().Raw})
	return a.joinAt(ctx, m.name, m.server.URL, "token-of-"+m.name, ca)
}

// joinControl makes the control plane a member.
func (a *aggregator) joinControl(ctx context.Context) error {
	config := rest.CopyConfig(a.api.config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return err
	}
	return a.joinAt(ctx, control, config.Host, a.api.token, config.CAData)
}

func (a *aggregator) joinAt(ctx context.Context, name, url, token string, ca []byte) error {
	meta := metav1.ObjectMeta{Name: name, Namespace: system}
	ref := &clusterv1.LocalSecretReference{Namespace: system, Name: name}
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{
			clusterv1.SecretTokenKey: []byte(token), clusterv1.SecretCADataKey: ca,
		}},
		&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ClusterSpec{
			SyncMode: clusterv1.Push, APIEndpoint: url, SecretRef: ref, ImpersonatorSecretRef: ref,
		}},
	} {
		if err := a.kube.Create(ctx, o); err != nil {
			return fmt.Errorf("cluster %s: %w", name, err)
		}
	}
	return nil
}

// leave removes a member.
func (a *aggregator) leave(ctx context.Context, name string) error {
	meta := metav1.ObjectMeta{Name: name, Namespace: system}
	return errors.Join(a.kube.Delete(ctx, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}),
		a.kube.Delete(ctx, &corev1.Secret{ObjectMeta: meta}))
}

// register caches the pods of the virtual clusters, and the ConfigMaps of the control plane.
func (a *aggregator) register(ctx context.Context) error {
	for name, spec := range map[string]searchv1.ResourceRegistrySpec{
		"pods": {
			TargetCluster:     searchv1.ClusterAffinity{ExcludeClusters: []string{control}},
			ResourceSelectors: []searchv1.ResourceSelector{{APIVersion: "v1", Kind: "Pod"}},
		},
		"configmaps": {
			TargetCluster:     searchv1.ClusterAffinity{ClusterNames: []string{control}},
			ResourceSelectors: []searchv1.ResourceSelector{{APIVersion: "v1", Kind: "ConfigMap", Namespace: system}},
		},
	} {
		r := &searchv1.ResourceRegistry{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
		r.SetGroupVersionKind(searchv1.StorageGroupVersion.WithKind("ResourceRegistry"))
		if err := a.kube.Create(ctx, r); err != nil {
			return fmt.Errorf("registry %s: %w", name, err)
		}
	}
	return nil
}

// await waits until the aggregator has a number of pods, and all kinds are listed.
func (a *aggregator) await(ctx context.Context, pods int) error {
	return eventually(ctx, fmt.Sprintf("the aggregator does not have %d pods", pods), func() error {
		if err := a.ready(ctx); err != nil {
			return err
		}
		text, err := fetch(ctx, http.DefaultClient, "http://"+a.metrics+"/metrics")
		if err != nil {
			return err
		}
		total := 0.0
		for line := range strings.SplitSeq(string(text), "\n") {
			if strings.HasPrefix(line, "anymesh_aggregate_objects{") && strings.Contains(line, `resource="pods"`) {
				var value float64
				if err := json.Unmarshal([]byte(line[strings.LastIndexByte(line, ' ')+1:]), &value); err != nil {
					return err
				}
				total += value
			}
		}
		if total != float64(pods) {
			return fmt.Errorf("it has %.0f", total)
		}
		return nil
	})
}

// freeAddresses sets unused addresses.
func freeAddresses(addresses ...*string) error {
	for _, address := range addresses {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		*address = l.Addr().String()
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// eventually calls f until it succeeds, for at most five minutes.
func eventually(ctx context.Context, what string, f func() error) error {
	return within(ctx, 5*time.Minute, what, f)
}

// within calls f until it succeeds, for a limited time.
func within(ctx context.Context, limit time.Duration, what string, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		begun := time.Now()
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, err)
		// The servers need the CPU.
		case <-time.After(max(5*time.Millisecond, 4*time.Since(begun))):
		}
	}
}

// unregister removes the registries.
func (a *aggregator) unregister(ctx context.Context) error {
	var all error
	for _, name := range []string{"pods", "configmaps"} {
		r := &searchv1.ResourceRegistry{ObjectMeta: metav1.ObjectMeta{Name: name}}
		all = errors.Join(all, a.kube.Delete(ctx, r))
	}
	return all
}
