// Package private runs a database's program for tests: on data of its own, in a directory
// of its own, as a user that is not root. A [Kind] says what is different about a program;
// packages like pgtest give it their names.
//
//	program --Install, once in a test binary--> template --copy--> Server --Kill, Restart--> ...
package private
