// Package kit looks at a fenced resource as fencetest does, with two libraries more:
// [Linearizable] explains recorded concurrent histories (porcupine), and [Sequences]
// makes up sequences of operations and shrinks the ones that fail (rapid). Both know
// one model, [fence.Judge], and work on any [fencetest.Subject].
package kit
