// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Shared informers for claims and volumes as controllers make them, nothing trimmed. Prints a line when both are filled, and one for each
// SIGUSR1. Ends with SIGTERM.
func runInformer(o *options) error {
	client, err := o.client("client-go-informer")
	if err != nil {
		return err
	}
	var events atomic.Int64
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { events.Add(1) },
		UpdateFunc: func(any, any) { events.Add(1) },
		DeleteFunc: func(any) { events.Add(1) },
	}
	factory := informers.NewSharedInformerFactory(client, 15*time.Minute)
	claims := factory.Core().V1().PersistentVolumeClaims().Informer()
	volumes := factory.Core().V1().PersistentVolumes().Informer()
	for _, informer := range []cache.SharedIndexInformer{claims, volumes} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	report := func(what string) {
		var usage syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
		fmt.Printf("%s cpu_us=%d events=%d objects=%d\n", what,
			(usage.Utime.Sec+usage.Stime.Sec)*1e6+usage.Utime.Usec+usage.Stime.Usec, events.Load(),
			len(claims.GetStore().ListKeys())+len(volumes.GetStore().ListKeys()))
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGTERM)
	stop := make(chan struct{})
	start := time.Now()
	factory.Start(stop)
	if !cache.WaitForCacheSync(stop, claims.HasSynced, volumes.HasSynced) {
		return fmt.Errorf("the caches did not fill")
	}
	report(fmt.Sprintf("synced wall_us=%d", time.Since(start).Microseconds()))
	for s := range signals {
		if s == syscall.SIGTERM {
			break
		}
		report("report")
	}
	close(stop)
	factory.Shutdown()
	return nil
}
