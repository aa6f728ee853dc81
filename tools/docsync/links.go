package main

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

var (
	inline     = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	definition = regexp.MustCompile(`^\s{0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
	heading    = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*\s*$`)
	explicit   = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)
	textOfLink = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	lineAnchor = regexp.MustCompile(`^L(\d+)(?:-L(\d+))?$`)
)

// links returns a problem for each relative link that leads nowhere. Links to other
// sites are not followed: a check that needs the network fails for the wrong reasons.
func links(root, name, text string) (broken []problem) {
	for number, line := range prose(text) {
		line = codeSpan.ReplaceAllString(line, "`code`")
		targets := inline.FindAllStringSubmatch(line, -1)
		targets = append(targets, definition.FindAllStringSubmatch(line, 1)...)
		for _, m := range targets {
			if why := follow(root, name, m[1]); why != "" {
				broken = append(broken, problem{name, number, "link " + m[1] + ": " + why})
			}
		}
	}
	return broken
}

// prose yields the lines outside of fenced blocks, with their numbers from 1.
func prose(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		closing := ""
		for i, line := range strings.Split(text, "\n") {
			before := closing
			closing = within(closing, line)
			if before == "" && closing == "" && !yield(i+1, line) {
				return
			}
		}
	}
}

// follow says why a link leads nowhere, or nothing.
func follow(root, from, link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return err.Error()
	}
	if u.Scheme != "" || u.Host != "" {
		return ""
	}
	target := path.Join(path.Dir(from), u.Path)
	if u.Path == "" {
		target = from // "#anchor"
	} else if strings.HasPrefix(u.Path, "/") {
		target = path.Clean(u.Path[1:]) // from the top of the repository
	}
	if target == ".." || strings.HasPrefix(target, "../") {
		return "leaves the repository"
	}
	file := filepath.Join(root, filepath.FromSlash(target))
	info, err := os.Stat(file)
	if err != nil {
		return "no such file"
	}
	if u.Fragment == "" {
		return ""
	}
	if info.IsDir() {
		return "a folder has no anchors"
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	if m := lineAnchor.FindStringSubmatch(u.Fragment); m != nil {
		return lineExists(string(data), m[1], m[2])
	}
	if strings.HasSuffix(target, ".md") && !anchors(string(data))[strings.ToLower(u.Fragment)] {
		return "no such heading in " + target
	}
	return ""
}

func lineExists(text, from, to string) string {
	count := strings.Count(text, "\n")
	for _, n := range []string{from, to} {
		if number, _ := strconv.Atoi(n); number > count {
			return "the file has only " + strconv.Itoa(count) + " lines"
		}
	}
	return ""
}

// anchors returns the names of a document's headings, as GitHub makes them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, line := range prose(text) {
		for _, m := range explicit.FindAllStringSubmatch(line, -1) {
			found[strings.ToLower(m[1])] = true
		}
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := slug(m[1])
		for n := 1; found[name]; n++ {
			name = slug(m[1]) + "-" + strconv.Itoa(n)
		}
		found[name] = true
	}
	return found
}

func slug(heading string) string {
	heading = textOfLink.ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
}
