package filefence

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/internal/stamped"
)

// The atomic step: mark and body are one file, and it is replaced by a rename only if it is
// still what the change has seen. The lock on the side file makes the comparison and the
// rename one step for everybody who takes it.
//
//	read      the file                     no lock yet: a change may take its time
//	judge     the mark against the stamp   fence.Judge
//	change    the body
//	lock      the side file
//	compare   the file: if it is another, all over again
//	write     the next file, and sync it
//	rename    it over the file             here it happens
//	sync      the directory
//
// The steps that a test can stop at are named as in the errors.

// swap replaces the file by what edit makes of it.
func (r *Resource) swap(ctx context.Context, edit stamped.Edit) error {
	for range r.attempts {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("filefence: nothing was written: %w", err)
		}
		found, err := r.read()
		if err != nil {
			return err
		}
		next, err := edit(found)
		if errors.Is(err, stamped.ErrUnchanged) {
			return nil
		}
		if err != nil {
			return err
		}
		next.Call = rand.Text() // no two files are equal
		if done, err := r.replace(ctx, found, next); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("filefence: %w: others were faster %d times", fence.ErrContended, r.attempts)
}

// replace returns false without an error if the file is not what was found any more.
func (r *Resource) replace(ctx context.Context, found stamped.Found, next stamped.Value) (done bool, err error) {
	data, err := next.Encode()
	if err != nil {
		return false, err
	}
	side, err := r.exclude(ctx)
	if err != nil {
		return false, err
	}
	defer side.Close() // gives the lock free
	now, err := r.read()
	if err != nil {
		return false, err
	}
	if now.Exists != found.Exists || !bytes.Equal(now.Raw, found.Raw) || (now.Err == nil) != (found.Err == nil) {
		return false, nil
	}
	if err := ctx.Err(); err != nil { // the last moment at which nothing has happened
		return false, fmt.Errorf("filefence: nothing was written: %w", err)
	}
	if err := r.write(data); err != nil {
		_ = os.Remove(r.beside("-new")) // or the next write replaces it
		return false, fmt.Errorf("filefence: nothing was changed: %w", err)
	}
	if err := r.settle(side); err != nil {
		return false, fmt.Errorf("filefence: %w: the new file is there, and may not outlast a loss of power: %w", fence.ErrUnknownOutcome, err)
	}
	return true, nil
}

// write makes the next file and renames it over the old one.
func (r *Resource) write(data []byte) error {
	perm := r.perm
	if info, err := os.Lstat(r.path); err == nil {
		perm = info.Mode().Perm()
	}
	name := r.beside("-new")
	// What a killed program has left may have other permissions, or be a link of somebody's.
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := os.Lstat(r.path); err == nil { // the umask is for new files
		if err := file.Chmod(perm); err != nil {
			return err
		}
	}
	half := len(data) / 2
	for _, s := range []struct {
		name string
		do   func() error
	}{
		{"opened", func() error { _, err := file.Write(data[:half]); return err }},
		{"half written", func() error { _, err := file.Write(data[half:]); return err }},
		{"written", func() error { return r.sync(file) }},
		{"synced", file.Close},
		{"closed", func() error { return os.Rename(name, r.path) }},
	} {
		if err := r.step(s.name); err != nil {
			return err
		}
		if err := s.do(); err != nil {
			return err
		}
	}
	return nil
}

// settle makes the rename outlast a loss of power, and the side file remember that there
// was a file.
func (r *Resource) settle(side *os.File) error {
	if err := r.step("renamed"); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(r.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := r.sync(dir); err != nil {
		return err
	}
	if err := r.step("directory synced"); err != nil {
		return err
	}
	return r.remember(side)
}
