package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// resets is what a client sends that opens streams and resets them at once.
var resets = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	out.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&out, nil)
	_ = f.WriteSettings()
	get := []byte{0x82, 0x86, 0x84, 0x01, 0x01, 'a'} // GET http /, and :authority: a without a place in the table
	for id := uint32(1); id < 10_000; id += 2 {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: get, EndStream: true, EndHeaders: true})
		_ = f.WriteRSTStream(id, http2.ErrCodeCancel)
	}
	return out.Bytes()
})

// rapidReset opens ten connections a second, each of which resets streams until the proxy closes it.
func rapidReset(ctx context.Context, address string) {
	tick := time.NewTicker(time.Second / 10)
	defer tick.Stop()
	for ctx.Err() == nil {
		<-tick.C
		c, err := net.Dial("tcp", address)
		if err != nil {
			continue
		}
		go func() {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(patience))
			go io.Copy(io.Discard, c)
			_, _ = c.Write(resets())
		}()
	}
}

// slowloris keeps 2000 connections that send a byte of a head each second. Those that are closed begin again.
func slowloris(ctx context.Context, address string) {
	const connections = 2000
	all := make([]net.Conn, connections)
	text := "GET / HTTP/1.1\r\nHost: a\r\nX-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	sent := make([]int, connections)
	for ctx.Err() == nil {
		begun := time.Now()
		for i := range all {
			if all[i] == nil {
				c, err := net.Dial("tcp", address)
				if err != nil {
					continue
				}
				defer c.Close()
				all[i], sent[i] = c, 0
			}
			if _, err := io.WriteString(all[i], text[sent[i]%len(text):][:1]); err != nil {
				_ = all[i].Close()
				all[i] = nil
			}
			sent[i]++
		}
		time.Sleep(time.Until(begun.Add(time.Second)))
	}
}

// honest sends requests at a rate for a while, and returns how long they took. Each fails the test if it has no answer.
func honest(t *testing.T, c *http.Client, url string, d time.Duration) (took []time.Duration) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var mu sync.Mutex
	var all sync.WaitGroup
	for begun := time.Now(); time.Since(begun) < d; {
		<-tick.C
		all.Go(func() {
			begun := time.Now()
			response, err := c.Get(url)
			if err != nil {
				t.Errorf("an honest request: %v", err)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode != 200 {
				t.Errorf("an honest request: status %d", response.StatusCode)
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(begun))
		})
	}
	all.Wait()
	slices.Sort(took)
	return took
}

// Requests of honest clients succeed during attacks. The log has the times, without and with an attack.
func TestLongAttacks(t *testing.T) {
	onlyLong(t)
	const each = 20 * time.Second
	up := httpServer(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	p := startProcess(t, fmt.Sprintf(anyConfig, up), "IN")
	for name, attack := range map[string]func(context.Context, string){"slowloris": slowloris, "rapid reset": rapidReset} {
		for version, c := range map[string]*http.Client{"HTTP/1.1": {Timeout: patience}, "HTTP/2": http2Client(t)} {
			var p99 [2]time.Duration
			for i := range p99 {
				ctx, stop := context.WithCancel(context.Background())
				var attacking sync.WaitGroup
				if i == 1 {
					attacking.Go(func() { attack(ctx, p.at["IN"]) })
					_ = honest(t, c, "http://"+p.at["IN"], each/4) // the attack is complete then
				}
				took := honest(t, c, "http://"+p.at["IN"], each)
				p99[i] = took[len(took)*99/100]
				stop()
				attacking.Wait()
			}
			t.Logf("%s, honest clients of %s: p99 %v without, %v with it, ratio %.2f", name, version, p99[0], p99[1], float64(p99[1])/float64(p99[0]))
		}
	}
}
