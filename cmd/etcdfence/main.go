// Command etcdfence shows and watches fenced locks in etcd.
//
//	etcdfence demo     the whole story in a few seconds, with an etcd inside
//	etcdfence --help   the verbs
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
