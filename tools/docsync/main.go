// Command docsync keeps documents true to the code that they quote:
//
//	go run ./tools/docsync      changes nothing, and fails if a quote in a *.md is out of date
//	go run ./tools/docsync -w   rewrites the quotes
//
// A quote is a fenced block behind one of these lines; paths are from the directory that
// docsync is given (-root, the current one if not):
//
//	<!-- snippet: examples/pause/main.go#pause -->   from "// snippet: pause" to "// end snippet"
//	<!-- snippet: fence/sqlfence/postgres.sql -->    the whole file
//	<!-- output: examples/pause/output.txt -->       the whole file; what a program printed
//
// The quoted lines lose the indentation that they have in common. In files that are not
// Go the region's lines may begin with "--" or "#". Both forms also check that every
// relative link in a document leads to a file, a heading or a line that exists, and that
// a name of one of our packages in backquotes, as `fence.Judge`, is declared there.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	write := flag.Bool("w", false, "rewrite the documents instead of failing")
	root := flag.String("root", ".", "the `directory` to begin in")
	flag.Parse()
	os.Exit(run(os.Stdout, *root, *write))
}

// run prints one line "file:line: what" for each problem and returns the exit code.
func run(w io.Writer, root string, write bool) int {
	documents, err := find(root)
	if err != nil {
		fmt.Fprintln(w, "docsync:", err)
		return 1
	}
	ours, err := declared(root)
	if err != nil {
		fmt.Fprintln(w, "docsync:", err)
		return 1
	}
	var problems []problem
	for _, name := range documents {
		problems = append(problems, document(w, root, name, ours, write)...)
	}
	for _, p := range problems {
		fmt.Fprintln(w, p)
	}
	if len(problems) > 0 {
		return 1
	}
	return 0
}

// A problem is what a person has to look at.
type problem struct {
	file string
	line int // from 1
	what string
}

func (p problem) String() string { return fmt.Sprintf("%s:%d: %s", p.file, p.line, p.what) }

// document brings the quotes of one document up to date and checks its links and names.
func document(w io.Writer, root, name string, ours packages, write bool) []problem {
	path := filepath.Join(root, name)
	old, err := os.ReadFile(path)
	if err != nil {
		return []problem{{name, 1, err.Error()}}
	}
	text, drifted, problems := quote(root, name, string(old))
	if !write {
		problems = append(problems, drifted...)
	} else if !bytes.Equal(old, []byte(text)) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return append(problems, problem{name, 1, err.Error()})
		}
		fmt.Fprintln(w, "rewrote", name)
	}
	problems = append(problems, links(root, name, text)...)
	return append(problems, ours.unknown(name, text)...)
}

// find returns the documents below root, relative to it.
func find(root string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && ignored(d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".md") {
			name, err := filepath.Rel(root, path)
			found = append(found, filepath.ToSlash(name))
			return err
		}
		return nil
	})
	if err == nil && len(found) == 0 {
		err = errors.New("no documents: is this the top of the repository?")
	}
	return found, err
}

// ignored tells the folders that hold no documents of ours.
func ignored(folder string) bool {
	return strings.HasPrefix(folder, ".") && folder != ".github" ||
		folder == "testdata" || folder == "bin" || folder == "dist" || folder == "node_modules"
}
