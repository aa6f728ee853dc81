package redisfence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// dump is all that is in a place besides the fence's own, one line for each key.
func (p place) dump(t *testing.T) string {
	t.Helper()
	ctx := t.Context()
	keys, err := p.Keys(ctx, strings.NewReplacer("[", `\[`, "?", `\?`, "*", `\*`).Replace(p.tag)+"*").Result()
	must(t, err)
	slices.Sort(keys)
	var b strings.Builder
	for _, key := range keys {
		if strings.HasPrefix(key, p.mark()) {
			continue
		}
		kind, err := p.Type(ctx, key).Result()
		must(t, err)
		var value any
		switch kind {
		case "string":
			var s string
			s, err = p.Get(ctx, key).Result()
			value = fmt.Sprintf("%q", s)
		case "hash":
			value, err = p.HGetAll(ctx, key).Result()
		case "list":
			value, err = p.LRange(ctx, key, 0, -1).Result()
		case "set":
			var members []string
			members, err = p.SMembers(ctx, key).Result()
			slices.Sort(members)
			value = members
		case "zset":
			value, err = p.ZRangeWithScores(ctx, key, 0, -1).Result()
		case "stream":
			var entries []any
			all, rerr := p.XRange(ctx, key, "-", "+").Result()
			for _, e := range all {
				entries = append(entries, e.Values)
			}
			value, err = entries, rerr
		default:
			err = fmt.Errorf("a key of type %s", kind)
		}
		must(t, err)
		expires := ""
		if ttl, err := p.PTTL(ctx, key).Result(); err != nil || ttl > 0 {
			must(t, err)
			expires = " expires"
		}
		fmt.Fprintf(&b, "%s%s %v\n", strings.TrimPrefix(key, p.tag), expires, value)
	}
	return b.String()
}
