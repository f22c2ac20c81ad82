package lab

import (
	"io"
	"net"
	"time"
)

// relay forwards connections from the host to addr in the network namespace of the lab.
func relay(l net.Listener, addr string) {
	for {
		host, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer host.Close()
			inside, err := net.DialTimeout("tcp", addr, 5*time.Second)
			if err != nil {
				return
			}
			defer inside.Close()
			go func() {
				_, _ = io.Copy(inside, host)
				_ = inside.(*net.TCPConn).CloseWrite()
			}()
			_, _ = io.Copy(host, inside)
		}()
	}
}
