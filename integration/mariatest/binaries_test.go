package mariatest

import (
	"strings"
	"testing"
)

func TestMissingBinariesSayWhatToDo(t *testing.T) {
	if _, err := binary("no-such-program"); err == nil || !strings.Contains(err.Error(), "make setup") {
		t.Fatal(err)
	}
}

// A program that is no server fails the start with what it said.
func TestFailedStart(t *testing.T) {
	tmpl, err := fresh()
	if err != nil {
		t.Fatal(err)
	}
	root, err := tmpl.directory() // no data directory in it
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{template: tmpl, root: root}
	defer s.close()
	if err := s.start(); err == nil || !strings.Contains(err.Error(), "data") {
		t.Fatalf("got %v, want the server's own words", err)
	}
}
