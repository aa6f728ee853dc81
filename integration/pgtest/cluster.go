package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// template is a data directory fresh from initdb, made once for the test binary.
type template struct {
	bin  string              // directory of the binaries
	as   *syscall.Credential // who runs them; nil for ourselves
	root string              // temporary directory, removed by Close
}

var made struct {
	sync.Mutex
	template *template
}

func fresh() (*template, error) {
	made.Lock()
	defer made.Unlock()
	if made.template != nil {
		return made.template, nil
	}
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	t := &template{bin: bin, as: as}
	if t.root, err = t.directory(); err != nil {
		return nil, err
	}
	err = t.run(filepath.Join(bin, "initdb"), "-D", filepath.Join(t.root, "data"),
		"-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(t.root))
	}
	made.template = t
	return t, nil
}

// copy makes a directory with a data directory of its own in it.
func (t *template) copy() (root string, err error) {
	if root, err = t.directory(); err != nil {
		return "", err
	}
	// By cp as that user, who then owns every file.
	if err := t.run("cp", "-R", "-p", filepath.Join(t.root, "data"), root); err != nil {
		return "", errors.Join(err, os.RemoveAll(root))
	}
	return root, nil
}

// directory makes a temporary directory that belongs to whoever runs the server. Its
// path is short, because a socket's path may have no more than about 100 bytes.
func (t *template) directory() (string, error) {
	root, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return "", fmt.Errorf("pgtest: %w", err)
	}
	if t.as != nil {
		if err := os.Chown(root, int(t.as.Uid), int(t.as.Gid)); err != nil {
			return "", errors.Join(fmt.Errorf("pgtest: %w", err), os.RemoveAll(root))
		}
	}
	return root, nil
}

func (t *template) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = "/" // the test's own directory may be closed to that user
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	return cmd
}

func (t *template) run(name string, args ...string) error {
	cmd := t.command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: t.as}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: %s: %w\n%s", filepath.Base(name), err, out)
	}
	return nil
}

// unprivileged returns nil for an ordinary user, who runs the server as itself.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
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
	return nil, errors.New("pgtest: PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as")
}
