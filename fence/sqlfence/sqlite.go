package sqlfence

import (
	"database/sql"
	_ "embed"
	"errors"
	"slices"
	"strings"
)

// SQLite is SQLite 3.24 or newer (it needs ON CONFLICT), through any driver. Open the file with a busy
// timeout, in WAL mode, and with transactions that begin IMMEDIATE.
const SQLite Dialect = "sqlite"

//go:embed sqlite.sql
var sqliteSQL string

var sqlite = dialect{
	text: sqliteSQL,
	// SQLite is always serializable. Asking for it changes nothing in most drivers; in
	// ncruces it makes the transaction IMMEDIATE, which is what we want.
	levels: []sql.IsolationLevel{sql.LevelSerializable},
	shared: []sql.IsolationLevel{sql.LevelSerializable},

	contended: func(err error) bool {
		const busy, locked = 5, 6
		if code, ok := sqliteCode(err); ok {
			return code == busy || code == locked
		}
		return mentions(err, "database is locked", "database table is locked", "database schema is locked")
	},

	wrongTable: func(err error) bool {
		return mentions(err, "no such table", "no such column", "has no column named",
			"on conflict clause does not match", "unknown database", "cannot modify")
	},

	duplicateKey: func(error) bool { return false }, // there is one writer at a time

	commitRefused: func(err error) bool {
		if mentions(err, "no transaction is active") {
			return false // the change ended the transaction itself, one way or the other
		}
		// The rest, a full or failing disk above all, may come at any moment of a commit.
		const logic, readonly, constraint, mismatch = 1, 8, 19, 20
		if code, ok := sqliteCode(err); ok {
			return slices.Contains([]int{logic, readonly, constraint, mismatch}, code)
		}
		return mentions(err, "constraint failed", "sql logic error", "readonly database")
	},
}

// sqliteCode returns the primary result code of a driver whose errors tell it as an
// int, as those of modernc.org/sqlite do. ncruces and mattn have types of their own,
// which cannot be named here; their texts are SQLite's.
func sqliteCode(err error) (int, bool) {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		return coded.Code() & 0xff, true
	}
	return 0, false
}

func mentions(err error, texts ...string) bool {
	s := strings.ToLower(err.Error())
	for _, text := range texts {
		if strings.Contains(s, text) {
			return true
		}
	}
	return false
}
