package filefence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"time"
)

// The side file is locked, and never replaced. It is empty until the file was written for
// the first time, and has a text from then on: a file that is missing then was removed.
const sideText = "The file beside this one is written under a fence. This text says that there was one;\n" +
	"without it a file that is missing counts as new. Programs lock this file: keep it.\n"

// exclude waits for the lock and returns the side file, whose Close gives it free.
func (r *Resource) exclude(ctx context.Context) (*os.File, error) {
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		side, locked, err := r.tryExclude()
		if err != nil {
			return nil, fmt.Errorf("filefence: nothing was written: %w", err)
		}
		if locked {
			return side, nil
		}
		// The kernel's own queue cannot be left, and a context may end.
		timer := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("filefence: nothing was written: waiting for the lock: %w", ctx.Err())
		}
	}
}

func (r *Resource) tryExclude() (side *os.File, locked bool, err error) {
	name := r.beside("")
	if side, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, r.perm); err != nil {
		return nil, false, err
	}
	defer func() {
		if !locked {
			side.Close()
		}
	}()
	if locked, err = tryLock(side); err != nil || !locked {
		return nil, false, err
	}
	// Somebody may have removed it between the opening and the lock, and made another.
	ours, err1 := side.Stat()
	there, err2 := os.Stat(name)
	locked = err1 == nil && err2 == nil && os.SameFile(ours, there)
	return side, locked, nil
}

// remember writes the text, once.
func (r *Resource) remember(side *os.File) error {
	info, err := side.Stat()
	if err != nil || info.Size() == int64(len(sideText)) {
		return err
	}
	if _, err := side.WriteAt([]byte(sideText), 0); err != nil {
		return err
	}
	return r.sync(side)
}

// remembered reports whether there was a file.
func (r *Resource) remembered() (bool, error) {
	info, err := os.Stat(r.beside(""))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Size() > 0, err
}
