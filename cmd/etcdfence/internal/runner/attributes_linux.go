package runner

import "syscall"

func attributes(apart bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: apart, Pdeathsig: syscall.SIGKILL}
}
