package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// own is the name of our proxy.
const own = "anymesh-proxy"

// names are the proxies in the order of the table.
var names = []string{own, "haproxy", "nginx", "envoy"}

// ports are those of the proxies and the servers.
type ports struct{ http, http2, httpServer, tcp, tcpServer, udp, udpServer int }

// command returns the command of a proxy with the name of its configuration, and the configuration.
func (o options) command(name string, p ports, dir string) (command, env []string, file, config string) {
	library := "LD_LIBRARY_PATH=" + strings.Join(o.libraries(), ":")
	switch name {
	case "haproxy":
		file = filepath.Join(dir, "haproxy.cfg")
		return []string{filepath.Join(o.peers, "usr/sbin/haproxy"), "-db", "-f", file}, []string{library}, file, fmt.Sprintf(`
global
  nbthread 1
  maxconn 4096
defaults
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  retries 2
  option redispatch
frontend h
  mode http
  bind 127.0.0.1:%d
  bind 127.0.0.1:%d proto h2
  use_backend b if { path_beg /a }
backend b
  mode http
  http-reuse always
  retry-on conn-failure
  server s 127.0.0.1:%d
listen t
  mode tcp
  option splice-auto
  bind 127.0.0.1:%d
  server s 127.0.0.1:%d
`, p.http, p.http2, p.httpServer, p.tcp, p.tcpServer)
	case "nginx":
		file = filepath.Join(dir, "nginx.conf")
		modules, _ := filepath.Glob(filepath.Join(o.peers, "usr/lib/nginx/modules/ngx_stream_module.so"))
		return []string{
				filepath.Join(o.peers, "usr/sbin/nginx"), "-p", dir, "-e", "stderr", "-c", file,
			}, []string{library}, file, fmt.Sprintf(`
load_module %s;
daemon off;
master_process off;
worker_processes 1;
pid %s/nginx.pid;
error_log stderr crit;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path %[2]s/a; proxy_temp_path %[2]s/b; fastcgi_temp_path %[2]s/c;
  uwsgi_temp_path %[2]s/d; scgi_temp_path %[2]s/e;
  upstream s { server 127.0.0.1:%d; keepalive 1024; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:%d;
    listen 127.0.0.1:%d http2;
    location /a { proxy_pass http://s; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
stream {
  server { listen 127.0.0.1:%d; proxy_pass 127.0.0.1:%d; }
  server { listen 127.0.0.1:%d udp; proxy_pass 127.0.0.1:%d; }
}
`, strings.Join(modules, ""), dir, p.httpServer, p.http, p.http2, p.tcp, p.tcpServer, p.udp, p.udpServer)
	case "envoy":
		file = filepath.Join(dir, "envoy.yaml")
		return []string{
			filepath.Join(o.bin, "envoy"), "-c", file, "--concurrency", "1", "--disable-hot-restart", "--log-level", "error",
		}, nil, file, envoyConfig(p)
	}
	file = filepath.Join(dir, "proxy.yaml")
	return []string{filepath.Join(o.bin, own), "-c", file}, []string{"GOMAXPROCS=1"}, file, fmt.Sprintf(`
listeners:
- name: http
  spec: {protocol: HTTP, port: %d, address: 127.0.0.1}
  rules:
  - match: {op: starts, path: /HTTP/url/path, value: /a}
    action: {route: {destination: http, retry: {retry_on: connect-failure, num_retries: 2, timeout: 2000}}}
- name: http2
  spec: {protocol: HTTP, port: %d, address: 127.0.0.1}
  rules:
  - match: {op: starts, path: /HTTP/url/path, value: /a}
    action: {route: {destination: http, retry: {retry_on: connect-failure, num_retries: 2, timeout: 2000}}}
- name: tcp
  spec: {protocol: TCP, port: %d, address: 127.0.0.1}
  rules: [{action: {route: {destination: tcp}}}]
- name: udp
  spec: {protocol: UDP, port: %d, address: 127.0.0.1}
  rules: [{action: {route: {destination: udp}}}]
clusters:
- {name: http, spec: {protocol: HTTP, port: %d}, endpoints: [{spec: {address: 127.0.0.1}}]}
- {name: tcp, spec: {protocol: TCP, port: %d}, endpoints: [{spec: {address: 127.0.0.1}}]}
- {name: udp, spec: {protocol: UDP, port: %d}, endpoints: [{spec: {address: 127.0.0.1}}]}
`, p.http, p.http2, p.tcp, p.udp, p.httpServer, p.tcpServer, p.udpServer)
}

// libraries are the folders of the libraries in the unpacked packages.
func (o options) libraries() []string {
	all, _ := filepath.Glob(filepath.Join(o.peers, "usr/lib/*-linux-gnu"))
	return all
}

func envoyConfig(p ports) string {
	cluster := func(name string, port int) string {
		return fmt.Sprintf(`
  - name: %s
    type: STATIC
    load_assignment:
      cluster_name: %s
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}}]}]
`, name, name, port)
	}
	listener := func(port int) string {
		return fmt.Sprintf(`
  - address: {socket_address: {address: 127.0.0.1, port_value: %d}}
    filter_chains:
    - filters:
      - name: http
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: h
          codec_type: AUTO
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {prefix: /a}
                route: {cluster: http, retry_policy: {retry_on: connect-failure, num_retries: 2}}
          http_filters:
          - name: router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
`, port)
	}
	return fmt.Sprintf(`
static_resources:
  listeners:%s%s
  - address: {socket_address: {address: 127.0.0.1, port_value: %d}}
    filter_chains:
    - filters:
      - name: tcp
        typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy, stat_prefix: t, cluster: tcp}
  clusters:%s%s`, listener(p.http), listener(p.http2), p.tcp, cluster("http", p.httpServer), cluster("tcp", p.tcpServer))
}
