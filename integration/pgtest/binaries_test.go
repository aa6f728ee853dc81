package pgtest

import (
	"strings"
	"testing"
)

func TestMissingBinariesSayWhatToDo(t *testing.T) {
	if !strings.Contains(errMissing.Error(), "make setup") {
		t.Fatal(errMissing)
	}
}

func TestNewestBinaries(t *testing.T) {
	if major("/usr/lib/postgresql/9.6/bin") >= major("/usr/lib/postgresql/15/bin") {
		t.Fatal("9.6 is taken for newer than 15")
	}
}

// A program that is no server fails the start with what it said.
func TestFailedStart(t *testing.T) {
	tmpl, err := fresh()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{template: tmpl, root: t.TempDir()} // no data directory in it
	if err := s.start(); err == nil || !strings.Contains(err.Error(), "data") {
		t.Fatalf("got %v, want the server's own words", err)
	}
}
