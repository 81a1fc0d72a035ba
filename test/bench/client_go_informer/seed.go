// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

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
	start := time.Now()
	var claimBytes, volumeBytes int
	err = o.writeCopies(ctx, o.pairs, func(i int) ([]clientv3.Op, error) {
		p := first.numbered(i, "")
		claimKey, claim, err := p.claimEntry()
		if err != nil {
			return nil, err
		}
		volumeKey, volume, err := p.volumeEntry()
		claimBytes, volumeBytes = len(claim), len(volume)
		return []clientv3.Op{clientv3.OpPut(claimKey, claim), clientv3.OpPut(volumeKey, volume)}, err
	})
	if err != nil {
		return err
	}
	fmt.Printf("seeded pairs=%d claim_bytes=%d volume_bytes=%d seconds=%.1f\n", o.pairs, claimBytes, volumeBytes, time.Since(start).Seconds())
	return nil
}
