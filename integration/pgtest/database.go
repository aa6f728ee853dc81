package pgtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/etcdfence/etcdfence/integration/internal/private"
)

var databases atomic.Int64

// DSN returns how to connect to a database of the server, in the form that pgx, lib/pq
// and psql take.
func (s *Server) DSN(database string) string {
	return fmt.Sprintf("host=%s port=%s user=postgres dbname=%s sslmode=disable", s.Dir(), port, database)
}

// Database creates an empty database for one test and returns its DSN. It is dropped,
// with whatever is still connected to it, when the test ends, if the server runs then.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", databases.Add(1))
	// Copying files is twice as fast here as the default; before PostgreSQL 15 it was
	// the only way and the word unknown.
	err := s.admin("CREATE DATABASE " + name + " TEMPLATE template0 STRATEGY file_copy")
	if unknown := (*pgconn.PgError)(nil); errors.As(err, &unknown) && unknown.Code == "42601" {
		err = s.admin("CREATE DATABASE " + name + " TEMPLATE template0")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !s.Running() {
			return
		}
		if err := s.admin("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.DSN(name)
}

func (s *Server) admin(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), private.Patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("pgtest: %s: %w", statement, err)
	}
	return nil
}
