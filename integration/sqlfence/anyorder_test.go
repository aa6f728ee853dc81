package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

func anyOrder(t *testing.T, s *site) *sqlfence.Resource {
	t.Helper()
	r := s.resource(t, s.db, &sqlfence.Options{AnyOrder: true})
	if err := r.EnsureSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// inProgress starts a write and returns when its change has been made and waits to be let
// go. The answer comes from the channel.
func (s *site) inProgress(t *testing.T, r *sqlfence.Resource, stamp fence.Stamp) (letGo func(), answer chan error) {
	t.Helper()
	inside, leave := make(chan struct{}), make(chan struct{})
	letGo = sync.OnceFunc(func() { close(leave) })
	t.Cleanup(letGo)
	enter := sync.OnceFunc(func() { close(inside) })
	answer = make(chan error, 1)
	go func() {
		answer <- r.Apply(t.Context(), stamp, func(ctx context.Context, tx *sql.Tx) error {
			err := s.set(stamp, stamp.Token().Revision())(ctx, tx)
			enter()
			<-leave
			return err
		})
	}()
	select {
	case <-inside:
	case err := <-answer:
		t.Fatalf("%v did not get to its change: %v", stamp, err)
	}
	return letGo, answer
}

// A write in progress under the old token commits before the newer claim returns, and one
// that comes later is refused; also if it is a strict resource that claims.
func TestTakeoverWaitsForWriters(t *testing.T) {
	onServers(t, func(t *testing.T, s *site) {
		r := anyOrder(t, s)
		for i, other := range []*sqlfence.Resource{anyOrder(t, s), s.marks} {
			old, newer := token(t, int64(2*i+1)), token(t, int64(2*i+2))
			if err := r.Claim(t.Context(), old); err != nil {
				t.Fatal(err)
			}
			letGo, written := s.inProgress(t, r, old.At(1))
			claimed := make(chan error, 1)
			go func() { claimed <- other.Claim(t.Context(), newer) }()
			s.waitBlocked(t)
			select {
			case err := <-claimed:
				t.Fatalf("the claim has returned (%v) while an older write was in progress", err)
			default:
			}
			letGo()
			if err := <-written; err != nil {
				t.Fatalf("the older write: %v", err)
			}
			if err := <-claimed; err != nil {
				t.Fatalf("the claim: %v", err)
			}
			late := old.At(2)
			wantRefused(t, s.write(t.Context(), r, late), fence.ErrStale, late, newer.At(0))
			s.wantState(t, newer.At(0), old.Revision())
		}
	})
}

// A writer that comes while a claim waits, or is in the middle, is not let in before it: a
// stream of writers does not keep a newer holder waiting, and none sees the mark of before.
func TestWriterBehindWaitingClaim(t *testing.T) {
	onServers(t, func(t *testing.T, s *site) {
		r, other := anyOrder(t, s), anyOrder(t, s)
		if err := r.Claim(t.Context(), token(t, 1)); err != nil {
			t.Fatal(err)
		}
		// A newer holder that writes at once raises the mark in the same transaction.
		letGo, newer := s.inProgress(t, other, token(t, 2).At(1))
		late := make(chan error, 1)
		go func() { late <- s.write(t.Context(), r, token(t, 1).At(1)) }()
		s.waitBlocked(t)
		letGo()
		if err := <-newer; err != nil {
			t.Fatal(err)
		}
		wantRefused(t, <-late, fence.ErrStale, token(t, 1).At(1), token(t, 2).At(1))
		s.wantState(t, token(t, 2).At(1), 2)
	})
}

// Many transactions of one hold are inside at the same time, and a repeated claim does not
// wait for them.
func TestWritersOfOneHoldRunTogether(t *testing.T) {
	onServers(t, func(t *testing.T, s *site) {
		r := anyOrder(t, s)
		const writers = 8
		if err := r.Claim(t.Context(), token(t, 1)); err != nil {
			t.Fatal(err)
		}
		var inside, done sync.WaitGroup
		inside.Add(writers)
		claimed := make(chan struct{})
		for i := range int64(writers) {
			done.Go(func() {
				stamp := token(t, 1).At(1 + i)
				err := r.Apply(t.Context(), stamp, func(ctx context.Context, tx *sql.Tx) error {
					inside.Done()
					<-claimed // all of them are inside by then, or this would never come
					_, err := tx.ExecContext(ctx, s.sql("INSERT INTO journal (guard, revision, sequence) VALUES ($1, $2, $3)"), lock, 1, stamp.Sequence())
					return err
				})
				if err != nil {
					t.Errorf("%v: %v", stamp, err)
				}
			})
		}
		inside.Wait()
		if err := r.Claim(t.Context(), token(t, 1)); err != nil {
			t.Error(err)
		}
		close(claimed)
		done.Wait()
		if n := s.number(t, "SELECT count(*) FROM journal"); n != writers {
			t.Fatalf("%d writes, want %d", n, writers)
		}
		s.wantMark(t, token(t, 1).At(0))
	})
}

// Writers of whatever hold is current, and holds that take over from each other: once a
// claim has returned, nothing older is added to the journal ever.
func TestNothingLandsBehindAClaim(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		const writers, holds, each = 6, 8, 12
		var current, sequence, accepted, refused atomic.Int64
		ctx := t.Context()
		claim := func(r *sqlfence.Resource, revision int64) {
			if _, err := insist(ctx, func() error { return r.Claim(ctx, token(t, revision)) }); err != nil {
				t.Errorf("claim %d: %v", revision, err)
			}
			current.Store(revision)
		}
		claimer := anyOrder(t, s)
		claim(claimer, 1)
		var done sync.WaitGroup
		turn := make(chan struct{}, 100_000) // more than there will be
		for range writers {
			r := s.resource(t, s.open(t), &sqlfence.Options{AnyOrder: true})
			done.Go(func() {
				for current.Load() < holds {
					stamp := token(t, current.Load()).At(sequence.Add(1))
					_, err := insist(ctx, func() error {
						return r.Apply(ctx, stamp, func(ctx context.Context, tx *sql.Tx) error {
							_, err := tx.ExecContext(ctx, s.sql("INSERT INTO journal (guard, revision, sequence) VALUES ($1, $2, $3)"),
								lock, stamp.Token().Revision(), stamp.Sequence())
							return err
						})
					})
					switch {
					case err == nil:
						if accepted.Add(1)%each == 0 {
							turn <- struct{}{}
						}
					case errors.Is(err, fence.ErrStale):
						refused.Add(1)
					default:
						t.Errorf("%v: %v", stamp, err)
						return
					}
				}
			})
		}
		older := map[int64]int64{} // how many lines when the claim returned
		for revision := int64(2); revision <= holds; revision++ {
			<-turn
			claim(claimer, revision)
			older[revision] = s.number(t, "SELECT count(*) FROM journal WHERE revision < $1", revision)
		}
		done.Wait()
		for revision, n := range older {
			if now := s.number(t, "SELECT count(*) FROM journal WHERE revision < $1", revision); now != n {
				t.Errorf("%d lines older than %d when its claim had returned, and %d at the end", n, revision, now)
			}
		}
		if n := s.number(t, "SELECT count(*) FROM journal"); n != accepted.Load() {
			t.Errorf("%d lines, %d writes were reported as accepted", n, accepted.Load())
		}
		t.Logf("accepted %d, refused %d", accepted.Load(), refused.Load())
	})
}

