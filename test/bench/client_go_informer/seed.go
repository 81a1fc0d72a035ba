// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
)

// Puts at once; etcd takes at most 128.
const batch = 100

// Makes the first pair through the API, and the others in etcd: through the API it would take minutes.
func seed(ctx context.Context, o *options) error {
	user, err := o.client("kubectl-create")
	if err != nil {
		return err
	}
	controller, err := o.client("kube-controller-manager")
	if err != nil {
		return err
	}
	if err := createFirst(ctx, user, controller); err != nil {
		return err
	}
	first, err := readFirst(ctx, user)
	if err != nil {
		return err
	}
	etcd, err := o.etcdClient()
	if err != nil {
		return err
	}
	defer etcd.Close()
	start := time.Now()
	var claimBytes, volumeBytes int
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i := 1; i < o.pairs; {
		var puts []clientv3.Op
		for ; i < o.pairs && len(puts)+2 <= batch; i++ {
			p := first.numbered(i, "")
			key, value, err := p.claimEntry()
			if err != nil {
				return err
			}
			puts = append(puts, clientv3.OpPut(key, value))
			claimBytes = len(value)
			if key, value, err = p.volumeEntry(); err != nil {
				return err
			}
			puts = append(puts, clientv3.OpPut(key, value))
			volumeBytes = len(value)
		}
		group.Go(func() error {
			_, err := etcd.Txn(ctx).Then(puts...).Commit()
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Printf("seeded pairs=%d claim_bytes=%d volume_bytes=%d seconds=%.1f\n", o.pairs, claimBytes, volumeBytes, time.Since(start).Seconds())
	return nil
}
