package ready

import "net"

// SystemdVariable names the socket of systemd, for a unit of Type=notify.
const SystemdVariable = "NOTIFY_SOCKET"

// TellSystemd says to systemd, if it started this process, that it can be used. Nobody is there to be told of a failure.
func TellSystemd(lookup func(string) (string, bool)) {
	path, _ := lookup(SystemdVariable)
	if path == "" {
		return
	}
	// A name that begins with @ is one that is no file's; Go takes it as systemd writes it.
	if c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"}); err == nil {
		c.Write([]byte("READY=1\n"))
		c.Close()
	}
}
