//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package filefence

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

func tryLock(*os.File) (bool, error) {
	return false, fmt.Errorf("flock on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
