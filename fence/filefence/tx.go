package filefence

import "bytes"

// Tx is what a change works on: the body, which is stored if the change returns nil and
// forgotten if it does not. A Tx must not be kept, nor used by several goroutines.
type Tx struct {
	body   []byte
	exists bool
}

// Body returns the body as the change sees it, its own SetBody included. It is the
// caller's to change; only SetBody has an effect.
func (tx *Tx) Body() []byte { return bytes.Clone(tx.body) }

// Exists reports whether the file is there, which a claim alone sees to: an empty body may
// be one that was never set.
func (tx *Tx) Exists() bool { return tx.exists }

// SetBody replaces the body.
func (tx *Tx) SetBody(body []byte) { tx.body = bytes.Clone(body) }
