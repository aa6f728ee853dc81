// Package ownresource is a resource that etcdfence does not know: one document in a
// bbolt file, written from docs/writing-a-resource.md alone.
package ownresource

import (
	"context"
	"fmt"
	"strconv"

	bolt "go.etcd.io/bbolt"

	"github.com/etcdfence/etcdfence/fence"
)

// snippet: type

// Document is a text with a version, guarded by one lock. Like [fence.Memory], but
// atomic by a bbolt transaction: text, version and mark are keys of one bucket, and
// bbolt lets one writer in at a time.
type Document struct {
	db   *bolt.DB
	lock string
}

// Draft is what a change works on. What it sets is stored if the change returns nil and
// forgotten if it does not.
type Draft struct {
	Text    string
	Version int // counts the accepted changes; setting it has no effect
}

var _ fence.FencedResource[*Draft] = (*Document)(nil)

// end snippet

var (
	bucket     = []byte("document")
	textKey    = []byte("text")
	versionKey = []byte("version")
	markKey    = []byte("mark")
)

// Open opens the document in the file at path, which it makes if there is none.
func Open(path, lock string) (*Document, error) {
	if err := fence.CheckLock(lock); err != nil {
		return nil, err
	}
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return nil, err
	}
	if err := db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	}); err != nil {
		_ = db.Close() // the first error says more
		return nil, err
	}
	return &Document{db, lock}, nil
}

// Close closes the file. The mark stays in it, as the text does.
func (d *Document) Close() error { return d.db.Close() }

// snippet: apply

// Apply implements [fence.FencedResource].
func (d *Document) Apply(ctx context.Context, s fence.Stamp, change func(context.Context, *Draft) error) error {
	return d.step(ctx, func(b *bolt.Bucket) error {
		mark, err := markIn(b)
		if err != nil {
			return err
		}
		if err := fence.Judge(d.lock, mark, s); err != nil { // compare ...
			return err
		}
		draft, err := draftIn(b)
		if err != nil {
			return err
		}
		version := draft.Version + 1
		if err := change(ctx, &draft); err != nil { // ... change ...
			return err
		}
		if err := b.Put(textKey, []byte(draft.Text)); err != nil {
			return err
		}
		if err := b.Put(versionKey, []byte(strconv.Itoa(version))); err != nil {
			return err
		}
		return putMark(b, s) // ... and raise the mark, in one transaction
	})
}

// end snippet

// snippet: claim

// Claim implements [fence.FencedResource].
func (d *Document) Claim(ctx context.Context, t fence.Token) error {
	return d.step(ctx, func(b *bolt.Bucket) error {
		mark, err := markIn(b)
		if err != nil {
			return err
		}
		if !t.IsZero() && t == mark.Token() {
			return nil // claimed before, or written already: never lower the sequence
		}
		if err := fence.Judge(d.lock, mark, t.At(0)); err != nil {
			return err
		}
		return putMark(b, t.At(0))
	})
}

// end snippet

// snippet: mark

// Mark implements [fence.FencedResource].
func (d *Document) Mark(ctx context.Context, lock string) (mark fence.Stamp, err error) {
	if lock != d.lock {
		return mark, fmt.Errorf("mark of %q: %w", lock, &fence.RefusedError{Lock: d.lock, Reason: fence.ErrWrongLock})
	}
	if err := ctx.Err(); err != nil {
		return mark, err
	}
	err = d.db.View(func(tx *bolt.Tx) error {
		mark, err = markIn(tx.Bucket(bucket))
		return err
	})
	return mark, err
}

// end snippet

// Read returns the document as it is.
func (d *Document) Read(ctx context.Context) (draft Draft, err error) {
	if err := ctx.Err(); err != nil {
		return draft, err
	}
	err = d.db.View(func(tx *bolt.Tx) error {
		draft, err = draftIn(tx.Bucket(bucket))
		return err
	})
	return draft, err
}
