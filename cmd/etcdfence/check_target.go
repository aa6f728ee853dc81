package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/acid"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/marks"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// targetOptions are the flags that say how a target is written to.
type targetOptions struct {
	statement, table string
	script           string
	keys             []string
	http             acid.HTTPOptions
}

// open returns the boundary, and its name without secrets.
func (o checkOptions) open(ctx context.Context, target string) (b acid.Boundary, name string, err error) {
	if err := fence.CheckLock(o.run.Lock); err != nil {
		return nil, "", fmt.Errorf("--lock: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, o.run.Timeout)
	defer cancel()
	kind, dsn, _ := strings.Cut(target, "=")
	switch {
	case strings.HasPrefix(target, "http://"), strings.HasPrefix(target, "https://"):
		if len(o.http.Headers) == 0 {
			o.http.Headers = []string{"Fence-Stamp: {{.Header}}"}
		}
		b, err := acid.NewHTTP(target, o.http)
		return b, o.http.Method + " " + withoutPassword(target), err
	case kind == "redis" && dsn != "":
		b, err := o.openRedis(ctx, dsn)
		return b, "redis " + withoutPassword(dsn), err
	case dsn != "":
		db, dialect, err := marks.Database(kind, dsn, marks.Write)
		if err != nil {
			return nil, "", err
		}
		b, err := o.openSQL(ctx, db, dialect)
		if err != nil {
			db.Close()
		}
		return b, kind, err
	}
	return nil, "", errors.New("not one of postgres=DSN, mysql=DSN, sqlite=FILE, redis=URL, http://HOST, https://HOST")
}

func (o checkOptions) openSQL(ctx context.Context, db *sql.DB, dialect sqlfence.Dialect) (acid.Boundary, error) {
	if err := db.PingContext(ctx); err != nil {
		return nil, err
	}
	if o.statement == "" {
		return acid.NewTable(ctx, db, dialect, o.table, o.run.Lock)
	}
	return acid.NewSQL(db, dialect, o.statement, o.http.Read)
}

func (o checkOptions) openRedis(ctx context.Context, dsn string) (acid.Boundary, error) {
	options, err := redis.ParseURL(dsn)
	if err != nil {
		return nil, err
	}
	var script []byte
	if o.script != "" {
		if script, err = os.ReadFile(o.script); err != nil {
			return nil, fmt.Errorf("--script: %w", err)
		}
		options.MaxRetries = -1 // a script of somebody else's may not stand it
	}
	client := redis.NewClient(options)
	if err := client.Ping(ctx).Err(); err != nil {
		client.Close()
		return nil, err
	}
	if o.script == "" {
		b, err := acid.NewRedisFence(ctx, client, o.run.Lock)
		if err != nil {
			client.Close()
		}
		return b, err
	}
	return acid.NewRedis(client, string(script), o.keys, o.http.Read), nil
}

func withoutPassword(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return "an address"
}
