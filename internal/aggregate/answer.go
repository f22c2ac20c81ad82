package aggregate

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// writeError answers with a Status.
func writeError(w http.ResponseWriter, err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	s := status.Status()
	s.Kind, s.APIVersion = "Status", "v1"
	if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
	}
	writeJSON(w, int(s.Code), s)
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
