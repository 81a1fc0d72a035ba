// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// The objects of one kind that a step of a benchmark is about.
type followed struct {
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	ours  func(runtime.Object) bool
	ready func(runtime.Object) bool
}

// A list function of a client as await wants it.
func listed[List runtime.Object](list func(context.Context, metav1.ListOptions) (List, error)) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	}
}

// Calls with each number of the range, several at a time, at the rate that was asked for.
func (o *options) each(ctx context.Context, call func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.workers)
	start := time.Now()
	for i := range o.count {
		if o.rate > 0 {
			time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(o.rate))))
		}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return call(o.first + i) })
	}
	return group.Wait()
}

// Creates one object for each number and waits until all of f are ready; prints how long that took, under the given word.
func (o *options) create(ctx context.Context, word string, f followed, create func(ctx context.Context, i int) error) error {
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return o.each(ctx, func(i int) error { return create(ctx, i) }) })
	group.Go(func() error {
		return o.await(ctx, f, func(_, ready int) bool { return ready == o.count })
	})
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Printf("%s count=%d ms=%d\n", word, o.count, time.Since(start).Milliseconds())
	return nil
}

// Deletes one object for each number and waits until all of each kind are gone; prints how long that took, under the given word.
func (o *options) remove(ctx context.Context, word string, remove func(i int) error, kinds ...followed) error {
	start := time.Now()
	if err := o.each(ctx, remove); err != nil {
		return err
	}
	for _, f := range kinds {
		if err := o.await(ctx, f, func(there, _ int) bool { return there == 0 }); err != nil {
			return err
		}
	}
	fmt.Printf("%s count=%d ms=%d\n", word, o.count, time.Since(start).Milliseconds())
	return nil
}

// Returns when done says so of the number of our objects that are there, and of those that are ready.
func (o *options) await(ctx context.Context, f followed, done func(there, ready int) bool) error {
	var there, ready atomic.Int64
	progress := time.AfterFunc(30*time.Minute, func() {
		fail(fmt.Sprintf("after half an hour %d objects are there, %d ready", there.Load(), ready.Load()))
	})
	defer progress.Stop()
	for {
		list, err := f.list(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		state := map[string]bool{}
		set := func(object runtime.Object, exists bool) error {
			named, err := meta.Accessor(object)
			if err != nil {
				return err
			}
			name := named.GetName()
			if state[name] {
				ready.Add(-1)
			}
			delete(state, name)
			if exists && f.ours(object) {
				state[name] = f.ready(object)
				if state[name] {
					ready.Add(1)
				}
			}
			there.Store(int64(len(state)))
			return nil
		}
		ready.Store(0)
		if err := meta.EachListItem(list, func(object runtime.Object) error { return set(object, true) }); err != nil {
			return err
		}
		if done(len(state), int(ready.Load())) {
			return nil
		}
		version, err := meta.ListAccessor(list)
		if err != nil {
			return err
		}
		watcher, err := f.watch(ctx, metav1.ListOptions{ResourceVersion: version.GetResourceVersion()})
		if err != nil {
			return err
		}
		for event := range watcher.ResultChan() {
			if event.Type == watch.Error {
				break
			}
			if err := set(event.Object, event.Type != watch.Deleted); err != nil {
				return err
			}
			if done(len(state), int(ready.Load())) {
				watcher.Stop()
				return nil
			}
		}
		watcher.Stop()
	}
}
