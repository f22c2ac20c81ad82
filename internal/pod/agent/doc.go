// Package agent is the main process of the sidecar container: "anymesh agent [flags] -- envoy -c ...".
//
// In: the projected token of the pod and the trust bundle (files), the signing endpoint, the command line of the proxy,
// and the probes that the application had before injection. Out: certificate files for the proxy, the proxy as a child
// process, and an HTTP server for kubelet:
//
//	/ready                                          readiness of the proxy
//	/live                                           whether the proxy responds
//	/app-probe/<container>/<livez|readyz|startupz>  a probe of the application, performed inside the pod
//	/app-probe/<container>/<poststart|prestop>       an httpGet hook, with the token of the pod
//	/metrics                                        metrics of the agent, followed by those of the proxy
//
// The agent creates a new private key for each certificate. Keys are written only to a folder in memory. The proxy is
// started when there is a certificate. When the proxy exits, the agent exits with the same code, and kubelet restarts
// the container. After a restart, the agent uses the certificate of the previous process and requests a new one.
package agent
