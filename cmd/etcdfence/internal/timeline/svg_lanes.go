package timeline

// drawLanes draws the four heads and the lines below them.
func drawLanes(c *canvas, s Story, bottom int) {
	for _, lane := range []struct {
		who       Who
		class     string
		name, sub string
	}{
		{A, "a", "worker A", "a process"},
		{Cluster, "e", "etcd", "gives out the lock"},
		{B, "b", "worker B", "a process"},
		{Keeper, "s", "store", s.Store + ", with a fence"},
	} {
		x := laneX[lane.who]
		c.line(x, lanesTop+44, x, bottom, "lane")
		c.rect(x-78, lanesTop, 156, 44, 8, "head "+lane.class+"-head")
		c.middle(x, lanesTop+19, "name", lane.name)
		c.middle(x, lanesTop+36, "role", lane.sub)
	}
}

// drawHolds draws, on the lanes of A and B, from when to when each had the lock, and
// that A stood still meanwhile.
func drawHolds(c *canvas, events []Event, rows []int, bottom int) {
	at := func(kind Kind, who Who) int {
		for i, e := range events {
			if e.Kind == kind && (e.Who == who || e.Of == who) {
				return rows[i]
			}
		}
		return bottom
	}
	a, b := laneX[A], laneX[B]
	stopped, expired, continued := at(Stopped, A), at(Expired, A), at(Continued, A)
	c.rect(a-6, at(Granted, A), 12, stopped-at(Granted, A), 3, "a-bar")
	c.rect(a-17, stopped, 34, expired-stopped, 0, "still-held")
	c.rect(a-17, expired, 34, continued-expired, 0, "still-lost")
	c.rect(a-17, stopped, 34, continued-stopped, 4, "still-frame")
	c.pause(a, (stopped+continued)/2)
	c.rect(b-6, at(Granted, B), 12, bottom-at(Granted, B), 3, "b-bar")
}
