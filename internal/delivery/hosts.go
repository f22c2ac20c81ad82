package delivery

import (
	"time"

	datadnsv3 "github.com/envoyproxy/go-control-plane/envoy/data/dns/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// reservedTTL is the time for which clients may cache a reserved address. The address of a name rarely changes.
const reservedTTL = 30 * time.Second

// hostResources renders the host names with reserved addresses of a view.
func hostResources(view *model.View) []sidecar.Resource {
	var out []sidecar.Resource
	for _, h := range view.Hosts {
		var addresses []string
		for _, a := range h.Addresses {
			addresses = append(addresses, a.String())
		}
		body, err := proto.MarshalOptions{Deterministic: true}.Marshal(&datadnsv3.DnsTable_DnsVirtualDomain{
			Name: h.Name,
			Endpoint: &datadnsv3.DnsTable_DnsEndpoint{EndpointConfig: &datadnsv3.DnsTable_DnsEndpoint_AddressList{
				AddressList: &datadnsv3.DnsTable_AddressList{Address: addresses},
			}},
			AnswerTtl: durationpb.New(reservedTTL),
		})
		if err != nil {
			continue // the name is not UTF-8; no client can ask for it
		}
		out = append(out, sidecar.Resource{
			Type: sidecar.HostNameType, Name: h.Name, Body: body, Origins: []model.Origin{view.Workload.Origin},
		})
	}
	return out
}
