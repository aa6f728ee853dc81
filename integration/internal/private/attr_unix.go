//go:build unix && !linux

package private

import "syscall"

// attr is like the one for Linux, but a child may outlive a test binary that is killed.
func attr(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as}
}
