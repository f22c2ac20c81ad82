// Package agent runs beside the proxy in a pod, as the first process of the
// sidecar container: "anymesh agent [flags] -- envoy -c ...".
//
// In: the pod's projected token and the mesh's trust bundle (files), the
// signing endpoint, the proxy's command line, and the probes that the app had
// before injection. Out: certificate files that the proxy reads, the proxy as a
// child process, and an HTTP server for kubelet:
//
//	/ready                                          is the proxy ready?
//	/app-probe/<container>/<livez|readyz|startupz>  the app's own probe, performed inside the pod
//	/metrics                                        the agent's metrics, followed by the proxy's
//
// The private key is made here, for each certificate anew, and leaves the
// process only into a folder that the pod keeps in memory. The child is started
// once there is a certificate; when it ends, so does the agent, with its code.
// Restarting is kubelet's business; the next agent begins with the certificate
// that this one leaves, and asks for a new one meanwhile.
package agent
