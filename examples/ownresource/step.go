package ownresource

import (
	"context"
	"fmt"
	"strconv"

	bolt "go.etcd.io/bbolt"

	"github.com/etcdfence/etcdfence/fence"
)

// snippet: step

// step is the atomic step: all of f is stored, or nothing of it.
func (d *Document) step(ctx context.Context, f func(*bolt.Bucket) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	tx, err := d.db.Begin(true) // waits for the writer that is inside
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing; it is here for errors and panics
	if err := f(tx.Bucket(bucket)); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		// The disk failed us half-way: only the file knows which side of it we are on.
		return fmt.Errorf("%w: %w", fence.ErrUnknownOutcome, err)
	}
	return nil
}

// end snippet

// snippet: encoding

// markIn is the mark: the zero Stamp if there is none, an error if it cannot be read. It
// never takes a mark that it cannot read for none.
func markIn(b *bolt.Bucket) (mark fence.Stamp, err error) {
	if v := b.Get(markKey); v != nil {
		err = mark.UnmarshalBinary(v)
	}
	return mark, err
}

func putMark(b *bolt.Bucket, s fence.Stamp) error {
	v, err := s.MarshalBinary()
	if err != nil {
		return err
	}
	return b.Put(markKey, v)
}

// end snippet

func draftIn(b *bolt.Bucket) (draft Draft, err error) {
	draft.Text = string(b.Get(textKey))
	if v := b.Get(versionKey); v != nil {
		draft.Version, err = strconv.Atoi(string(v))
	}
	return draft, err
}
