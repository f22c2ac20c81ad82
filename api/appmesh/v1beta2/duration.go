package v1beta2

// DurationUnit is the unit of a Duration.
// +kubebuilder:validation:Enum=s;ms
type DurationUnit string

// The two units.
const (
	DurationSeconds      DurationUnit = "s"
	DurationMilliseconds DurationUnit = "ms"
)

// Duration is a length of time, value times unit. Zero means "no limit" where a limit is asked for.
type Duration struct {
	// Unit is s or ms.
	Unit DurationUnit `json:"unit"`
	// Value in that unit, 0 or more.
	// +kubebuilder:validation:Minimum=0
	Value int64 `json:"value"`
}
