package status

import (
	"fmt"
	"time"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/queue"
)

// view is a lock as it is printed, in JSON too. Numbers of etcd are strings there, because
// many readers of JSON lose what is beyond 2^53.
type view struct {
	Lock   string  `json:"lock"`
	Raw    bool    `json:"raw,omitempty"` // the name is the prefix of keys that no adapter makes
	Holder entry   `json:"holder"`
	Queue  []entry `json:"queue"`
}

type entry struct {
	Owner    string  `json:"owner"` // what this library calls the holder; empty for others
	Token    string  `json:"token,omitempty"`
	Epoch    int64   `json:"epoch"`
	Revision int64   `json:"revision,string"`
	Key      string  `json:"key"`
	Lease    string  `json:"lease"`
	TTL      float64 `json:"ttl_seconds"`
	Left     float64 `json:"left_seconds"`
	Age      float64 `json:"age_seconds,omitempty"` // since the key was made, by its maker's clock
	Watched  float64 `json:"watched_seconds,omitempty"`

	older bool // it was there when we began to watch
}

// views keeps account of since when each key is seen: etcd does not say how old a key is.
func (s *screen) views(locks []queue.Lock, now time.Time) []view {
	views, present := []view{}, map[string]bool{}
	for _, l := range locks {
		v := view{Lock: l.Name, Raw: l.Raw, Queue: []entry{}}
		for i, e := range l.Entries {
			id := fmt.Sprint(e.Key, " ", e.Revision)
			present[id] = true
			if _, known := s.seen[id]; !known {
				s.seen[id] = now
			}
			shown := entry{Owner: e.Owner, Epoch: s.Locks.Epoch, Revision: e.Revision, Key: e.Key,
				Lease: fmt.Sprintf("%x", int64(e.Lease)), TTL: e.Granted.Seconds(), Left: e.Left.Seconds(),
				older: s.seen[id].Equal(s.first)}
			if !e.Since.IsZero() {
				shown.Age = max(0, now.Sub(e.Since)).Round(time.Millisecond).Seconds()
			}
			if s.Watch {
				shown.Watched = now.Sub(s.seen[id]).Round(time.Millisecond).Seconds()
			}
			if i == 0 {
				shown.Token = fmt.Sprintf("%s@%d", l.Name, e.Revision)
				v.Holder = shown
			} else {
				v.Queue = append(v.Queue, shown)
			}
		}
		views = append(views, v)
	}
	for id := range s.seen {
		if !present[id] {
			delete(s.seen, id)
		}
	}
	return views
}

// unchanged reports whether the same keys stand in the same places as at the last call.
func unchanged(last *string, views []view) bool {
	now := "."
	for _, v := range views {
		now += fmt.Sprint(" ", v.Holder.Key, v.Holder.Revision)
		for _, w := range v.Queue {
			now += fmt.Sprint(",", w.Key, w.Revision)
		}
	}
	same := now == *last
	*last = now
	return same
}
