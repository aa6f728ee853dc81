package demo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/timeline"
)

// picture is a file that the story is drawn into. It is opened before the story, because
// somebody who has misspelt a path wants to know at once, and written after it.
type picture struct {
	flag string
	draw func(io.Writer, timeline.Story) error
	file *os.File
	made bool // it was not there before
}

func (p *picture) open(path string) error {
	_, err := os.Stat(path)
	p.made = errors.Is(err, fs.ErrNotExist)
	if p.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644); err != nil {
		return fmt.Errorf("%s: %w", p.flag, err)
	}
	return nil
}

// save replaces what the file had.
func (p *picture) save(s timeline.Story) error {
	info, err := p.file.Stat()
	if err == nil && info.Mode().IsRegular() { // a pipe has nothing to replace
		err = p.file.Truncate(0)
	}
	if err == nil {
		err = p.draw(p.file, s)
	}
	if err == nil {
		err = p.file.Close()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.flag, err)
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
