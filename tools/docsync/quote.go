package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	marker = regexp.MustCompile(`^\s*<!--\s*(snippet|output):\s*([^#\s]+)(?:#(\S+))?\s*-->\s*$`)
	begin  = regexp.MustCompile(`^\s*(?://|--|#)\s*snippet:\s*(\S+)\s*$`)
	end    = regexp.MustCompile(`^\s*(?://|--|#)\s*end snippet\s*$`)
	fence  = regexp.MustCompile("^(\\s*)(`{3,}|~{3,})")
)

// quote returns the document with its quotes up to date, one problem for each that was
// not, and one for each that cannot be.
func quote(root, name, text string) (updated string, drifted, broken []problem) {
	lines := strings.Split(text, "\n")
	var out []string
	closing := "" // inside a fenced block: what ends it
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		out = append(out, line)
		m := marker.FindStringSubmatch(line)
		if m == nil || closing != "" {
			closing = within(closing, line)
			continue
		}
		number := i + 1
		source := m[2]
		if m[3] != "" {
			source += "#" + m[3]
		}
		body, err := cut(filepath.Join(root, m[2]), m[3])
		if err != nil {
			broken = append(broken, problem{name, number, fmt.Sprintf("%s: %v", source, err)})
			continue
		}
		first, last, ok := block(lines, i+1)
		if !ok {
			broken = append(broken, problem{name, number, source + ": no fenced block in the next line; put an empty one there"})
			continue
		}
		f := fence.FindStringSubmatch(lines[first])
		for j := range body {
			if strings.HasPrefix(strings.TrimSpace(body[j]), f[2]) {
				broken = append(broken, problem{name, number, source + ": contains the fence of its own block; make that longer"})
			}
			if body[j] != "" {
				body[j] = f[1] + body[j] // the block may stand in a list
			}
		}
		if at, same := compare(body, lines[first+1:last]); !same {
			drifted = append(drifted, problem{name, first + 2 + at, "differs from " + source + ": run make docs"})
		}
		out = append(append(append(out, lines[first]), body...), lines[last])
		i = last
	}
	return strings.Join(out, "\n"), drifted, broken
}

// within returns what ends the fenced block that we are in after the line.
func within(closing, line string) string {
	f := fence.FindStringSubmatch(line)
	switch {
	case f == nil:
		return closing
	case closing == "":
		return f[2]
	case strings.HasPrefix(f[2], closing) && strings.TrimSpace(line) == f[2]:
		return ""
	}
	return closing
}

// block finds the lines that open and close the fenced block at lines[first].
func block(lines []string, first int) (opens, closes int, ok bool) {
	if first >= len(lines) {
		return 0, 0, false
	}
	closing := within("", lines[first])
	if closing == "" {
		return 0, 0, false
	}
	for i := first + 1; i < len(lines); i++ {
		if within(closing, lines[i]) == "" {
			return first, i, true
		}
	}
	return 0, 0, false
}

// compare returns the first line in which two texts differ.
func compare(a, b []string) (at int, same bool) {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i, false
		}
	}
	return min(len(a), len(b)), len(a) == len(b)
}

// cut returns the lines of a region, or of the whole file if region is empty, without
// marks, common indentation, and empty lines around them.
func cut(path, region string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var body []string
	found, inside := region == "", region == ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, " \t\r\n")
		if m := begin.FindStringSubmatch(line); m != nil {
			if m[1] == region {
				if found {
					return nil, fmt.Errorf("region %q begins twice", region)
				}
				found, inside = true, true
			}
			continue
		}
		if end.MatchString(line) {
			inside = region == ""
			continue
		}
		if inside {
			body = append(body, line)
		}
	}
	switch {
	case !found:
		return nil, fmt.Errorf("no region %q", region)
	case inside && region != "":
		return nil, fmt.Errorf("region %q has no end", region)
	}
	body = dedent(trim(body))
	if len(body) == 0 {
		return nil, fmt.Errorf("region %q is empty", region)
	}
	return body, nil
}

func trim(lines []string) []string {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func dedent(lines []string) []string {
	common, first := "", true
	for _, line := range lines {
		if line == "" {
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if first {
			common, first = indent, false
		}
		for !strings.HasPrefix(indent, common) {
			common = common[:len(common)-1]
		}
	}
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], common)
	}
	return lines
}
