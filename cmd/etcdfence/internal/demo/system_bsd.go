//go:build unix && !linux

package demo

import "syscall"

// A worker notices by the end of its input that a director was killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
