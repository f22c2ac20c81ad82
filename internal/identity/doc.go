// Package identity says who a workload is, and proves it with a certificate.
//
// In: a certificate request with a pod's projected service-account token (the
// signing endpoint), or a verified peer certificate (PeerFromCertificate).
// Out: X.509-SVIDs signed by the mesh's own authority, the trust bundle that
// verifies them, and the Peer that a verified certificate stands for.
//
// A workload certificate carries exactly one URI name,
//
//	spiffe://<trust domain>/ns/<namespace>/sa/<service account>
//
// and in its subject the pod (CN), the pod's UID (serialNumber) and the pod's
// namespace (OU), so that a control plane can tell two pods of one service
// account apart. Of a certificate request only the public key is used: all the
// rest is decided by the token. Private keys of workloads never come here.
//
// The root is rotated in two phases, each of which lasts longer than a
// certificate (rotate.go): first everybody learns the new root while the old one
// signs, then the new one signs while the old one is still trusted. A Keeper
// holds the state of that in a Secret that all replicas share.
//
// The authority itself is pure (ca.go, root.go, rotate.go, csr.go, peer.go,
// bundle.go); what talks to Kubernetes is in keeper.go, kubernetes_secret.go and
// kubernetes_token.go, what talks HTTP in handler.go and client.go.
package identity
