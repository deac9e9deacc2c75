package supervise

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// reservePort binds a free port of the loopback address without listening on
// it. While the socket is open nobody gets that port, neither as a listener nor
// for an outgoing connection, except a program of the same user that sets
// SO_REUSEPORT as this socket does. Asking for a free port, closing it and
// hoping that it is still free a second later is a race; this is none.
func reservePort() (socket *os.File, port int, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, 0, err
	}
	unix.CloseOnExec(fd)
	socket = os.NewFile(uintptr(fd), "reserved port")
	defer func() {
		if err != nil {
			err = errors.Join(err, socket.Close())
		}
	}()
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return nil, 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, 0, err
	}
	address, err := unix.Getsockname(fd)
	if err != nil {
		return nil, 0, err
	}
	inet, ok := address.(*unix.SockaddrInet4)
	if !ok {
		return nil, 0, fmt.Errorf("not an IPv4 address: %T", address)
	}
	return socket, inet.Port, nil
}
