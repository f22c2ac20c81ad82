package native

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// restTimeout limits a request to a proxy.
	restTimeout = 10 * time.Second
	// maxRESTAnswer limits the answer of a proxy, in bytes: any pod with a container l7mp can send one.
	maxRESTAnswer = 8 << 20
	// maxRESTError limits the text of an error in findings, in bytes.
	maxRESTError = 300
)

// restClient sends requests to the REST API of one proxy.
type restClient struct {
	base string // with /api/v1/
	http *http.Client
}

// errRefused is the error of a request that the proxy refuses.
var errRefused = errors.New("refused")

// get reads a list of objects.
func (c restClient) get(ctx context.Context, into any, path ...string) error {
	body, err := c.do(ctx, http.MethodGet, nil, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s%s: %w", c.base, strings.Join(path, "/"), err)
	}
	return nil
}

// post adds an object. That it is there already is no error: another control plane may have made it.
func (c restClient) post(ctx context.Context, key string, object any, path ...string) error {
	text, err := json.Marshal(map[string]any{key: object})
	if err != nil {
		return err
	}
	_, err = c.do(ctx, http.MethodPost, text, path)
	if err != nil && errors.Is(err, errRefused) && strings.HasSuffix(err.Error(), " already defined") {
		return nil
	}
	return err
}

// remove deletes an object, and not what it refers to. That it is not there is no error.
func (c restClient) remove(ctx context.Context, path ...string) error {
	return c.delete(ctx, "", path)
}

// removeEndpoint deletes an endpoint. Its sessions get another one if their route retries, and end otherwise.
func (c restClient) removeEndpoint(ctx context.Context, name string) error {
	return c.delete(ctx, "?recursive=true", []string{"endpoints", name})
}

// delete deletes an object. That it is not there is no error.
func (c restClient) delete(ctx context.Context, query string, path []string) error {
	_, err := c.send(ctx, http.MethodDelete, nil, c.url(path)+query)
	if err != nil && errors.Is(err, errRefused) &&
		(strings.Contains(err.Error(), ": Unknown ") || strings.Contains(err.Error(), "Not Found")) {
		return nil
	}
	return err
}

func (c restClient) do(ctx context.Context, method string, body []byte, path []string) ([]byte, error) {
	return c.send(ctx, method, body, c.url(path))
}

func (c restClient) url(path []string) string {
	escaped := make([]string, len(path))
	for i, part := range path {
		escaped[i] = url.PathEscape(part) // names have slashes
	}
	return c.base + strings.Join(escaped, "/")
}

func (c restClient) send(ctx context.Context, method string, body []byte, to string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, restTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json") // l7mp compares it as it is
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxRESTAnswer))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w with status %d: %s", errRefused, response.StatusCode, restError(text))
	}
	return text, nil
}

// restError returns the text of the body of an error.
func restError(body []byte) string {
	var answer struct{ Content any }
	text := string(body)
	if json.Unmarshal(body, &answer) == nil && answer.Content != nil {
		text = fmt.Sprint(answer.Content)
	}
	if len(text) > maxRESTError {
		text = strings.ToValidUTF8(text[:maxRESTError], "")
	}
	return text
}
