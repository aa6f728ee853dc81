package etcdtest

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// A pipe is one connection through a Link. Its fields are guarded by Link.mu.
type pipe struct {
	near, far net.Conn // far is nil until the server was dialled
	severed   bool
}

// into returns the connection that bytes of a direction are written to.
func (p *pipe) into(direction int) net.Conn {
	if direction == requests {
		return p.far
	}
	return p.near
}

// interrupt makes a write that is going on in a direction return now, and later
// ones fail, or lets writes pass again.
func (p *pipe) interrupt(direction int, now bool) {
	c := p.into(direction)
	if c == nil {
		return
	}
	if now {
		c.SetWriteDeadline(time.Unix(1, 0))
	} else {
		c.SetWriteDeadline(time.Time{})
	}
}

// sever closes both ends.
func (p *pipe) sever() {
	p.severed = true
	p.near.Close()
	if p.far != nil {
		p.far.Close()
	}
}

// accept takes connections until the link is closed.
func (l *Link) accept() {
	for {
		near, err := l.ln.Accept()
		if err != nil {
			return
		}
		p := &pipe{near: near}
		l.mu.Lock()
		if l.closed {
			near.Close()
			l.mu.Unlock()
			continue
		}
		l.pipes[p] = true
		p.interrupt(replies, l.cut[replies])
		l.moved.Broadcast()
		l.mu.Unlock()
		l.done.Go(func() { l.carry(p) })
	}
}

// carry connects a pipe to the server, as soon as requests pass, and copies
// both ways until both have ended.
func (l *Link) carry(p *pipe) {
	defer l.drop(p)
	if !l.await(p, requests) {
		return
	}
	far, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	l.mu.Lock()
	p.far = far
	p.interrupt(requests, l.cut[requests])
	if p.severed {
		p.sever()
	}
	l.mu.Unlock()

	back := make(chan struct{})
	go func() {
		defer close(back)
		l.copy(p, replies, p.near, far)
	}()
	l.copy(p, requests, far, p.near)
	<-back
}

// drop forgets a pipe.
func (l *Link) drop(p *pipe) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.sever()
	delete(l.pipes, p)
	l.moved.Broadcast()
}

// copy carries one direction of a pipe until it ends.
func (l *Link) copy(p *pipe, direction int, dst, src net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 && !l.forward(p, direction, dst, buf[:n]) {
			break
		}
		if err == nil {
			continue
		}
		// The end of a stream is news too: it waits while the link is cut.
		half, ok := dst.(interface{ CloseWrite() error })
		if l.await(p, direction) && errors.Is(err, io.EOF) && ok && half.CloseWrite() == nil {
			return // the other direction may go on
		}
		break
	}
	l.mu.Lock()
	p.sever()
	l.moved.Broadcast()
	l.mu.Unlock()
}

// await waits until a direction is open. It returns false if the pipe is over.
func (l *Link) await(p *pipe, direction int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.cut[direction] && !p.severed {
		l.moved.Wait()
	}
	return !p.severed
}

// forward writes b, piece by piece if cuts come in between. The bytes were read
// already, perhaps before the cut: they wait here.
func (l *Link) forward(p *pipe, direction int, dst net.Conn, b []byte) bool {
	for len(b) > 0 {
		l.mu.Lock()
		if l.cut[direction] {
			l.held[direction] += len(b)
			l.moved.Broadcast()
			for l.cut[direction] && !p.severed {
				l.moved.Wait()
			}
			l.held[direction] -= len(b)
		}
		if p.severed {
			l.mu.Unlock()
			return false
		}
		l.busy[direction]++
		l.mu.Unlock()

		n, err := dst.Write(b)

		l.mu.Lock()
		l.busy[direction]--
		l.moved.Broadcast()
		l.mu.Unlock()
		b = b[n:]
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
	}
	return true
}
