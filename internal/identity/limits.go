package identity

import (
	"fmt"
	"strconv"
)

// Limit is a limit of the signing endpoint.
type Limit struct {
	// Name is the field of HandlerOptions, or the constant.
	Name string
	// Default is the default value with its unit.
	Default string
	// Metric is the series that counts events in which the limit was exceeded.
	Metric string
	// Text describes what is limited, and the effect of exceeding the limit.
	Text string
}

// Limits lists the limits of the signing endpoint, in the order of HandlerOptions.
func Limits() []Limit {
	var o HandlerOptions
	o.setDefaults()
	number := func(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }
	refused := func(code string) string { return `anymesh_identity_refused_total{reason="` + code + `"}` }
	const many = "TooManyRequests"
	return []Limit{
		{
			"MaxRequestSize", fmt.Sprintf("%d KiB", MaxRequestSize>>10), refused("TooLarge"),
			"Length of a certificate request. A longer request gets status 413.",
		},
		{"SourceRequestsPerSecond", number(o.SourceRequestsPerSecond), refused(many), "Average number of requests per second from one address. A further request gets status 429."},
		{
			"SourceBurst", strconv.Itoa(o.SourceBurst), refused(many),
			"Burst of requests from one address, beyond the average.",
		},
		{
			"PodCertificatesPerSecond", number(o.PodCertificatesPerSecond), refused(many),
			"Average number of certificates per second for one pod. If that is more, four per certificate lifetime.",
		},
		{"PodBurst", strconv.Itoa(o.PodBurst), refused(many), "Burst of certificates for one pod, beyond the average."},
		{
			"AccountCertificatesPerSecond", number(o.AccountCertificatesPerSecond), refused(many),
			"Average number of certificates per second for one service account.",
		},
		{
			"AccountBurst", strconv.Itoa(o.AccountBurst), refused(many),
			"Burst of certificates for one service account, beyond the average.",
		},
		{
			"MaxSources", strconv.Itoa(MaxSources), refused(many),
			"Addresses, pods and service accounts, each, whose rate is known. With a further one, the least recently used is forgotten, and has its burst again. That is not counted.",
		},
		{
			"ReadTimeout", ReadTimeout.String(), refused("InvalidRequest"),
			"Time to receive a certificate request. Then it gets status 400.",
		},
		{
			"MaxTokenSize", fmt.Sprintf("%d KiB", MaxTokenSize>>10), refused(string(TokenMissing)),
			"Length of a bearer token. A longer one gets status 401, and is not sent to the API server.",
		},
		{
			"MaxInFlight", strconv.Itoa(o.MaxInFlight), refused("Unavailable"),
			"Concurrent requests whose body is read. A further request gets status 503.",
		},
	}
}
