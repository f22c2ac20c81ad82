package dialect

import (
	"fmt"
	"strconv"
)

// TrustedHopsAnnotation on the object of a gateway is the number of proxies in front of it that are trusted to set
// X-Forwarded-For and X-Forwarded-Proto, from 0 to maxTrustedHops. See model.Workload.
const TrustedHopsAnnotation = "anymesh.dev/trusted-hops"

// maxTrustedHops is the largest number of trusted proxies.
const maxTrustedHops = 16

// TrustedHops returns the number in the annotations of the object of a gateway; 0 without an annotation.
func TrustedHops(annotations map[string]string) (uint32, error) {
	text, set := annotations[TrustedHopsAnnotation]
	if !set {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("annotation %s is %q; set a number from 0 to %d", TrustedHopsAnnotation, text, maxTrustedHops)
	}
	if err := CheckTrustedHops(uint32(n)); err != nil {
		return 0, fmt.Errorf("annotation %s %w", TrustedHopsAnnotation, err)
	}
	return uint32(n), nil
}

// CheckTrustedHops returns an error for a number that is too large.
func CheckTrustedHops(n uint32) error {
	if n > maxTrustedHops {
		return fmt.Errorf("is %d; set a number from 0 to %d", n, maxTrustedHops)
	}
	return nil
}
