//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filefence

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

var unsupported error

// tryLock takes the lock of an open file if it is free. The lock belongs to this opening of
// the file: two in one process exclude each other too.
func tryLock(file *os.File) (locked bool, err error) {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("flock %q: %w", file.Name(), err)
		default:
			return true, nil
		}
	}
}
