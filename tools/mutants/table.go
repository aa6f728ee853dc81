package main

import (
	"fmt"
	"os"
	"strings"
)

// A mutant is one way to break the code.
type mutant struct {
	name     string
	why      string // what would go wrong in a service
	file     string // relative to the root
	pkg, run string // the test that must fail: go test pkg -run run
	edits    []edit
}

// edit replaces a text that must be in the file exactly once.
type edit struct{ search, replace string }

// apply returns the broken file.
func (m mutant) apply(text string) (string, error) {
	for _, e := range m.edits {
		if n := strings.Count(text, e.search); n != 1 {
			return "", fmt.Errorf("%s has this text %d times, not once:\n%s", m.file, n, e.search)
		}
		text = strings.Replace(text, e.search, e.replace, 1)
	}
	return text, nil
}

// readTable reads the mutants; the head of the table itself explains its form.
func readTable(path string) ([]mutant, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p parser
	for line := range strings.Lines(string(data)) {
		p.number++
		if err := p.line(strings.TrimRight(line, "\r\n")); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, p.number, err)
		}
	}
	if err := p.finish(); err != nil {
		return nil, fmt.Errorf("%s: the last mutant: %w", path, err)
	}
	return p.mutants, nil
}

// parser reads a table line by line.
type parser struct {
	number  int
	mutants []mutant
	block   string // "search" or "replace" inside such a block
	text    []string
}

func (p *parser) line(line string) error {
	switch mark := strings.TrimRight(line, " "); {
	case mark == "--- search" || mark == "--- replace" || mark == "--- end":
		return p.mark(strings.TrimPrefix(mark, "--- "))
	case p.block != "":
		p.text = append(p.text, line)
		return nil
	case mark == "" || strings.HasPrefix(mark, "#"):
		return nil
	}
	key, value, _ := strings.Cut(line, " ")
	value = strings.TrimSpace(value)
	if value == "" {
		return fmt.Errorf("%q has no value", key)
	}
	if key == "mutant" {
		if err := p.finish(); err != nil {
			return err
		}
		p.mutants = append(p.mutants, mutant{name: value})
		return nil
	}
	if len(p.mutants) == 0 {
		return fmt.Errorf("%q before the first mutant", key)
	}
	m := &p.mutants[len(p.mutants)-1]
	switch key {
	case "why":
		m.why = value
	case "file":
		m.file = value
	case "test":
		pkg, run, ok := strings.Cut(value, " ")
		if !ok {
			return fmt.Errorf("test wants a package and a regexp")
		}
		m.pkg, m.run = pkg, strings.TrimSpace(run)
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return nil
}

// mark handles a line that begins or ends a block of text.
func (p *parser) mark(next string) error {
	order := map[string]string{"search": "", "replace": "search", "end": "replace"}
	if p.block != order[next] || len(p.mutants) == 0 {
		return fmt.Errorf(`"--- %s" is out of order: mutant, search, replace, end`, next)
	}
	m := &p.mutants[len(p.mutants)-1]
	text := strings.Join(p.text, "\n")
	switch next {
	case "replace":
		if text == "" {
			return fmt.Errorf("nothing to search for")
		}
		m.edits = append(m.edits, edit{search: text})
	case "end":
		e := &m.edits[len(m.edits)-1]
		e.replace = text
		if e.replace == e.search {
			return fmt.Errorf("replaces the text with itself")
		}
	}
	p.text, p.block = nil, next
	if next == "end" {
		p.block = ""
	}
	return nil
}

// finish checks that the last mutant is complete.
func (p *parser) finish() error {
	if len(p.mutants) == 0 {
		return nil
	}
	m := p.mutants[len(p.mutants)-1]
	switch {
	case p.block != "":
		return fmt.Errorf(`%s: no "--- end"`, m.name)
	case m.why == "" || m.file == "" || m.run == "" || len(m.edits) == 0:
		return fmt.Errorf("%s wants why, file, test, and a search and replace", m.name)
	}
	for _, other := range p.mutants[:len(p.mutants)-1] {
		if other.name == m.name {
			return fmt.Errorf("two mutants are called %s", m.name)
		}
	}
	return nil
}
