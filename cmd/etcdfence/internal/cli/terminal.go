package cli

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// Colour reports whether to use colours on w: a terminal that has them, and nobody
// who has asked for none.
func Colour(w io.Writer) bool {
	return Terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Terminal reports whether somebody is looking at w.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
