package appmesh

import (
	"cmp"
	"fmt"
	"time"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// Ranges of the schema of health checks.
const (
	minCheckInterval, maxCheckInterval   = 5_000, 300_000 // ms
	minCheckTimeout, maxCheckTimeout     = 2_000, 60_000  // ms
	minCheckThreshold, maxCheckThreshold = 2, 10
)

// setHealth adds the health check and the outlier detection of a listener to the destination of its clients.
func (t *nodeRule) setHealth(d *model.Destination, l api.Listener) {
	d.HealthCheck = t.healthCheck(d, l.HealthCheck)
	d.OutlierDetection = t.outlierDetection(d, l.OutlierDetection)
	if d.HealthCheck != nil || d.OutlierDetection != nil {
		d.PanicThreshold = defaultPanicThreshold
		if own := t.settings.PanicThreshold; own != nil {
			d.PanicThreshold = *own
		}
	}
}

// healthCheck returns the health check of a destination. It returns nil if there is none, or an invalid one.
func (t *nodeRule) healthCheck(d *model.Destination, h *api.HealthCheck) *model.HealthCheck {
	if h == nil {
		return nil
	}
	at := d.Origin.At(d.Origin.Path + ".healthCheck")
	protocol := model.Protocol(h.Protocol)
	valid := h.Port == nil || uint16(*h.Port) == d.Port // checkLimits reports another port
	valid = t.checkRanges(at, h) && valid
	switch {
	case protocol == model.GRPC && !d.Protocol.Multiplexed():
		valid = false
		t.report(at.At(at.Path+".protocol"), model.CodeInvalidField,
			"a grpc check needs a listener with protocol grpc or http2, and that of the listener is %s", d.Protocol)
	case protocol != model.HTTP && protocol != model.HTTP2 && protocol != model.GRPC && protocol != model.TCP:
		valid = false
		t.report(at.At(at.Path+".protocol"), model.CodeInvalidField, "%q is not one of grpc, http, http2 and tcp", h.Protocol)
	}
	if !valid {
		return nil
	}
	return newHealthCheck(h, fmt.Sprintf("%s:%d", d.Discovery.ServerName(), d.Port))
}

// checkRanges reports numbers of a health check that are not in the range of the schema, and false if there are any.
func (t *translator) checkRanges(at model.Origin, h *api.HealthCheck) bool {
	valid := true
	for _, f := range []struct {
		field           string
		value, min, max int64
	}{
		{"intervalMillis", h.IntervalMillis, minCheckInterval, maxCheckInterval},
		{"timeoutMillis", h.TimeoutMillis, minCheckTimeout, maxCheckTimeout},
		{"healthyThreshold", h.HealthyThreshold, minCheckThreshold, maxCheckThreshold},
		{"unhealthyThreshold", h.UnhealthyThreshold, minCheckThreshold, maxCheckThreshold},
	} {
		if f.value < f.min || f.value > f.max {
			valid = false
			t.report(at.At(at.Path+"."+f.field), model.CodeInvalidField, "%d is not between %d and %d", f.value, f.min, f.max)
		}
	}
	return valid
}

// newHealthCheck returns a valid health check whose requests are for a host.
func newHealthCheck(h *api.HealthCheck, host string) *model.HealthCheck {
	out := &model.HealthCheck{
		Protocol: model.Protocol(h.Protocol), Interval: milliseconds(h.IntervalMillis),
		Timeout:          milliseconds(h.TimeoutMillis),
		HealthyThreshold: uint32(h.HealthyThreshold), UnhealthyThreshold: uint32(h.UnhealthyThreshold),
	}
	if out.Protocol != model.TCP {
		out.Host = host
	}
	if out.Protocol == model.HTTP || out.Protocol == model.HTTP2 {
		out.Path = cmp.Or(deref(h.Path), "/")
	}
	return out
}

// outlierDetection returns the outlier detection of a destination. It returns nil if there is none, or an invalid one.
func (t *nodeRule) outlierDetection(d *model.Destination, o *api.OutlierDetection) *model.OutlierDetection {
	if o == nil {
		return nil
	}
	at := d.Origin.At(d.Origin.Path + ".outlierDetection")
	if d.Discovery.Kind == model.DiscoverDNS {
		t.warn(at, model.CodeInvalidField, "has no effect: with responseType LOADBALANCER, clients know one endpoint only; "+
			"use ENDPOINTS or awsCloudMap")
		return nil
	}
	valid := true
	positive := func(field string, n int64) {
		if n < 1 {
			valid = false
			t.report(at.At(at.Path+"."+field), model.CodeInvalidField, "%d is less than 1", n)
		}
	}
	positive("maxServerErrors", o.MaxServerErrors)
	positive("interval.value", o.Interval.Value)
	positive("baseEjectionDuration.value", o.BaseEjectionDuration.Value)
	if n := o.MaxEjectionPercent; n < 0 || n > 100 {
		valid = false
		t.report(at.At(at.Path+".maxEjectionPercent"), model.CodeInvalidField, "%d is not between 0 and 100", n)
	}
	if !valid {
		return nil
	}
	return &model.OutlierDetection{
		ServerErrors: limitOf(o.MaxServerErrors), Interval: duration(o.Interval),
		BaseEjection: duration(o.BaseEjectionDuration), MaxEjectedPercent: uint32(o.MaxEjectionPercent),
	}
}

func milliseconds(n int64) model.Duration { return model.Duration(time.Duration(n) * time.Millisecond) }
