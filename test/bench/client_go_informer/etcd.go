// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Writes past the API server. Each one is a transaction of its own: what is put together has one revision, and an API server whose cache has
// read a part of that counts as up to date. A watch that begins then never hears of the rest.
const writesAtATime = 64

func (o *options) etcdClient() (*clientv3.Client, error) {
	certificate, err := tls.LoadX509KeyPair(filepath.Join(o.pki, "apiserver-etcd.crt"), filepath.Join(o.pki, "apiserver-etcd.key"))
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(filepath.Join(o.pki, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in ca.crt")
	}
	return clientv3.New(clientv3.Config{
		Endpoints:   []string{o.etcd},
		DialTimeout: 5 * time.Second,
		TLS:         &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: roots},
	})
}

// Puts what make says of numbers 1..count-1, and waits until the API server's caches have it. make is called by one goroutine.
func (o *options) writeCopies(ctx context.Context, count int, make func(i int) ([]clientv3.Op, error)) error {
	return o.write(ctx, func(_ *clientv3.Client, do func(clientv3.Op)) error {
		for i := 1; i < count && ctx.Err() == nil; i++ {
			ops, err := make(i)
			if err != nil {
				return err
			}
			for _, op := range ops {
				do(op)
			}
		}
		return nil
	})
}

// Deletes all objects of these kinds, and waits until the API server's caches know.
func (o *options) empty(ctx context.Context, kinds ...string) error {
	return o.write(ctx, func(etcd *clientv3.Client, do func(clientv3.Op)) error {
		for _, kind := range kinds {
			there, err := etcd.Get(ctx, "/registry/"+kind+"/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
			if err != nil {
				return err
			}
			for _, entry := range there.Kvs {
				do(clientv3.OpDelete(string(entry.Key)))
			}
		}
		return nil
	})
}

// Carries out what generate hands over.
func (o *options) write(ctx context.Context, generate func(etcd *clientv3.Client, do func(clientv3.Op)) error) error {
	etcd, err := o.etcdClient()
	if err != nil {
		return err
	}
	defer etcd.Close()
	var revision atomic.Int64
	group, grouped := errgroup.WithContext(ctx)
	group.SetLimit(writesAtATime)
	failed := generate(etcd, func(op clientv3.Op) {
		group.Go(func() error {
			done, err := etcd.Do(grouped, op)
			if err != nil {
				return err
			}
			var at int64
			if op.IsPut() {
				at = done.Put().Header.Revision
			} else {
				at = done.Del().Header.Revision
			}
			for seen := revision.Load(); at > seen && !revision.CompareAndSwap(seen, at); seen = revision.Load() {
			}
			return nil
		})
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return o.awaitCaches(ctx, revision.Load())
}

// Returns once the API server's caches of what the benchmarks use have come to this revision.
func (o *options) awaitCaches(ctx context.Context, revision int64) error {
	client, err := o.client("bench-writer")
	if err != nil {
		return err
	}
	paths := []string{"/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes", "/apis/storage.k8s.io/v1/volumeattachments"}
	for _, path := range paths {
		for start := time.Now(); ; {
			err := client.RESTClient().Get().AbsPath(path).Param("limit", "1").Param("resourceVersion", strconv.FormatInt(revision, 10)).
				Param("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan)).Do(ctx).Error()
			if err == nil {
				break
			}
			// What it says when its cache is behind.
			if !apierrors.IsTimeout(err) && !apierrors.IsTooManyRequests(err) || time.Since(start) > 5*time.Minute {
				return fmt.Errorf("the cache behind %s does not come to revision %d: %w", path, revision, err)
			}
		}
	}
	return nil
}
