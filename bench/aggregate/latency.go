package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// requests is the number of requests of a measurement of latency.
const requests = 300

// latencyResult has percentiles in milliseconds.
type latencyResult struct {
	GetP50   float64 `json:"get_p50_ms"`
	GetP99   float64 `json:"get_p99_ms"`
	PatchP50 float64 `json:"patch_p50_ms"`
	PatchP99 float64 `json:"patch_p99_ms"`
}

// latency measures GET and PATCH of a ConfigMap of the member that is a real API server: through the aggregator, and
// directly. Both connect through the relay of the sandbox.
func (b *bench) latency(ctx context.Context) error {
	b.result.Latency = map[string]latencyResult{}
	direct := target{b.api.process, "kube-apiserver", b.api.config.Host, b.api.config, false}
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bench"}, Data: map[string]string{"key": "value"}}
	if _, err := b.api.kube.CoreV1().ConfigMaps(system).Create(ctx, o, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, t := range []target{b.ours.encrypted(), direct} {
		config := rest.CopyConfig(t.config)
		config.QPS = -1
		c, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		maps := c.CoreV1().ConfigMaps(system)
		if err := eventually(ctx, "the ConfigMap is not there", func() error {
			_, err := maps.Get(ctx, o.Name, metav1.GetOptions{})
			return err
		}); err != nil {
			return err
		}
		var gets, patches []float64
		for n := range requests {
			begun := time.Now()
			want := fmt.Sprint(t.name, n)
			body := fmt.Appendf(nil, `{"data":{"key":%q}}`, want)
			got, err := maps.Patch(ctx, o.Name, types.MergePatchType, body, metav1.PatchOptions{})
			if err != nil {
				return err
			}
			patches = append(patches, time.Since(begun).Seconds()*1000)
			if got.Data["key"] != want {
				return fmt.Errorf("PATCH of the %s answers %q, not %q", t.name, got.Data["key"], want)
			}
			begun = time.Now()
			if got, err = maps.Get(ctx, o.Name, metav1.GetOptions{}); err != nil {
				return err
			}
			gets = append(gets, time.Since(begun).Seconds()*1000)
			if got.Data["key"] != want {
				return fmt.Errorf("GET of the %s after a write answers %q, not %q", t.name, got.Data["key"], want)
			}
		}
		b.result.Latency[t.name] = latencyResult{
			percentile(gets, 50), percentile(gets, 99), percentile(patches, 50), percentile(patches, 99),
		}
	}
	progress("GET and PATCH")
	return nil
}
