package sqlfence

import (
	"database/sql"
	_ "embed"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// MySQL is MySQL 8 and MariaDB (tested with MariaDB 10.11) with InnoDB tables, through any
// driver whose errors have a field Number or say "Error 1213 (40001): ...", as those of
// go-sql-driver/mysql do. With that one set interpolateParams=true: it saves a round trip
// for each statement, fenced or not. clientFoundRows makes no difference. A server with
// binlog_format=STATEMENT refuses writes in READ COMMITTED: there set [Options.Isolation] to
// sql.LevelRepeatableRead.
const MySQL Dialect = "mysql"

//go:embed mysql.sql
var mysqlSQL string

var mysql = dialect{
	text:       mysqlSQL,
	positional: true,
	// The server's own default is REPEATABLE READ, in which a statement that finds no row
	// locks the gap where it would be.
	levels: []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable},
	shared: []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable},

	contended: func(err error) bool {
		number, _ := mysqlCode(err)
		return slices.Contains([]int{
			1213, // deadlock
			1205, // lock wait timeout
			1020, // the record has changed since it was last read
			3101, // a replication group refused the transaction
			3572, // NOWAIT, in a change
		}, number)
	},

	wrongTable: func(err error) bool {
		number, _ := mysqlCode(err)
		return slices.Contains([]int{
			1146, // no such table
			1049, // unknown database
			1054, // unknown column
			1176, // no such index: the primary key
		}, number)
	},

	duplicateKey: func(err error) bool {
		number, _ := mysqlCode(err)
		return number == 1062
	},

	commitRefused: func(err error) bool {
		number, state := mysqlCode(err)
		if number == 0 {
			return false
		}
		// Without a class that tells: read-only tables, transactions and servers, and
		// values that do not fit.
		if slices.Contains([]int{1036, 1290, 1364, 1366, 1369, 1792, 1836, 3819}, number) {
			return true
		}
		// Bad data, a broken constraint, a mistake or a missing privilege, a SIGNAL. All
		// else may come at any moment of a commit: a shutdown, a killed query, a full disk.
		return len(state) == 5 && slices.Contains([]string{"22", "23", "42", "45"}, state[:2])
	},
}

var mysqlText = regexp.MustCompile(`^Error (\d+)(?: \(([0-9A-Z]{5})\))?: `)

// mysqlCode returns the number of a server's error and its SQLSTATE if there is one, or 0.
// The driver's type cannot be named here, so its fields are looked for.
func mysqlCode(err error) (number int, state string) {
	for _, e := range chain(err) {
		v := reflect.Indirect(reflect.ValueOf(e))
		if v.Kind() == reflect.Struct {
			if f := v.FieldByName("Number"); f.IsValid() && f.CanUint() {
				number = int(f.Uint())
			}
			if f := v.FieldByName("SQLState"); f.IsValid() && f.Kind() == reflect.Array && f.Type().Elem().Kind() == reflect.Uint8 {
				b := make([]byte, f.Len())
				reflect.Copy(reflect.ValueOf(b), f)
				state = strings.Trim(string(b), "\x00")
			}
			if number != 0 {
				return number, state
			}
		}
		if m := mysqlText.FindStringSubmatch(e.Error()); m != nil {
			number, _ = strconv.Atoi(m[1])
			return number, m[2]
		}
	}
	return 0, ""
}

// chain is err and all that it wraps.
func chain(err error) []error {
	if err == nil {
		return nil
	}
	all := []error{err}
	switch e := err.(type) { //nolint:errorlint // this is what unwraps
	case interface{ Unwrap() error }:
		return append(all, chain(e.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, chain(inner)...)
		}
	}
	return all
}
