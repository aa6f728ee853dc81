package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/filefence"
)

// file measures a fenced write against the same write without a fence: a new file, synced,
// renamed over the old one, and the directory synced.
func file(h *host) {
	dir := h.TempDir()
	r, err := filefence.Open(filepath.Join(dir, "fenced"), "bank", nil)
	h.must(err)
	token, err := fence.NewToken("bank", 0, 1, "owner")
	h.must(err)
	body := make([]byte, 200)
	sequence := int64(0)
	change := func(_ context.Context, tx *filefence.Tx) error { tx.SetBody(body); return nil }
	m := h.alternate(9, 100,
		func() error { return replaceFile(filepath.Join(dir, "plain"), body) },
		func() error { sequence++; return r.Apply(h.ctx, token.At(sequence), change) })
	note("replaced by rename, waiting for the disk: plain %v, fenced %v", short(median(m[0])), short(median(m[1])))
	figure("file_vs_rename", ratios(m[1], m[0]), goal{"<=", 1.3})
}

func replaceFile(path string, data []byte) error {
	next, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	defer next.Close()
	if _, err := next.Write(data); err != nil {
		return err
	}
	if err := next.Sync(); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
