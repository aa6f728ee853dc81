package private

import "syscall"

// attr makes a child of its own group, so that a Ctrl-C at the tests does not reach it
// before their cleanup does, which dies with us and runs as the given user.
func attr(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGQUIT, Credential: as}
}