// In the caller's own transaction, from nothing: the first stamp raises the mark, the
// others of its hold share it, and a newer one takes over.
func TestAdmitInAnyOrder(t *testing.T) {
	onAllStores(t, func(t *testing.T, s *site) {
		r := anyOrder(t, s)
		admit := func(stamp fence.Stamp) error {
			level := sql.LevelReadCommitted
			if s.dialect == sqlfence.SQLite {
				level = sql.LevelDefault
			}
			tx, err := s.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if err := r.Admit(t.Context(), tx, stamp); err != nil {
				return err
			}
			return r.Commit(t.Context(), tx)
		}
		for _, stamp := range []fence.Stamp{token(t, 5).At(3), token(t, 5).At(1), token(t, 5).At(3), token(t, 7).At(2), token(t, 7).At(1)} {
			if err := admit(stamp); err != nil {
				t.Fatalf("%v: %v", stamp, err)
			}
		}
		mark := token(t, 7).At(2)
		s.wantMark(t, mark)
		old, other := token(t, 5).At(9), tokenOf(t, lock, 0, 7, "other").At(9)
		wantRefused(t, admit(old), fence.ErrStale, old, mark)
		wantRefused(t, admit(other), fence.ErrConflict, other, mark)
	})
}

// Above READ COMMITTED PostgreSQL would compare with the mark as it was before the wait.
func TestAnyOrderNeedsReadCommitted(t *testing.T) {
	s := newSite(t, stores[0])
	ordered := anyOrder(t, s)
	if err := ordered.Claim(t.Context(), token(t, 1)); err != nil {
		t.Fatal(err)
	}
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
		if _, err := sqlfence.New(s.db, s.dialect, &sqlfence.Options{AnyOrder: true, Isolation: level}); err == nil {
			t.Errorf("%v was taken", level)
		}
		tx, err := s.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
		if err != nil {
			t.Fatal(err)
		}
		err = ordered.Admit(t.Context(), tx, token(t, 1).At(1))
		if err := tx.Rollback(); err != nil { // or it would share the mark on
			t.Fatal(err)
		}
		if err == nil || !strings.Contains(err.Error(), "READ COMMITTED") || fence.SafeToRetry(err) {
			t.Errorf("%v: %v", level, err)
		}
	}
	// Apply asks for the level itself, whatever the database's default is.
	db := openDB(t, s.driver, s.dsn+" default_transaction_isolation=serializable")
	r := s.resource(t, db, &sqlfence.Options{AnyOrder: true})
	for i := range int64(3) {
		if err := s.write(t.Context(), r, token(t, 1).At(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// Two transactions of one hold do one operation: the key of the table keeps the second
// out, which then is answered like any repeat.
func TestOperationRaceInAnyOrder(t *testing.T) {
	onServers(t, func(t *testing.T, s *site) {
		r := anyOrder(t, s)
		if err := r.Claim(t.Context(), token(t, 1)); err != nil {
			t.Fatal(err)
		}
		const senders = 4
		var inside, done sync.WaitGroup
		inside.Add(senders)
		var won, duplicates atomic.Int64
		for i := range int64(senders) {
			done.Go(func() {
				enter := sync.OnceFunc(func() {
					inside.Done()
					inside.Wait() // all have found the id to be fresh
				})
				_, err := insist(t.Context(), func() error {
					ctx := fence.WithOperation(t.Context(), "pay")
					return r.Apply(ctx, token(t, 1).At(1+i), func(ctx context.Context, tx *sql.Tx) error {
						fence.OperationFrom(ctx).SetResult(fmt.Append(nil, i))
						enter()
						_, err := tx.ExecContext(ctx, "UPDATE accounts SET value = value + 1 WHERE id = 'a'")
						return err
					})
				})
				switch {
				case err == nil:
					won.Add(1)
				case errors.Is(err, fence.ErrDuplicate):
					duplicates.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		done.Wait()
		if won.Load() != 1 || duplicates.Load() != senders-1 || s.value(t, "a") != 1 {
			t.Fatalf("done %d times, %d duplicates, the value is %d", won.Load(), duplicates.Load(), s.value(t, "a"))
		}
	})
}

// A table that was made for strict order lacks what PostgreSQL needs: that is said, also
// for a table in a schema, and mended.
func TestAnyOrderNeedsItsFunction(t *testing.T) {
	s := newSite(t, stores[0])
	s.exec(t, "CREATE SCHEMA billing")
	opts := sqlfence.Options{Table: "billing.marks"}
	if err := s.resource(t, s.db, &opts).EnsureSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	opts.AnyOrder = true
	r := s.resource(t, s.db, &opts)
	if err := s.write(t.Context(), r, token(t, 1).At(1)); !errors.Is(err, sqlfence.ErrSchema) {
		t.Fatalf("got %v, want %v", err, sqlfence.ErrSchema)
	}
	var done sync.WaitGroup
	for range 6 {
		done.Go(func() {
			if err := r.EnsureSchema(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if _, err := s.db.ExecContext(t.Context(), r.Schema()); err != nil {
		t.Fatalf("what is printed, once more: %v", err)
	}
	for _, sequence := range []int64{2, 1} {
		if err := s.write(t.Context(), r, token(t, 1).At(sequence)); err != nil {
			t.Fatal(err)
		}
	}
}
