package xds

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Every int and time.Duration of Options is a limit with a default, a text and an existing metric.
func TestLimitsListEveryOption(t *testing.T) {
	listed := map[string]Limit{}
	for _, l := range Limits() {
		if _, twice := listed[l.Name]; twice || l.Default == "" || l.Default == "0" || !strings.HasSuffix(l.Text, ".") {
			t.Errorf("%+v", l)
		}
		listed[l.Name] = l
	}
	var o Options
	o.setDefaults()
	fields := reflect.TypeFor[Options]()
	for i := range fields.NumField() {
		field := fields.Field(i)
		if field.Type != reflect.TypeFor[int]() && field.Type != reflect.TypeFor[time.Duration]() {
			continue
		}
		if _, ok := listed[field.Name]; !ok {
			t.Errorf("%s is missing in Limits", field.Name)
		}
		delete(listed, field.Name)
		if reflect.ValueOf(o).Field(i).IsZero() {
			t.Errorf("%s has no default", field.Name)
		}
	}
	for _, l := range transportLimits {
		delete(listed, l.Name)
	}
	if len(listed) > 0 {
		t.Errorf("no fields of Options: %v", listed)
	}
}

func TestLimitMetricsExist(t *testing.T) {
	reg := prometheus.NewRegistry()
	newMetrics(reg)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]bool{}
	for _, f := range families {
		series[f.GetName()] = true
		for _, s := range f.GetMetric() {
			for _, l := range s.GetLabel() {
				series[f.GetName()+"{"+l.GetName()+`="`+l.GetValue()+`"}`] = true
			}
		}
	}
	for _, l := range Limits() {
		if !series[l.Metric] {
			t.Errorf("%s: unknown metric %s", l.Name, l.Metric)
		}
	}
}
