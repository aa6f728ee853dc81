package private

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// template is fresh data, made once for the test binary, and who runs servers on them.
type template struct {
	kind *Kind
	as   *syscall.Credential // nil for ourselves
	root string              // temporary directory, removed by Close
}

const data = "data" // the name of the data's directory in a server's

func (k *Kind) fresh() (*template, error) {
	if k.template != nil {
		return k.template, nil
	}
	as, err := k.account()
	if err != nil {
		return nil, err
	}
	t := &template{kind: k, as: as}
	if t.root, err = t.directory(); err != nil {
		return nil, err
	}
	if err := t.install(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(t.root))
	}
	k.template = t
	return t, nil
}

func (t *template) install() error {
	path := filepath.Join(t.root, data)
	if t.kind.Install == nil {
		return t.run(exec.Command("mkdir", path))
	}
	cmd, err := t.kind.Install(path)
	if err != nil {
		return fmt.Errorf("%s: %w", t.kind.Name, err)
	}
	return t.run(cmd)
}

// copy makes a directory with data of its own in it.
func (t *template) copy() (dir string, err error) {
	if dir, err = t.directory(); err != nil {
		return "", err
	}
	// By cp as that user, who then owns every file.
	if err := t.run(exec.Command("cp", "-R", "-p", filepath.Join(t.root, data), dir)); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// directory makes a temporary directory that belongs to whoever runs the server. Its
// path is short, because a socket's path may have no more than about 100 bytes.
func (t *template) directory() (string, error) {
	dir, err := os.MkdirTemp("", t.kind.Name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", t.kind.Name, err)
	}
	if t.as != nil {
		if err := os.Chown(dir, int(t.as.Uid), int(t.as.Gid)); err != nil {
			return "", errors.Join(fmt.Errorf("%s: %w", t.kind.Name, err), os.RemoveAll(dir))
		}
	}
	return dir, nil
}

func (t *template) run(cmd *exec.Cmd) error {
	surround(cmd)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: t.as}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %s: %w\n%s", t.kind.Name, filepath.Base(cmd.Path), err, out)
	}
	return nil
}

// surround gives the command a place and an environment that do not depend on the test's.
func surround(cmd *exec.Cmd) {
	cmd.Dir = "/" // the test's own directory may be closed to that user
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}

// account returns nil for ourselves: not root, or root whom the program does not mind.
func (k *Kind) account() (*syscall.Credential, error) {
	if os.Getuid() != 0 || k.Users == nil {
		return nil, nil
	}
	for _, name := range k.Users {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("%s: the server refuses to run as root, and there is no user %s to run it as",
		k.Name, strings.Join(k.Users, " or "))
}

// Binary returns the path of a program that is on PATH or in one of the directories, such
// as those that are not on an ordinary user's PATH. A machine without it is the commonest
// reason for tests to fail, so the error says what to do.
func Binary(name string, dirs ...string) (string, error) {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), dirs...) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	where := "PATH"
	if len(dirs) > 0 {
		where += ", " + strings.Join(dirs, ", ")
	}
	return "", fmt.Errorf("no program %s in %s: run `make setup`", name, where)
}
