package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/timeline"
)

// director tells the story twice and writes down what it sees.
type director struct {
	program []string
	cluster *cluster
	store   store
	ttl     time.Duration // asked for
	seen    audience
	limit   *limit
	story   timeline.Story
}

// tell runs both acts.
func (d *director) tell(ctx context.Context) error {
	ctx, d.limit = withLimit(ctx, d.ttl)
	defer d.limit.stop()
	if err := d.seen.begin(d.story); err != nil {
		return err
	}
	for _, fenced := range []bool{true, false} {
		s := &scene{director: d, act: timeline.Act{Fence: fenced}}
		err := s.play(ctx)
		d.story.Acts = append(d.story.Acts, s.act)
		if err != nil {
			return err
		}
	}
	return nil
}

// granted takes notice of the TTL, which may be more than was asked for.
func (d *director) granted(ttl time.Duration) {
	d.story.TTL = ttl
	d.limit.allow(ttl)
}

// hire starts a worker of an act.
func (d *director) hire(who timeline.Who, value string, fenced bool) (*actor, error) {
	line, err := d.store.line()
	if err != nil {
		return nil, fmt.Errorf("a connection to the store: %w", err)
	}
	return hire(d.program, who, job{
		Etcd: d.cluster.spec, Prefix: d.cluster.prefix, Lock: lockName, TTL: d.ttl,
		Owner: "worker-" + string(who),
		Fence: fenced, Value: value, Store: d.store.job(),
	}, line)
}
