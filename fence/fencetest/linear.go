package fencetest

import "github.com/etcdfence/etcdfence/fence"

// strictlyRising explains the outcomes of a race by one order in which the resource
// took the stamps, or ends the case. Only one order is possible, that of the stamps
// themselves, so it is enough to look at pairs: who was accepted after somebody
// else's acceptance had returned must be newer.
//
// Outcomes that are unknown explain others and are not held against anybody.
func (r *run[T]) strictlyRising(outcomes []outcome) {
	accepted, maybe := map[fence.Stamp]Call{}, map[fence.Stamp]Call{}
	var newest fence.Stamp
	for _, o := range outcomes {
		s := o.call.Stamp
		if o.maybe {
			if first, known := maybe[s]; !known || o.call.Begin < first.Begin {
				maybe[s] = o.call
			}
			continue
		}
		if o.err != nil {
			continue
		}
		if _, twice := accepted[s]; twice {
			r.failf("%v was accepted twice", s)
		}
		accepted[s] = o.call
	}
	for s, a := range accepted {
		if newest.Compare(s) < 0 {
			newest = s
		}
		for u, b := range accepted {
			if a.End < b.Begin && u.Compare(s) <= 0 {
				r.failf("%v was accepted, and then %v was too, which is not newer", s, u)
			}
		}
	}
	for _, o := range outcomes {
		if o.err != nil && !o.maybe && !r.explained(o, accepted, maybe) {
			r.failf("%v was refused, though nothing that forbids it had been accepted: %v", o.call.Stamp, o.err)
		}
	}
	value := r.main().read()
	if value == valueOf(newest) {
		return
	}
	for s := range maybe {
		if value == valueOf(s) && newest.Compare(s) <= 0 {
			return
		}
	}
	r.failf("the newest accepted stamp is %v, but the value is %q", newest, value)
}

// explained: something that forbids it was, or may have been, accepted before the
// refusal came.
func (r *run[T]) explained(refused outcome, accepted, maybe map[fence.Stamp]Call) bool {
	for _, calls := range []map[fence.Stamp]Call{accepted, maybe} {
		for s, call := range calls {
			if call.Begin < refused.call.End && fence.Judge(r.subject.Lock(), s, refused.call.Stamp) != nil {
				return true
			}
		}
	}
	return false
}
