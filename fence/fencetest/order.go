package fencetest

import (
	"cmp"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// valueOf is what a write says of its own stamp: whoever reads the value knows whose
// it is.
func valueOf(s fence.Stamp) string {
	return fmt.Sprintf("%d.%d.%d", s.Token().Epoch(), s.Token().Revision(), s.Sequence())
}

// order is a place in the order of stamps; the zero order is before all.
type order struct{ epoch, revision, sequence int64 }

// orderOf is the inverse of valueOf. A value of another form is before all.
func orderOf(value string) (o order) {
	if n, err := fmt.Sscanf(value, "%d.%d.%d", &o.epoch, &o.revision, &o.sequence); n != 3 || err != nil {
		return order{}
	}
	return o
}

func orderOfStamp(s fence.Stamp) order {
	return order{s.Token().Epoch(), s.Token().Revision(), s.Sequence()}
}

// Compare is the rule's order.
func (o order) Compare(p order) int {
	return cmp.Or(cmp.Compare(o.epoch, p.epoch), cmp.Compare(o.revision, p.revision), cmp.Compare(o.sequence, p.sequence))
}
