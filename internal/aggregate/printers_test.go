package aggregate

import (
	"fmt"
	"testing"
)

// The cells are those of kube-apiserver; a test with a cluster compares the tables of real objects.
func TestPrinters(t *testing.T) {
	const template = `"template":{"spec":{"containers":[{"name":"a","image":"i"},{"name":"b","image":"j"}]}}`
	const selector = `"selector":{"matchLabels":{"x":"y"}},`
	for _, c := range []struct{ kind, object, want string }{
		{"apps/v1/Deployment", `{"metadata":{"name":"n"},"spec":{"replicas":3,` + selector + template +
			`},"status":{"readyReplicas":1,"updatedReplicas":2,"availableReplicas":1}}`, "[n 1/3 2 1 <unknown> a,b i,j x=y]"},
		{"apps/v1/StatefulSet", `{"metadata":{"name":"n"},"spec":{"replicas":2,` + template + `}}`, "[n 0/2 <unknown> a,b i,j]"},
		{"apps/v1/DaemonSet", `{"metadata":{"name":"n"},"spec":{` + selector + template +
			`},"status":{"desiredNumberScheduled":2,"numberReady":1}}`, "[n 2 0 1 0 0 <none> <unknown> a,b i,j x=y]"},
		{"batch/v1/Job", `{"metadata":{"name":"n"},"spec":{"completions":4,` + selector + template +
			`},"status":{"succeeded":4,"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:01:05Z",` +
			`"conditions":[{"type":"Complete","status":"True"}]}}`, "[n Complete 4/4 65s <unknown> a,b i,j x=y]"},
		{"batch/v1/Job", `{"metadata":{"name":"n"},"spec":{"parallelism":2,` + template +
			`},"status":{"conditions":[{"type":"Suspended","status":"True"}]}}`, "[n Suspended 0/1 of 2  <unknown> a,b i,j <none>]"},
		{"batch/v1/CronJob", `{"metadata":{"name":"n"},"spec":{"schedule":"@daily","suspend":true}}`,
			"[n @daily <none> True 0 <none> <unknown>   <none>]"},
		{"v1/Service", `{"metadata":{"name":"n"},"spec":{"type":"NodePort","clusterIP":"1.2.3.4","selector":{"b":"2","a":"1"},` +
			`"ports":[{"port":80,"nodePort":30080,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}}`,
			"[n NodePort 1.2.3.4 <none> 80:30080/TCP,53/UDP <unknown> a=1,b=2]"},
		{"v1/Service", `{"metadata":{"name":"n"},"spec":{"type":"LoadBalancer","clusterIP":"None"}}`,
			"[n LoadBalancer None <pending> <none> <unknown> <none>]"},
		{"v1/Service", `{"metadata":{"name":"n"},"spec":{"type":"LoadBalancer","externalIPs":["9.9.9.9"]},` +
			`"status":{"loadBalancer":{"ingress":[{"ip":"2.2.2.2"},{"hostname":"h"}]}}}`,
			"[n LoadBalancer <none> 2.2.2.2,h,9.9.9.9 <none> <unknown> <none>]"},
		{"v1/Service", `{"metadata":{"name":"n"},"spec":{"type":"ExternalName","externalName":"example.com"}}`,
			"[n ExternalName <none> example.com <none> <unknown> <none>]"},
		{"discovery.k8s.io/v1/EndpointSlice", `{"metadata":{"name":"n"},"addressType":"IPv4","ports":[{"port":80}],` +
			`"endpoints":[{"addresses":["1","2"]},{"addresses":["3","4"]}]}`, "[n IPv4 80 1,2,3 + 1 more... <unknown>]"},
		{"networking.k8s.io/v1/Ingress", `{"metadata":{"name":"n"},"spec":{"tls":[{}],"rules":[{"host":"a"},{}]}}`,
			"[n <none> a  80, 443 <unknown>]"},
		{"v1/ConfigMap", `{"metadata":{"name":"n"},"data":{"a":"b"},"binaryData":{"c":""}}`, "[n 2 <unknown>]"},
		{"v1/Secret", `{"metadata":{"name":"n"},"type":"Opaque","data":{"a":""}}`, "[n Opaque 1 <unknown>]"},
		{"v1/Namespace", `{"metadata":{"name":"n"},"status":{"phase":"Active"}}`, "[n Active <unknown>]"},
		{"v1/PersistentVolumeClaim", `{"metadata":{"name":"n"},"spec":{"volumeName":"v","storageClassName":"s","volumeMode":"Block"},` +
			`"status":{"phase":"Bound","accessModes":["ReadWriteMany","ReadWriteOnce"],"capacity":{"storage":"1Gi"}}}`,
			"[n Bound v 1Gi RWO,RWX s <unset> <unknown> Block]"},
		{"v1/PersistentVolume", `{"metadata":{"name":"n"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadOnlyMany"],` +
			`"persistentVolumeReclaimPolicy":"Retain","claimRef":{"namespace":"a","name":"b"}},"status":{"phase":"Bound"}}`,
			"[n 1Gi ROX Retain Bound a/b  <unset>  <unknown> <unset>]"},
		{"coordination.k8s.io/v1/Lease", `{"metadata":{"name":"n"},"spec":{"holderIdentity":"h"}}`, "[n h <unknown>]"},
		{"v1/Event", `{"metadata":{"name":"n"},"type":"Normal","reason":"R","message":"m ","involvedObject":{"kind":"Pod","name":"p"},` +
			`"source":{"component":"kubelet","host":"node"}}`, "[<unknown> Normal R pod/p  kubelet, node m <unknown> 1 n]"},
		{"v1/Event", `{"metadata":{"name":"n"},"involvedObject":{"kind":"Pod"},"reportingComponent":"c","series":{"count":7}}`,
			"[<unknown>   pod  c  <unknown> 7 n]"},
	} {
		checkPrinter(t, c.kind, c.object, c.want)
	}
}

func checkPrinter(t *testing.T, kind, object, want string) {
	t.Helper()
	p := printers[kind]
	cells, err := p.cells([]byte(object))
	if got := fmt.Sprint(cells); got != want || err != nil {
		t.Errorf("%s %s: got %s, want %s: %v", kind, object, got, want, err)
	}
	if len(cells) != len(p.columns) {
		t.Errorf("%s: %d cells, %d columns", kind, len(cells), len(p.columns))
	}
	if _, err := p.cells([]byte(`{"metadata":1}`)); err == nil {
		t.Errorf("%s: an object with wrong fields has cells", kind)
	}
}
