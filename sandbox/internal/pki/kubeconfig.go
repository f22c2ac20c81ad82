package pki

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes a self-contained kubeconfig file with the key pair of user in dir, for the API server URL and the
// cluster name. Only the owner can read the file.
func Kubeconfig(dir, user, cluster, url, file string) error {
	var data [3][]byte
	for i, name := range []string{"ca.crt", user + ".crt", user + ".key"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("kubeconfig %s: %w", file, err)
		}
		data[i] = b
	}
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[cluster] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: data[0]}
	cfg.AuthInfos[cluster+"-"+user] = &clientcmdapi.AuthInfo{ClientCertificateData: data[1], ClientKeyData: data[2]}
	cfg.Contexts[cluster] = &clientcmdapi.Context{
		Cluster: cluster, AuthInfo: cluster + "-" + user, Namespace: "default",
	}
	cfg.CurrentContext = cluster
	if err := clientcmd.WriteToFile(*cfg, file); err != nil {
		return fmt.Errorf("kubeconfig %s: %w", file, err)
	}
	return nil
}
