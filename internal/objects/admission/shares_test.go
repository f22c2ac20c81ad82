package admission

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// post sends a review of about a size from an address, and returns the status.
func post(h http.Handler, from string, size int) int {
	body := `{"apiVersion":"admission.k8s.io/v1","x":"` + strings.Repeat("x", size) + `"}`
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.RemoteAddr = from
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

func isServer(a netip.Addr) bool { return a == netip.MustParseAddr("10.0.0.9") }

// One address cannot fill the memory with reviews, and the reviews of others are still handled.
func TestBodiesPerSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Guard(http.NotFoundHandler(), nil, prometheus.NewRegistry())
		slow, end := io.Pipe() // announces a body, and does not send it
		go func() {
			r := httptest.NewRequest(http.MethodPost, "/", slow)
			r.RemoteAddr, r.ContentLength = "10.0.0.1:1", MaxBody
			g.ServeHTTP(httptest.NewRecorder(), r)
		}()
		synctest.Wait()
		if got := post(g, "10.0.0.1:2", 2<<20); got != http.StatusTooManyRequests {
			t.Errorf("a second large review of the address: status %d, want 429", got)
		}
		if got := post(g, "10.0.0.2:1", 2<<20); got != http.StatusNotFound {
			t.Errorf("another address: status %d", got)
		}
		end.CloseWithError(io.ErrUnexpectedEOF)
		synctest.Wait()
		time.Sleep(5 * time.Second) // see TestBytesPerSecond
		if got := post(g, "10.0.0.1:2", 2<<20); got != http.StatusNotFound {
			t.Errorf("afterwards: status %d", got)
		}
	})
}

// The bodies of one address, and of all, have a limit per second. Those of API servers have none.
func TestBytesPerSecond(t *testing.T) {
	for name, c := range map[string]struct {
		from          []string
		size          int
		average, most int // 0 for no limit
	}{
		"large, one address":    {[]string{"10.0.0.1:1"}, 1 << 20, MaxBytesPerSecondPerSource, MaxBytesBurstPerSource},
		"large, four addresses": {[]string{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1", "[2001:db8::1]:1"}, 1 << 20, MaxBytesPerSecond, MaxBytesBurst},
		"small, one address":    {[]string{"10.0.0.1:1"}, 10 << 10, 0, 0},
		"large, an API server":  {[]string{"10.0.0.9:1"}, 1 << 20, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, served := Guard(http.NotFoundHandler(), isServer, prometheus.NewRegistry()), 0
				begin := time.Now()
				const reviews = 40
				for i := range reviews {
					if post(g, c.from[i%len(c.from)], c.size) == http.StatusNotFound {
						served++
					}
				}
				limit := c.most + int(float64(c.average)*time.Since(begin).Seconds())
				switch {
				case c.most == 0 && served < reviews:
					t.Errorf("%d of %d are served", served, reviews)
				case c.most > 0 && (served*c.size > limit || served*c.size < c.most/2):
					t.Errorf("%d bytes are served in %v, want at most %d", served*c.size, time.Since(begin), limit)
				}
			})
		})
	}
}

// The evaluation of others takes no more than a part of the time, however long one takes. That of API servers has no
// such limit.
func TestTimePerSecond(t *testing.T) {
	for name, c := range map[string]struct {
		from          []string
		average, most time.Duration // 0 for no limit
	}{
		"one address":   {[]string{"10.0.0.1:1"}, MaxTimePerSecondPerSource, MaxTimeBurstPerSource},
		"two addresses": {[]string{"10.0.0.1:1", "10.0.0.2:1"}, MaxTimePerSecond, MaxTimeBurst},
		"an API server": {[]string{"10.0.0.9:1"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const one, reviews = 100 * time.Millisecond, 60
				evaluate := func(http.ResponseWriter, *http.Request) { time.Sleep(one) }
				g := Guard(http.HandlerFunc(evaluate), isServer, prometheus.NewRegistry())
				begin, served := time.Now(), 0
				for i := range reviews {
					if post(g, c.from[i%len(c.from)], 1000) == http.StatusOK {
						served++
					}
				}
				used, limit := time.Duration(served)*one, c.most+time.Duration(c.average.Seconds()*float64(time.Since(begin)))+one
				switch {
				case c.most == 0 && served < reviews:
					t.Errorf("%d of %d are served", served, reviews)
				case c.most > 0 && (used > limit || used < c.most):
					t.Errorf("%v of %v are used, want %v to %v", used, time.Since(begin), c.most, limit)
				}
			})
		})
	}
}

// Whatever others do, the reviews of API servers are handled: each limit of others is reached, none of API servers.
func TestOthersCannotUseShareOfServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := make(chan struct{})
		g := Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.RemoteAddr != "10.0.0.9:1" {
				<-leave
			}
		}), isServer, prometheus.NewRegistry())
		statuses := make(chan int)
		send := func(from string, size int) { go func() { statuses <- post(g, from, size) }() }
		for _, from := range []string{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"} {
			send(from, 2<<20)
			for range 2 * MaxReviewsPerSource {
				send(from, 1000)
			}
		}
		synctest.Wait()
		for range 10 {
			for _, size := range []int{1000, 6 << 20} {
				if got := post(g, "10.0.0.9:1", size); got != http.StatusOK {
					t.Errorf("a review of %d bytes of an API server: status %d", size, got)
				}
			}
		}
		close(leave)
		count := map[int]int{}
		for range 3 * (2*MaxReviewsPerSource + 1) {
			count[<-statuses]++
		}
		if count[http.StatusOK] == 0 || count[http.StatusTooManyRequests] < 3*MaxReviewsPerSource {
			t.Errorf("reviews of others by status: %v", count)
		}
		if got := post(g, "10.0.0.1:1", 2<<20); got != http.StatusOK {
			t.Errorf("afterwards: status %d", got)
		}
		for _, s := range []*share{g.(*guard).others, g.(*guard).servers} {
			if s.all != (usage{}) || len(s.sources) > 0 || len(s.evaluated) > 0 ||
				!s.bodies.TryAcquire(s.limits.bodies) || !s.decoded.TryAcquire(s.limits.decoded) {
				t.Errorf("something is left: %+v", s.all)
			}
		}
	})
}

// Bodies without an announced length, and those that are too long.
func TestBodyLengths(t *testing.T) {
	g := Guard(http.NotFoundHandler(), nil, prometheus.NewRegistry())
	send := func(size int, length int64) int {
		body := append([]byte(`{"apiVersion":"admission.k8s.io/v1","x":"`), bytes.Repeat([]byte("x"), size)...)
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(append(body, `"}`...)))
		r.RemoteAddr, r.ContentLength = "10.0.0.1:1", length
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w.Code
	}
	for _, c := range []struct {
		size   int
		length int64
		want   int
	}{
		{MaxBody - 100, -1, http.StatusNotFound}, {MaxBody, -1, http.StatusRequestEntityTooLarge},
		{MaxBody, MaxBody + 43, http.StatusRequestEntityTooLarge}, {1, 1 << 40, http.StatusRequestEntityTooLarge},
	} {
		if got := send(c.size, c.length); got != c.want {
			t.Errorf("%d bytes, length %d: status %d, want %d", c.size, c.length, got, c.want)
		}
	}
}
