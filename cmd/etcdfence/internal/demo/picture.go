package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/timeline"
)

// picture is the file for --svg. It is opened before the story, because somebody who
// has misspelt a path wants to know at once, and written after it.
type picture struct {
	file *os.File
	made bool // it was not there before
}

func openPicture(path string) (*picture, error) {
	_, err := os.Stat(path)
	made := errors.Is(err, fs.ErrNotExist)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("--svg: %w", err)
	}
	return &picture{file: file, made: made}, nil
}

// save replaces what the file had.
func (p *picture) save(s timeline.Story) error {
	info, err := p.file.Stat()
	if err == nil && info.Mode().IsRegular() { // a pipe has nothing to replace
		err = p.file.Truncate(0)
	}
	if err == nil {
		err = timeline.SVG(p.file, s)
	}
	if err == nil {
		err = p.file.Close()
	}
	if err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	p.made = false // it is the user's now
	return nil
}

// discard closes the file, and removes it if it is new and was not saved.
func (p *picture) discard() {
	p.file.Close()
	if p.made {
		_ = os.Remove(p.file.Name())
	}
}
