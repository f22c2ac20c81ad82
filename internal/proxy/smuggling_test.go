package proxy_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"anymesh.dev/anymesh/test/freeport"
)

// smuggling are requests that two servers may read in two ways: a hidden one follows what one of them takes for the
// body.
var smuggling = map[string]string{
	"both lengths":            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX",
	"two lengths":             "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
	"equal lengths":           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
	"list of lengths":         "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 2\r\n\r\nab",
	"signed length":           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na",
	"negative length":         "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\na",
	"hexadecimal length":      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na",
	"length with text":        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 a\r\n\r\na",
	"empty length":            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\na",
	"huge length":             "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\na",
	"space before colon":      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 1\r\n\r\na",
	"coding space colon":      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
	"coding twice":            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"coding identity":         "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
	"coding unknown":          "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
	"coding in quotes":        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
	"coding vertical tab":     "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
	"coding in HTTP/1.0":      "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"folded coding":           "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
	"folded field":            "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
	"first line folded":       "GET / HTTP/1.1\r\n X: a\r\nHost: a\r\n\r\n",
	"lone LF":                 "GET / HTTP/1.1\nHost: a\n\n",
	"LF in a field":           "GET / HTTP/1.1\r\nHost: a\r\nX: a\nY: b\r\n\r\n",
	"CR in a field":           "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
	"NUL in a field":          "GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
	"NUL in a name":           "GET / HTTP/1.1\r\nHost: a\r\nX\x00: a\r\n\r\n",
	"no name":                 "GET / HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n",
	"no colon":                "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n",
	"name in brackets":        "GET / HTTP/1.1\r\nHost: a\r\nX(y): a\r\n\r\n",
	"no host":                 "GET / HTTP/1.1\r\n\r\n",
	"two hosts":               "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
	"host with a path":        "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
	"host with a space":       "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
	"host with a user":        "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
	"another absolute host":   "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
	"space in the path":       "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
	"tab in the line":         "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n",
	"two spaces":              "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
	"control in the path":     "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
	"no path":                 "GET  HTTP/1.1\r\nHost: a\r\n\r\n",
	"relative path":           "GET a HTTP/1.1\r\nHost: a\r\n\r\n",
	"version 1.2":             "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
	"version 9.9":             "GET / HTTP/9.9\r\nHost: a\r\n\r\n",
	"version in lower case":   "GET / http/1.1\r\nHost: a\r\n\r\n",
	"method with a colon":     "G:T / HTTP/1.1\r\nHost: a\r\n\r\n",
	"chunk size with a sign":  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n",
	"chunk size 0x":           "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
	"chunk size overflow":     "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000001\r\na\r\n0\r\n\r\n",
	"chunk size with a space": "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\na\r\n0\r\n\r\n",
	"chunk with LF":           "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n",
	"chunk without end":       "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
	"extension with LF":       "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a\nb\r\na\r\n0\r\n\r\n",
	"trailer with a length":   "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n",
	"hidden coding":           "POST / HTTP/1.1\r\nHost: a\r\nConnection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"hidden length":           "POST / HTTP/1.1\r\nHost: a\r\nConnection: Content-Length\r\nContent-Length: 1\r\n\r\na",
	"dot segments":            "GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n",
	"encoded NUL":             "GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n",
	"incomplete encoding":     "GET /%2 HTTP/1.1\r\nHost: a\r\n\r\n",
	"fragment":                "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n",
	"preface of HTTP/2":       "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
}

// refuses reports whether a proxy refuses a request: with an error, or by closing the connection.
func refuses(t *testing.T, address, text string) bool {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(c, text)
	_ = c.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(c)
	return !strings.HasPrefix(string(answer), "HTTP/1.1 200")
}

// smugglingServer answers everything with 200, and returns its port.
func smugglingServer(t *testing.T, seen *atomic.Int32) string {
	return listen(t, func(c *net.TCPConn) {
		b := make([]byte, 64<<10)
		for have := 0; ; {
			n, err := c.Read(b[have:])
			if err != nil {
				return
			}
			if have += n; strings.Contains(string(b[:have]), "\r\n\r\n") {
				seen.Add(1)
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				return
			}
		}
	})
}

// What HAProxy or nginx refuses is refused; what all accept is in a list.
func TestSmuggling(t *testing.T) {
	var seen atomic.Int32
	up := smugglingServer(t, &seen)
	ours := start(t, fmt.Sprintf(anyConfig, up), "IN")["IN"]
	peers := smugglingPeers(t, up)
	for name, text := range smuggling {
		refused := refuses(t, ours, text)
		if !refused {
			t.Errorf("%s: is accepted", name)
		}
		for peer, address := range peers {
			if stricter := refuses(t, address, text); stricter && !refused {
				t.Errorf("%s: %s refuses it", name, peer)
			}
		}
	}
	if n := seen.Load(); n == 0 && len(peers) > 0 {
		t.Error("HAProxy and nginx accept nothing: the comparison is none")
	}
}

// smugglingPeers starts HAProxy and nginx, if hack/proxies.sh has unpacked them, and returns their addresses.
func smugglingPeers(t *testing.T, up string) map[string]string {
	t.Helper()
	peers, err := filepath.Abs("../../.cache/proxies")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(peers, "done")); err != nil {
		t.Log("HAProxy and nginx are not there, run make bench-proxy once: only our own answers are tested")
		return nil
	}
	libraries, _ := filepath.Glob(filepath.Join(peers, "usr/lib/*-linux-gnu"))
	dir := t.TempDir()
	addresses := map[string]string{}
	for name, config := range map[string]string{
		"haproxy": `
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
listen h
  bind 127.0.0.1:PORT
  server s 127.0.0.1:UP
`,
		"nginx": `
daemon off;
master_process off;
pid DIR/nginx.pid;
error_log stderr crit;
events { }
http {
  access_log off;
  client_body_temp_path DIR/a; proxy_temp_path DIR/b;
  fastcgi_temp_path DIR/c; uwsgi_temp_path DIR/d; scgi_temp_path DIR/e;
  server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1:UP; proxy_http_version 1.1; } }
}
`,
	} {
		port := fmt.Sprint(freeport.Port(t))
		file := filepath.Join(dir, name)
		text := strings.NewReplacer("PORT", port, "UP", up, "DIR", dir).Replace(config)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments := []string{"-db", "-f", file}
		if name == "nginx" {
			arguments = []string{"-p", dir, "-e", "stderr", "-c", file}
		}
		command := exec.Command(filepath.Join(peers, "usr/sbin", name), arguments...)
		command.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
		command.Stderr = t.Output()
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = command.Process.Kill()
			_ = command.Wait()
		})
		addresses[name] = "127.0.0.1:" + port
		until(t, name+" to listen", func() bool {
			c, err := net.Dial("tcp", addresses[name])
			if err == nil {
				c.Close()
			}
			return err == nil
		})
	}
	return addresses
}
