package osm

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

func splitUp(o object, from int) error {
	s := spec(o)
	if matches := kept(o, keptMatches); from <= 2 && matches != nil && s["matches"] == nil {
		s["matches"] = matches
	}
	if from > 1 {
		return nil
	}
	backends := items(s["backends"])
	weights, factor, fractions := make([]resource.Quantity, len(backends)), int64(1), object{}
	for i, b := range backends {
		if b["weight"] == nil {
			continue
		}
		text := strings.Trim(fmt.Sprint(b["weight"]), `"`)
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return fmt.Errorf("spec.backends[%d].weight: %q is not a quantity", i, text)
		}
		if weights[i] = q; q.MilliValue()%1000 != 0 {
			factor = 1000
		}
	}
	for i, b := range backends {
		if b["weight"] == nil {
			continue
		}
		name, _ := b["service"].(string)
		whole := weights[i].MilliValue() * factor / 1000
		if strconv.FormatInt(whole, 10) != fmt.Sprint(b["weight"]) {
			fractions[name] = object{"from": b["weight"], "to": whole}
		}
		b["weight"] = whole
	}
	if len(fractions) > 0 {
		keep(o, keptWeights, fractions)
	}
	return nil
}

func splitDown(o object, to int) {
	s := spec(o)
	if matches, is := s["matches"]; is && to <= 2 {
		keep(o, keptMatches, matches)
		delete(s, "matches")
	}
	if to > 1 {
		return
	}
	fractions, _ := kept(o, keptWeights).(object)
	for _, b := range items(s["backends"]) {
		name, _ := b["service"].(string)
		if was, is := fractions[name].(object); is && fmt.Sprint(was["to"]) == fmt.Sprint(b["weight"]) {
			b["weight"] = was["from"]
		}
	}
}
