package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apimachineryversion "k8s.io/apimachinery/pkg/version"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
)

// maxAnswer limits the answers of probes, in bytes.
const maxAnswer = 4 << 20

// connect builds the connections again if the Cluster or its Secrets changed.
func (f *Fleet) connect(ctx context.Context, c *connection, cluster *clusterv1.Cluster) error {
	if cluster.Spec.SyncMode == clusterv1.Pull { // These have no Secret, either.
		return errPull
	}
	if cluster.Spec.SecretRef == nil {
		return errors.New("spec.secretRef: the Secret with the token is required")
	}
	reader, err := f.secret(ctx, cluster.Spec.SecretRef)
	if err != nil {
		return fmt.Errorf("spec.secretRef: %w", err)
	}
	key := fmt.Sprint(cluster.UID, "/", cluster.Generation, "/", reader.UID, "/", reader.ResourceVersion)
	writer := reader
	if ref := cluster.Spec.ImpersonatorSecretRef; ref != nil {
		if writer, err = f.secret(ctx, ref); err != nil {
			return fmt.Errorf("spec.impersonatorSecretRef: %w", err)
		}
		key += fmt.Sprint("/", writer.UID, "/", writer.ResourceVersion)
	}
	if key == c.key {
		return nil
	}
	config, err := Config(cluster, reader, reader)
	if err != nil {
		return err
	}
	if c.member.Reader, err = NewEndpoint(config); err != nil {
		return err
	}
	c.member.Impersonator = nil
	if cluster.Spec.ImpersonatorSecretRef != nil {
		if config, err = Config(cluster, writer, reader); err != nil {
			return err
		}
		if c.member.Impersonator, err = NewEndpoint(config); err != nil {
			return err
		}
	}
	c.key = key
	return nil
}

// probe reads the version, the identity and the kinds of a cluster.
func (c *connection) probe(ctx context.Context, groupVersions []string) error {
	var info apimachineryversion.Info
	if err := c.get(ctx, "/version", &info); err != nil {
		return err
	}
	c.version = info.GitVersion
	var system metav1.PartialObjectMetadata
	if err := c.get(ctx, "/api/v1/namespaces/kube-system", &system); err != nil {
		return err
	}
	if system.UID == "" {
		return errors.New("namespace kube-system has no uid")
	}
	c.member.Identity = string(system.UID)
	resources := make(map[string]*metav1.APIResourceList, len(groupVersions))
	for _, gv := range groupVersions {
		list := &metav1.APIResourceList{}
		path := "/apis/" + gv
		if !strings.Contains(gv, "/") {
			path = "/api/" + gv
		}
		err := c.get(ctx, path, list)
		var status statusError
		if errors.As(err, &status) && status.code == http.StatusNotFound {
			continue
		}
		if err != nil {
			return err
		}
		resources[gv] = list
	}
	c.member.Resources = resources
	return nil
}

// unansweredError is a request without an answer.
type unansweredError struct {
	path string
	err  error
}

func (e unansweredError) Error() string { return fmt.Sprintf("GET %s: %v", e.path, e.err) }

func (e unansweredError) Unwrap() error { return e.err }

// statusError is an answer other than 200.
type statusError struct {
	path string
	code int
	body string
}

func (e statusError) Error() string {
	return fmt.Sprintf("GET %s: status %d: %.200s", e.path, e.code, e.body)
}

func (c *connection) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.member.Reader.URL.JoinPath(path).String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.member.Reader.Do(request)
	if err != nil {
		return unansweredError{path, err}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return unansweredError{path, err}
	}
	if response.StatusCode != http.StatusOK {
		return statusError{path, response.StatusCode, string(body)}
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}
