package aggregate

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/aggregate/rewrite"
)

// writeError answers with a Status in JSON.
func writeError(w http.ResponseWriter, err error) {
	s := statusOf(w, err)
	writeJSON(w, int(s.Code), s)
}

// fail answers with a Status in the encoding that the client accepts.
func (c call) fail(w http.ResponseWriter, err error) {
	s := statusOf(w, err)
	c.answer(w, int(s.Code), s)
}

// acceptable returns 406 if the client accepts no format of the kind.
func (c call) acceptable() error {
	if c.format.form != formNone {
		return nil
	}
	return apierrors.NewGenericServerResponse(http.StatusNotAcceptable, c.info.Verb, c.resource().GroupResource(),
		c.info.Name, "the media types are application/json, and "+rewrite.Protobuf+" except for custom resources and tables",
		0, true)
}

// statusOf returns the Status of an error, and sets the header that belongs to it.
func statusOf(w http.ResponseWriter, err error) metav1.Status {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	s := status.Status()
	s.Kind, s.APIVersion = "Status", "v1"
	if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
	}
	return s
}

// answer writes a Status.
func (c call) answer(w http.ResponseWriter, code int, status metav1.Status) {
	if negotiate(c.Header.Values("Accept"), false, true).protobuf {
		if text, err := objectBody(status.GroupVersionKind(), &status); err == nil {
			w.Header().Set("Content-Type", rewrite.Protobuf)
			w.WriteHeader(code)
			_, _ = w.Write(text)
			return
		}
	}
	writeJSON(w, code, status)
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n'))
}

// clusterParameter pins a request to a cluster; clusterHeader does the same.
const (
	clusterParameter = "cluster"
	clusterHeader    = "X-Anymesh-Cluster"
)

// withoutCluster returns the query without the parameter that only the aggregator knows.
func withoutCluster(u *url.URL) string {
	query := u.Query()
	if !query.Has(clusterParameter) {
		return u.RawQuery
	}
	query.Del(clusterParameter)
	return query.Encode()
}
