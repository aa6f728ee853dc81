package demo

import (
	"context"
	"fmt"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/timeline"
)

func (p *part) asks(ctx context.Context) error {
	if _, err := p.expect(ctx, timeline.Asked); err != nil {
		return err
	}
	return p.s.note(timeline.Event{Who: p.who, Kind: timeline.Asked})
}

func (p *part) isGranted(ctx context.Context) error {
	r, err := p.expect(ctx, timeline.Granted)
	if err != nil {
		return err
	}
	p.key, p.token = r.Key, r.Token
	p.s.granted(r.TTL)
	return p.s.note(timeline.Event{Who: timeline.Cluster, Kind: timeline.Granted, Of: p.who, Token: r.Token, TTL: r.TTL})
}

// claims is a step only where there is a fence.
func (p *part) claims(ctx context.Context) error {
	if !p.s.act.Fence {
		return nil
	}
	if _, err := p.expect(ctx, timeline.Claimed); err != nil {
		return err
	}
	return p.s.note(timeline.Event{Who: p.who, Kind: timeline.Claimed, Token: p.token, Check: true})
}

func (p *part) checks(ctx context.Context) error {
	if _, err := p.expect(ctx, timeline.Checked); err != nil {
		return err
	}
	return p.s.note(timeline.Event{Who: p.who, Kind: timeline.Checked, Token: p.token})
}

// isStopped also gives the leave to write, which the worker finds when it wakes up.
func (p *part) isStopped(context.Context) error {
	if err := stopProcess(p.cmd.Process); err != nil {
		return fmt.Errorf("stopping worker %s: %w", p.who, err)
	}
	p.still = true
	if err := p.s.note(timeline.Event{Who: p.who, Kind: timeline.Stopped, Token: p.token, PID: p.cmd.Process.Pid}); err != nil {
		return err
	}
	return p.proceed()
}

func (p *part) expires(ctx context.Context) error {
	if err := p.s.cluster.gone(ctx, p.key, p.token.Revision()); err != nil {
		return err
	}
	return p.s.note(timeline.Event{Who: timeline.Cluster, Kind: timeline.Expired, Of: p.who, Token: p.token})
}

func (p *part) proceeds(context.Context) error { return p.proceed() }

func (p *part) isContinued(context.Context) error {
	if err := p.silent(); err != nil {
		return err
	}
	if err := continueProcess(p.cmd.Process); err != nil {
		return fmt.Errorf("continuing worker %s: %w", p.who, err)
	}
	p.still = false
	return p.s.note(timeline.Event{Who: p.who, Kind: timeline.Continued, Token: p.token, PID: p.cmd.Process.Pid})
}

// writes fails if the store could not answer. A refusal is an answer.
func (p *part) writes(ctx context.Context) error {
	r, err := p.expect(ctx, timeline.Wrote)
	if err != nil {
		return err
	}
	if r.Answer != nil && r.Answer.Reason == "" {
		return fmt.Errorf("the write of worker %s: %s", p.who, r.Answer.Text)
	}
	return p.s.note(timeline.Event{Who: p.who, Kind: timeline.Wrote, Token: p.token, Value: p.value,
		Check: p.s.act.Fence, Err: r.Answer.err()})
}
