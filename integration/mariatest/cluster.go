package mariatest

import (
	"cmp"
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

// logSize is the least that the server takes. It is made at once and copied each time.
const logSize = "--innodb-log-file-size=4M"

// template is a data directory fresh from mariadb-install-db, made once for the test binary.
type template struct {
	server string              // the program
	as     *syscall.Credential // who runs it; nil for ourselves
	root   string              // temporary directory, removed by Close
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
	server, err1 := binary("mariadbd")
	install, err2 := binary("mariadb-install-db")
	as, err3 := unprivileged()
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	t := &template{server: server, as: as}
	var err error
	if t.root, err = t.directory(); err != nil {
		return nil, err
	}
	err = t.run(install, "--no-defaults", "--datadir="+filepath.Join(t.root, "data"), logSize,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
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
	root, err := os.MkdirTemp("", "mariatest")
	if err != nil {
		return "", fmt.Errorf("mariatest: %w", err)
	}
	if t.as != nil {
		if err := os.Chown(root, int(t.as.Uid), int(t.as.Gid)); err != nil {
			return "", errors.Join(fmt.Errorf("mariatest: %w", err), os.RemoveAll(root))
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
		return fmt.Errorf("mariatest: %s: %w\n%s", filepath.Base(name), err, out)
	}
	return nil
}

// unprivileged returns nil for an ordinary user, who runs the server as itself.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"mysql", "nobody"} {
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
	return nil, errors.New("mariatest: MariaDB refuses to run as root, and there is no user mysql or nobody to run it as")
}
