package fence

import "slices"

// MemoryTx is what a change to a [Memory] works on. Its writes are staged until
// the change returns nil.
type MemoryTx struct {
	data   map[string]string
	staged []struct{ key, value string } // a list: most changes write a key or two
}

// Get reads a value as the change sees it, its own writes included, and whether
// it is there.
func (tx *MemoryTx) Get(key string) (value string, ok bool) {
	for _, w := range slices.Backward(tx.staged) {
		if w.key == key {
			return w.value, true
		}
	}
	value, ok = tx.data[key]
	return value, ok
}

// Put stages a write.
func (tx *MemoryTx) Put(key, value string) {
	tx.staged = append(tx.staged, struct{ key, value string }{key, value})
}
