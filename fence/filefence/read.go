package filefence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/etcdfence/etcdfence/fence/internal/stamped"
)

// beside is the path of a file of ours beside the file.
func (r *Resource) beside(suffix string) string {
	return filepath.Join(filepath.Dir(r.path), "."+filepath.Base(r.path)+".fence"+suffix)
}

// check refuses what a rename would replace by a file.
func (r *Resource) check() error {
	info, err := os.Lstat(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if info, err = os.Stat(filepath.Dir(r.path)); err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%q is no directory", filepath.Dir(r.path))
		}
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%q is a symbolic link: open what it points to", r.path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%q is no regular file", r.path)
	}
	return nil
}

// read returns what the file has. It needs no lock: a rename replaces all at once.
func (r *Resource) read() (stamped.Found, error) {
	if err := r.check(); err != nil {
		return stamped.Found{}, fmt.Errorf("filefence: %w", err)
	}
	data, err := os.ReadFile(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		was, err := r.remembered()
		if err != nil {
			return stamped.Found{}, fmt.Errorf("filefence: %w", err)
		}
		if was {
			return stamped.Found{Err: ErrDeleted}, nil
		}
		return stamped.Found{}, nil
	case err != nil:
		return stamped.Found{}, fmt.Errorf("filefence: %w", err)
	}
	found := stamped.Found{Exists: true, Raw: data}
	if found.Value, err = stamped.Decode(data); err != nil {
		found.Err = fmt.Errorf("%w: %w", ErrForeign, err)
	}
	return found, nil
}
