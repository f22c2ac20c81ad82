package identity

import (
	"fmt"
	"strconv"
)

// Limit is a bound on what those who want certificates may do.
type Limit struct {
	// Name of the field of HandlerOptions, or of the constant.
	Name string
	// Default, with its unit.
	Default string
	// Metric that counts when the limit is met, with the labels that select it.
	Metric string
	// Text says what is bounded, and what happens at the bound.
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
		{"MaxRequestSize", fmt.Sprintf("%d KiB", MaxRequestSize>>10), refused("TooLarge"), "Length of a certificate request. A longer one is not read."},
		{"SourcePerSecond", number(o.SourcePerSecond), refused(many), "Requests of one address each second, on average; of IPv6, of one /64. One more is sent away, to come back."},
		{"SourceBurst", strconv.Itoa(o.SourceBurst), refused(many), "Requests of one address at once, when it has not asked for a while."},
		{"PodPerSecond", number(o.PodPerSecond), refused(many), "Certificates of one pod each second, on average; four in a certificate's life, if that is more."},
		{"PodBurst", strconv.Itoa(o.PodBurst), refused(many), "Certificates of one pod at once, when it has not had any for a while."},
		{"InFlight", strconv.Itoa(o.InFlight), refused("Unavailable"), "Requests that are worked on at once. One more is sent away, to come back."},
	}
}
