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
