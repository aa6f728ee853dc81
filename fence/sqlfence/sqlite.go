package sqlfence

import (
	"database/sql"
	_ "embed"
	"errors"
	"strings"
)

// SQLite is SQLite 3.24 or newer, through any driver. Open the file with a busy
// timeout, in WAL mode, and with transactions that begin IMMEDIATE.
const SQLite Dialect = "sqlite"

//go:embed sqlite.sql
var sqliteSQL string

var sqlite = dialect{
	text: sqliteSQL,
	// SQLite is always serializable. Asking for it changes nothing in most drivers; in
	// ncruces it makes the transaction IMMEDIATE, which is what we want.
	levels: []sql.IsolationLevel{sql.LevelSerializable},

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

	commitRefused: func(err error) bool {
		// A deferred constraint. Everything else that is not "busy" may be a disk that
		// failed at any moment of the commit.
		const constraint = 19
		if code, ok := sqliteCode(err); ok {
			return code == constraint
		}
		return mentions(err, "constraint failed")
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
