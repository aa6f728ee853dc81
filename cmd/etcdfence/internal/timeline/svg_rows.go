package timeline

import "fmt"

// drawRow draws one event: an arrow from who did it to whom, or a mark on a lane.
func drawRow(c *canvas, e Event, y int) {
	c.end(timeX, y+4, "time", seconds(e.At))
	x, etcd, store := laneX[e.Who], laneX[Cluster], laneX[Keeper]
	switch e.Kind {
	case Asked:
		words := "asks for the lock"
		if e.Who == B {
			words += ", and waits"
		}
		c.arrow(x, etcd, y, "ink")
		c.label(x, etcd, y-6, "label", words)
	case Granted:
		to := laneX[e.Of]
		c.arrow(etcd, to, y, "ink")
		c.label(to, etcd, y-6, "label", "gives the lock: token "+brief(e))
		c.dot(etcd, y, "e-dot")
	case Checked:
		c.arrow(x, etcd, y, "ink")
		c.arrow(etcd, x, y, "ink")
		c.label(x, etcd, y-6, "label", "“do I still hold it?” “yes”")
	case Claimed:
		c.arrow(x, store, y, "ink")
		c.text(x+20, y-6, "label", "claims the store: token "+brief(e))
		c.verdict(store, y, e.Err == nil, "accepted", "newest token "+brief(e))
	case Stopped:
		c.text(x+26, y+12, "strong", "A is stopped (SIGSTOP):")
		c.text(x+26, y+30, "label", "it cannot renew its lease,")
		c.text(x+26, y+47, "label", "and it cannot write")
	case Expired:
		c.diamond(etcd, y, "e-dot")
		c.text(etcd+16, y+5, "strong", fmt.Sprintf("the lease of %s has run out", e.Of))
	case Continued:
		c.text(x+26, y+5, "strong", "A goes on (SIGCONT), unaware of the pause")
	case Wrote:
		drawWrite(c, e, y)
	}
}

// drawWrite draws a write that arrives, or one that ends at the fence.
func drawWrite(c *canvas, e Event, y int) {
	x, store := laneX[e.Who], laneX[Keeper]
	words := fmt.Sprintf("writes %s with token %s", e.Value, brief(e))
	if e.Err == nil {
		c.arrow(x, store, y, "good")
		c.text(x+20, y-6, "strong good-text", words)
		c.verdict(store, y, true, "accepted", "holds "+e.Value)
		return
	}
	c.arrow(x, store-26, y, "bad")
	c.text(x+20, y-6, "strong bad-text", words+", late")
	c.stop(store-14, y)
	c.verdict(store, y, false, "REFUSED", "stale")
}

// brief is the token's revision. A cluster that has seen much has numbers too long for
// an arrow; two tokens of one story differ at the end.
func brief(e Event) string {
	r := revision(e)
	if len(r) > 7 {
		r = "…" + r[len(r)-5:]
	}
	return r
}
