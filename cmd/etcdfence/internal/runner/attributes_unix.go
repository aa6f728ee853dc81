//go:build unix && !linux

package runner

import "syscall"

// attributes cannot end the command with this program here, if that is killed.
func attributes(apart bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: apart} }
