package demo

import "syscall"

// A worker also dies with a director that is killed, even if it is stopped then.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
