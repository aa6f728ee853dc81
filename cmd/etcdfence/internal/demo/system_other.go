//go:build !unix

package demo

import (
	"errors"
	"net"
	"os"
	"os/exec"
)

var errNoStop = errors.New("the demonstration stops a process with SIGSTOP, which this system does not have; run it on Linux or macOS")

func supported() error                        { return errNoStop }
func apart(*exec.Cmd)                         {}
func stopProcess(*os.Process) error           { return errNoStop }
func continueProcess(*os.Process) error       { return errNoStop }
func socketPair() (net.Conn, *os.File, error) { return nil, nil, errNoStop }
