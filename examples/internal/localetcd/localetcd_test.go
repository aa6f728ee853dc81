package localetcd

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// A lone member leaves no goroutine behind. Members of a cluster leave connections
// among themselves to a timeout of etcd's.
func TestStart(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if n == 1 {
				defer goleak.VerifyNone(t)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			begin := time.Now()
			c, err := Start(ctx, n)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("ready after %v", time.Since(begin))
			client, err := c.Client(n - 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Put(ctx, "greeting", "hello"); err != nil {
				t.Fatal(err)
			}
			begin = time.Now()
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			t.Logf("closed after %v", time.Since(begin))
			if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
				t.Fatalf("%s is still there: %v", c.dir, err)
			}
		})
	}
}
