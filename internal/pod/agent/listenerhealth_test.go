package agent

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"anymesh.dev/anymesh/internal/identity"
)

// A pod is not ready while the proxy reports a listener that fails its health check. An answer that is not complete
// changes nothing.
func TestListenersDecideReadiness(t *testing.T) {
	var answer atomic.Value
	gauges := func(values ...int) string {
		text := "# TYPE healthy gauge\n"
		for i, v := range values {
			text += fmt.Sprintf("healthy{listener=\"%d\"} %d\n", 8080+i, v)
		}
		return text
	}
	answer.Store(gauges())
	health := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := answer.Load().(string)
		if text == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(health.Close)
	p := newPod(t, "good", identity.HandlerOptions{})
	r := p.start(t, "0", "--health-url", health.URL)
	eventually(t, "the proxy starts", func() bool { return r.logged("started") })
	r.cmd.Process.Signal(syscall.SIGUSR1)
	eventually(t, "ready", func() bool { code, _ := httpGet(t, "http://"+p.listen+"/ready"); return code == 200 })
	for _, step := range []struct {
		answer string
		code   int
	}{
		{gauges(1, 1), 200}, {gauges(1, 0), 503}, {"", 503}, {"healthy{", 503}, {gauges(1, 1), 200}, {"", 200},
		{gauges(0), 503}, {gauges(), 200}, {"# TYPE failures counter\nfailures 0\n", 200},
	} {
		answer.Store(step.answer)
		code, text := httpGet(t, "http://"+p.listen+"/ready")
		if code != step.code {
			t.Errorf("after %q: got status %d (%s), want %d", step.answer, code, text, step.code)
		}
		if step.answer == gauges(1, 0) && !strings.Contains(text, `{listener="8081"}`) {
			t.Errorf("the text %q does not name the listener", text)
		}
	}
}
