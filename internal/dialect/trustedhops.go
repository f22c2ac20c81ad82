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
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || n > maxTrustedHops {
		return 0, fmt.Errorf("annotation %s is %q; set a number from 0 to %d", TrustedHopsAnnotation, text, maxTrustedHops)
	}
	return uint32(n), nil
}
