//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package filefence

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

var unsupported = fmt.Errorf("flock on %s: %w", runtime.GOOS, errors.ErrUnsupported)

func tryLock(*os.File) (bool, error) { return false, unsupported }
