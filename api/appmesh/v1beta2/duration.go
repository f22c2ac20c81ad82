package v1beta2

// DurationUnit is the unit of a Duration.
// +kubebuilder:validation:Enum=s;ms
type DurationUnit string

// Units of a Duration.
const (
	DurationSeconds      DurationUnit = "s"
	DurationMilliseconds DurationUnit = "ms"
)

// Duration is a length of time: value times unit. As a timeout, zero means no limit.
type Duration struct {
	// Unit is s (seconds) or ms (milliseconds).
	Unit DurationUnit `json:"unit"`
	// Value is the number of units, 0 or more.
	// +kubebuilder:validation:Minimum=0
	Value int64 `json:"value"`
}
