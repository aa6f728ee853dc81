package filefence

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/internal/stamped"
)

// What zero values in [Options] mean.
const (
	DefaultAttempts   = 16
	DefaultOperations = 100
	DefaultPerm       = fs.FileMode(0o644)
)

// Options of [Open]. nil and the zero value work.
type Options struct {
	// Attempts is how often one call reads and runs its change when others keep replacing
	// the file, before it answers [fence.ErrContended]. Zero means [DefaultAttempts].
	Attempts int

	// Operations is how many operation ids the file keeps, the newest ones. A repeat that
	// comes after so many others is not recognised any more. Zero means [DefaultOperations].
	Operations int

	// Perm is the permission of a file that is made, before the umask. Zero means
	// [DefaultPerm]. A file that is there keeps its own.
	Perm fs.FileMode

	// AnyOrder is for one hold with many writers at once: of the mark's own token every
	// sequence is accepted, as by [fence.JudgeAnyOrder]. The writers replace one file, so
	// they still go one after another.
	AnyOrder bool
}

// Resource is one file, fenced by a mark in it. It is safe for concurrent use, starts no
// goroutine, keeps nothing open and needs no closing.
type Resource struct {
	path     string // absolute
	rules    stamped.Rules
	attempts int
	perm     fs.FileMode

	// A test stops, or fails, at a step, and sees what is synced.
	step func(name string) error
	sync func(*os.File) error
}

var (
	_ fence.FencedResource[*Tx] = (*Resource)(nil)
	_ fence.Rebaser             = (*Resource)(nil)
)

// Open returns the resource in the named file, guarded by the named lock. The file need not
// be there; its directory must, and must be writable.
//
// Errors: [fence.ErrBadToken] for a name that cannot be a lock; for a path that names a
// directory, a symbolic link (open what it points to) or anything else that is no regular
// file; [errors.ErrUnsupported]; those of the file system.
func Open(path, lock string, opts *Options) (*Resource, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := fence.CheckLock(lock); err != nil {
		return nil, fmt.Errorf("filefence: %w", err)
	}
	if opts.Attempts < 0 || opts.Operations < 0 || opts.Perm&^fs.ModePerm != 0 {
		return nil, fmt.Errorf("filefence: options out of range: %+v", *opts)
	}
	if path == "" {
		return nil, fmt.Errorf("filefence: %w: the path is empty", fs.ErrInvalid)
	}
	path, err := filepath.Abs(path) // a program may change its directory
	if err != nil {
		return nil, fmt.Errorf("filefence: %w", err)
	}
	r := &Resource{path: path, attempts: cmp.Or(opts.Attempts, DefaultAttempts), perm: cmp.Or(opts.Perm, DefaultPerm),
		rules: stamped.Rules{Lock: lock, Where: fmt.Sprintf("filefence: the file %q", path),
			Keep: cmp.Or(opts.Operations, DefaultOperations), AnyOrder: opts.AnyOrder},
		step: func(string) error { return nil }, sync: (*os.File).Sync}
	if err := cmp.Or(unsupported, r.check()); err != nil {
		return nil, fmt.Errorf("filefence: %w", err)
	}
	return r, nil
}

// Apply implements [fence.FencedResource]. change runs on what was read last, without a
// lock, so it may run several times.
//
// Errors besides those of [fence.FencedResource]: [ErrDeleted], [ErrForeign], and those of
// the file system, after which nothing was applied. [fence.ErrContended] means that others
// keep replacing the file.
func (r *Resource) Apply(ctx context.Context, s fence.Stamp, change func(ctx context.Context, tx *Tx) error) error {
	edit, err := r.rules.Apply(ctx, s, func(ctx context.Context, body []byte, exists bool) ([]byte, error) {
		tx := &Tx{body: body, exists: exists}
		err := change(ctx, tx)
		return tx.body, err
	})
	if err != nil {
		return err
	}
	return r.swap(ctx, edit)
}

// Claim implements [fence.FencedResource]. A claim that was made before is a read. It
// returns [ErrDeleted] and [ErrForeign] besides.
func (r *Resource) Claim(ctx context.Context, t fence.Token) error {
	return r.swap(ctx, r.rules.Claim(t))
}

// Rebase implements [fence.Rebaser]. From the zero Stamp it also gives a mark to a file that
// was removed ([ErrDeleted]), and to one from before the fence ([ErrForeign]), whose contents
// become the body.
func (r *Resource) Rebase(ctx context.Context, from, to fence.Stamp) error {
	edit, err := r.rules.Rebase(from, to)
	if err != nil {
		return err
	}
	return r.swap(ctx, edit)
}

// Mark implements [fence.FencedResource] with a read. It returns [ErrDeleted] and
// [ErrForeign] besides.
func (r *Resource) Mark(ctx context.Context, lock string) (fence.Stamp, error) {
	if err := r.rules.CheckMark(lock); err != nil {
		return fence.Stamp{}, fmt.Errorf("filefence: %w", err)
	}
	found, err := r.find(ctx)
	return found.Mark, err
}

// Body reads the body without a fence, nil if nothing was written yet. After a claim by this
// program what it returns stays true until a newer holder claims, or this one writes. It
// returns [ErrDeleted], [ErrForeign] and the file system's errors.
func (r *Resource) Body(ctx context.Context) ([]byte, error) {
	found, err := r.find(ctx)
	return found.Body, err
}

// find reads what is ours.
func (r *Resource) find(ctx context.Context) (stamped.Found, error) {
	if err := ctx.Err(); err != nil {
		return stamped.Found{}, fmt.Errorf("filefence: %w", err)
	}
	found, err := r.read()
	if err == nil {
		err = r.rules.Ours(found, fence.Stamp{})
	}
	if err != nil {
		return stamped.Found{}, err
	}
	return found, nil
}
