package filefence

import "errors"

// Besides the answers of package fence.
var (
	// ErrDeleted is returned when the file was removed, and the mark with it: the side file
	// remembers that there was one. Nothing was changed, and nothing will be: to take it
	// for a first write would let every old stamp in. Find out who removes it. Then make
	// sure that no holder from before is still running, and call [Resource.Rebase] from the
	// zero Stamp.
	ErrDeleted = errors.New("filefence: the file was removed, and its mark with it")

	// ErrForeign is returned when the file holds what the fence did not write, or cannot
	// read. Nothing was changed. If it is data from before the fence, [Resource.Rebase] from
	// the zero Stamp gives it a mark and keeps it as the body. Otherwise somebody writes
	// around the fence: find them first.
	ErrForeign = errors.New("filefence: the file was not written by the fence")
)
