// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Changes that are put into etcd at once: one by one it costs etcd more than all others together.
const etcdBatch = 10

// How often the writers' shares are given out.
const tick = 10 * time.Millisecond

// Changes claims and volumes in turn, one after the other, at a steady rate; prints how many it changed.
func churn(ctx context.Context, o *options) error {
	if o.via == "replay" {
		return churnReplay(ctx, o)
	}
	client, err := o.client("bench-writer")
	if err != nil {
		return err
	}
	first, err := readFirst(ctx, client)
	if err != nil {
		return err
	}
	// Makes changes begin to end.
	var write func(begin, end int) error
	batch := 1
	switch o.via {
	case "etcd":
		etcd, err := o.etcdClient()
		if err != nil {
			return err
		}
		defer etcd.Close()
		batch = etcdBatch
		write = func(begin, end int) error { return put(ctx, etcd, first, begin, end, o.pairs) }
	case "api":
		write = func(begin, _ int) error { return patch(ctx, client, first, begin, o.pairs) }
	default:
		return fmt.Errorf("unknown way %q", o.via)
	}

	start := time.Now()
	end := start.Add(time.Duration(o.seconds) * time.Second)
	var given, done atomic.Int64
	permits := make(chan struct{}, 1<<20)
	go func() {
		defer close(permits)
		for now := start; now.Before(end); now = time.Now() {
			due := int64(o.rate) * now.Sub(start).Microseconds() / 1e6
			if o.rate == 0 {
				due = given.Load() + int64(2*o.workers-len(permits))
			}
			for given.Load() < due {
				permits <- struct{}{}
				given.Add(1)
			}
			time.Sleep(tick)
		}
	}()
	var group sync.WaitGroup
	var failure atomic.Value
	var next atomic.Int64
	for range o.workers {
		group.Go(func() {
			for range permits {
				if time.Now().After(end) {
					continue
				}
				n := 1
				for ; n < batch; n++ {
					if _, more := tryReceive(permits); !more {
						break
					}
				}
				first := int(next.Add(int64(n))) - n
				if err := write(first, first+n); err != nil {
					failure.Store(err)
					return
				}
				done.Add(int64(n))
			}
		})
	}
	group.Wait()
	if err, failed := failure.Load().(error); failed {
		return err
	}
	fmt.Print(churned(o.via, int(done.Load()), time.Since(start)))
	return nil
}

func churned(via string, writes int, took time.Duration) string {
	return fmt.Sprintf("churned via=%s writes=%d seconds=%.2f rate=%.0f\n", via, writes, took.Seconds(), float64(writes)/took.Seconds())
}

// Write i changes an object of this pair, claims and volumes in turn. The first pair, of which all are copies, stays as it is.
func pairOfWrite(i, pairs int) int { return 1 + i/2%(pairs-1) }

// Asks the replaying server, which is the one of the kubeconfig, and passes its answer on.
func churnReplay(ctx context.Context, o *options) error {
	client, err := o.client("bench-writer")
	if err != nil {
		return err
	}
	answer, err := client.RESTClient().Get().AbsPath("/churn").Param("rate", strconv.Itoa(o.rate)).
		Param("seconds", strconv.Itoa(o.seconds)).Do(ctx).Raw()
	if err != nil {
		return err
	}
	fmt.Print(string(answer))
	return nil
}

func tryReceive(permits <-chan struct{}) (struct{}, bool) {
	select {
	case permit, open := <-permits:
		return permit, open
	default:
		return struct{}{}, false
	}
}

// Puts these changes at once. The number of the change keeps a value from coming twice.
func put(ctx context.Context, etcd *clientv3.Client, first *pair, begin, end, pairs int) error {
	var puts []clientv3.Op
	for i := begin; i < end; i++ {
		p := first.numbered(pairOfWrite(i, pairs), fmt.Sprintf("%s-%d", stamp(), i))
		entry := p.claimEntry
		if i%2 == 1 {
			entry = p.volumeEntry
		}
		key, value, err := entry()
		if err != nil {
			return err
		}
		puts = append(puts, clientv3.OpPut(key, value))
	}
	_, err := etcd.Txn(ctx).Then(puts...).Commit()
	return err
}

func patch(ctx context.Context, client *kubernetes.Clientset, first *pair, i, pairs int) error {
	p := first.numbered(pairOfWrite(i, pairs), "")
	if i%2 == 1 {
		_, err := client.CoreV1().PersistentVolumes().Patch(ctx, p.volume.Name, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/backup":"%s-%d"}}}`, stamp(), i), metav1.PatchOptions{})
		return err
	}
	_, err := client.CoreV1().PersistentVolumeClaims(namespace).Patch(ctx, p.claim.Name, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/owner":"%s-%d"}}}`, stamp(), i), metav1.PatchOptions{})
	return err
}
