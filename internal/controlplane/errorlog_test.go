package controlplane

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestThrottleErrors(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0).Add(time.Hour)
	h := ThrottleErrors(slog.NewTextHandler(&out, nil)).(throttledErrors)
	h.throttle.now = func() time.Time { return now }
	log := slog.New(h)
	for range 5 {
		log.With("request", 1).Error("cut off", "error", errors.New("EOF"))
	}
	log.Warn("not verified")
	log.Warn("not verified")
	log.Info("cut off")
	now = now.Add(errorLogInterval)
	log.Error("cut off")
	var got []string
	for line := range strings.Lines(out.String()) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), " level=")
		got = append(got, text)
	}
	want := `ERROR msg="cut off" request=1 error=EOF
WARN msg="not verified"
INFO msg="cut off"
ERROR msg="cut off" suppressed=4`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

func TestConnectionErrorsAreCounted(t *testing.T) {
	var out bytes.Buffer
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "x"})
	log := connectionErrors(slog.New(slog.NewTextHandler(&out, nil)), "webhooks", counter)
	for range 3 {
		log.Print("http: TLS handshake error from 10.0.0.1:4711: EOF")
	}
	if n := testutil.ToFloat64(counter); n != 3 || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("counted %v, logged\n%s", n, out.String())
	}
}
