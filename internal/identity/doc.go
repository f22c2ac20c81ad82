// Package identity issues and verifies the X.509 certificates of workloads.
//
// In: a certificate request with the projected service account token of a pod (the signing endpoint), or a verified
// peer certificate (PeerFromCertificate). Out: X.509-SVIDs signed by the CA of the mesh, the trust bundle that verifies
// them, and the Peer that a verified certificate identifies.
//
// A workload certificate carries exactly one URI name,
//
//	spiffe://<trust domain>/ns/<namespace>/sa/<service account>
//
// and in its subject the pod (CN), the UID of the pod (serialNumber) and the namespace of the pod (OU), so that a
// control plane can distinguish two pods of one service account. Only the public key of a certificate request is used:
// the token determines all names. The private keys of workloads never leave their pods.
//
// The root is rotated in two phases (rotate.go). First every workload receives the new root while the old one signs,
// until all have confirmed it (trust.go), or for longer than the lifetime of a certificate. Then the new one signs
// while the old one is still trusted, for longer than that lifetime. A CAStore keeps the state in a Secret that all
// replicas share.
//
// ca.go, root.go, rotate.go, csr.go, peer.go and bundle.go do no I/O. castore.go, secret.go and tokenverifier.go use
// the Kubernetes API; handler.go and client.go use HTTP.
package identity
