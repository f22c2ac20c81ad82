// Package proxyprotocol reads and writes the header of the PROXY protocol, by which a proxy tells the addresses of its
// client (haproxy.org, "The PROXY protocol", versions 1 and 2).
//
// In: a connection that has not been read. Out: the addresses; what follows the header is left in the connection, so
// that the kernel can move it.
package proxyprotocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// signature begins a header of version 2.
var signature = []byte("\r\n\r\n\x00\r\nQUIT\n")

// Limits in bytes.
const (
	maxLine  = 107      // of version 1, with CR LF
	maxBlock = 16 << 10 // of the addresses and the other values of version 2
)

// Header has the addresses of a client and of what it connected to. They are invalid if the proxy does not tell them.
type Header struct {
	Version             int
	Source, Destination netip.AddrPort
}

var errHeader = errors.New("the connection does not begin with a header of the PROXY protocol")

// Read reads the header. Nothing after it is read.
func Read(in io.Reader) (Header, error) {
	begin := make([]byte, len(signature), maxLine)
	if _, err := io.ReadFull(in, begin); err != nil {
		return Header{}, errors.Join(errHeader, err)
	}
	if bytes.Equal(begin, signature) {
		return readBlock(in)
	}
	if !bytes.HasPrefix(begin, []byte("PROXY ")) {
		return Header{}, errHeader
	}
	for line := begin; len(line) < maxLine; {
		line = line[:len(line)+1]
		if _, err := io.ReadFull(in, line[len(line)-1:]); err != nil {
			return Header{}, errors.Join(errHeader, err)
		}
		if text, is := strings.CutSuffix(string(line), "\r\n"); is {
			return parseLine(text)
		}
	}
	return Header{}, errHeader
}

// parseLine parses version 1.
func parseLine(line string) (Header, error) {
	h := Header{Version: 1}
	parts := strings.Split(line, " ")
	if len(parts) >= 2 && parts[1] == "UNKNOWN" {
		return h, nil
	}
	if len(parts) != 6 || parts[1] != "TCP4" && parts[1] != "TCP6" {
		return h, errHeader
	}
	var err, failed error
	h.Source, err = address(parts[2], parts[4])
	h.Destination, failed = address(parts[3], parts[5])
	if four := parts[1] == "TCP4"; err == nil && failed == nil && (h.Source.Addr().Is4() != four || h.Destination.Addr().Is4() != four) {
		err = errHeader
	}
	return h, errors.Join(err, failed)
}

func address(ip, port string) (netip.AddrPort, error) {
	a, err := netip.ParseAddr(ip)
	n, failed := strconv.ParseUint(port, 10, 16)
	if err != nil || failed != nil || a.Zone() != "" || len(port) > 1 && port[0] == '0' {
		return netip.AddrPort{}, errHeader
	}
	return netip.AddrPortFrom(a, uint16(n)), nil
}

// readBlock reads version 2 after its signature.
func readBlock(in io.Reader) (Header, error) {
	h := Header{Version: 2}
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return h, errors.Join(errHeader, err)
	}
	size := int(binary.BigEndian.Uint16(head[2:]))
	if head[0]>>4 != 2 || head[0]&15 > 1 || size > maxBlock {
		return h, errHeader
	}
	block := make([]byte, size)
	if _, err := io.ReadFull(in, block); err != nil {
		return h, errors.Join(errHeader, err)
	}
	n := 0
	switch head[1] >> 4 { // the family
	case 1:
		n = 4
	case 2:
		n = 16
	}
	if head[0]&15 == 0 || n == 0 { // a check of the proxy itself, or another family
		return h, nil
	}
	if size < 2*n+4 {
		return h, errHeader
	}
	source, _ := netip.AddrFromSlice(block[:n])
	destination, _ := netip.AddrFromSlice(block[n : 2*n])
	h.Source = netip.AddrPortFrom(source, binary.BigEndian.Uint16(block[2*n:]))
	h.Destination = netip.AddrPortFrom(destination, binary.BigEndian.Uint16(block[2*n+2:]))
	return h, nil
}

// Append appends a header of version 1 or 2. Invalid addresses, or those of different families, are unknown.
func Append(to []byte, version int, source, destination netip.AddrPort) []byte {
	from, at := source.Addr(), destination.Addr()
	known := from.IsValid() && at.IsValid() && from.Is4() == at.Is4()
	family, name := byte(0x11), "TCP4"
	if !from.Is4() {
		family, name = 0x21, "TCP6"
	}
	if version == 1 {
		if !known {
			return append(to, "PROXY UNKNOWN\r\n"...)
		}
		return fmt.Appendf(to, "PROXY %s %s %s %d %d\r\n", name, from, at, source.Port(), destination.Port())
	}
	to = append(append(to, signature...), 0x21)
	if !known {
		return append(to, 0, 0, 0)
	}
	block := append(from.AsSlice(), at.AsSlice()...)
	block = binary.BigEndian.AppendUint16(block, source.Port())
	block = binary.BigEndian.AppendUint16(block, destination.Port())
	to = binary.BigEndian.AppendUint16(append(to, family), uint16(len(block)))
	return append(to, block...)
}
