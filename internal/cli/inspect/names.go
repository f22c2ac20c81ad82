package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"

	"anymesh.dev/anymesh/internal/cli/names"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// virtualDomain is an envoy.data.dns.v3.DnsTable.DnsVirtualDomain, the resource of a host name.
type virtualDomain struct {
	Name     string         `json:"name"`
	Endpoint domainEndpoint `json:"endpoint"`
}

type domainEndpoint struct {
	AddressList *addressList `json:"addressList,omitempty"`
	ServiceList *serviceList `json:"serviceList,omitempty"`
}

type addressList struct {
	Address []netip.Addr `json:"address"`
}

type serviceList struct {
	Services []dnsService `json:"services"`
}

type dnsService struct {
	ServiceName string      `json:"serviceName"`
	Targets     []dnsTarget `json:"targets"`
}

type dnsTarget struct {
	ClusterName string `json:"clusterName"`
}

// endpointOf returns the addresses of a host, or its destinations.
func endpointOf(h model.Host) domainEndpoint {
	if len(h.Destinations) == 0 {
		return domainEndpoint{AddressList: &addressList{names.Known(h.Addresses)}}
	}
	service := dnsService{ServiceName: h.Name}
	for _, to := range h.Destinations {
		service.Targets = append(service.Targets, dnsTarget{to})
	}
	return domainEndpoint{ServiceList: &serviceList{[]dnsService{service}}}
}

// WithNames adds the resources of the host names that agents answer to a dump of the other resources.
func WithNames(dump json.RawMessage, hosts []model.Host) (json.RawMessage, error) {
	if len(hosts) == 0 {
		return dump, nil
	}
	isList := bytes.HasPrefix(bytes.TrimSpace(dump), []byte("["))
	var list []json.RawMessage
	all := map[string]json.RawMessage{}
	var err error
	if isList {
		err = json.Unmarshal(dump, &list)
	} else {
		err = json.Unmarshal(dump, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding the configuration: %w", err)
	}
	for _, h := range hosts {
		body, err := json.Marshal(virtualDomain{h.Name, endpointOf(h)})
		if err != nil {
			return nil, err
		}
		all[h.Name] = body
		item, err := json.Marshal(sidecar.Resource{Type: sidecar.HostNameType, Name: h.Name, Body: body})
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	if isList {
		return json.Marshal(list)
	}
	return json.Marshal(all)
}

// Names writes the host names that agents answer.
func Names(w io.Writer, s terminal.Style, hosts []model.Host) error {
	if len(hosts) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w, "\n"+s.Bold("names")); err != nil {
		return err
	}
	t := terminal.Table{Indent: "  ", Headings: []string{"NAME", "ADDRESSES"}}
	for _, h := range hosts {
		t.Row(s.Cyan(h.Name), names.Host(h))
	}
	return t.Write(w, s)
}
