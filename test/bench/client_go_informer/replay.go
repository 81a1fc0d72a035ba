// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The only thing a watch of ours ever asks for.
const streamType = "application/vnd.kubernetes.protobuf;stream=watch"

const (
	claimsPath  = "/api/v1/persistentvolumeclaims"
	volumesPath = "/api/v1/persistentvolumes"
	classesPath = "/apis/storage.k8s.io/v1/storageclasses"
)

// A server that does nothing but send: the claims and volumes as the API server sends them, then changes of them at any rate, when
// /churn?rate=R&seconds=S asks for them. One watch of each at a time. For rates that an API server with its etcd cannot reach on a
// small machine.
func replay(ctx context.Context, o *options) error {
	client, err := o.client("bench-replay")
	if err != nil {
		return err
	}
	first, err := readFirst(ctx, client)
	if err != nil {
		return err
	}
	r := &replayer{first: first, pairs: o.pairs, claims: make(chan []byte, 1<<17), volumes: make(chan []byte, 1<<17)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+claimsPath, func(w http.ResponseWriter, q *http.Request) { r.watch(w, q, "PersistentVolumeClaim", r.claims) })
	mux.HandleFunc("GET "+volumesPath, func(w http.ResponseWriter, q *http.Request) { r.watch(w, q, "PersistentVolume", r.volumes) })
	mux.HandleFunc("GET "+classesPath, func(w http.ResponseWriter, q *http.Request) { r.watch(w, q, "StorageClass", nil) })
	mux.HandleFunc("GET /churn", r.churn)
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	server := &http.Server{Handler: mux}
	return server.ServeTLS(listener, filepath.Join(o.pki, "apiserver.crt"), filepath.Join(o.pki, "apiserver.key"))
}

type replayer struct {
	first           *pair
	pairs           int
	claims, volumes chan []byte
	changes         int
}

// Sends the initial state if it is wanted, then what comes. Bytes go out when nothing more waits, as from the API server.
func (r *replayer) watch(w http.ResponseWriter, q *http.Request, kind string, changes <-chan []byte) {
	if q.FormValue("watch") != "true" {
		http.Error(w, "only watches here", http.StatusNotImplemented)
		return
	}
	w.Header().Set("Content-Type", streamType)
	control := http.NewResponseController(w)
	if q.FormValue("sendInitialEvents") == "true" {
		if changes != nil {
			for i := range r.pairs {
				w.Write(r.frame("ADDED", kind, i, 1000+i, ""))
			}
		}
		bookmark := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: "1000000", Annotations: map[string]string{"k8s.io/initial-events-end": "true"}}}
		w.Write(frame("BOOKMARK", storedMetadata(&bookmark, kind)))
	}
	control.Flush()
	for {
		select {
		case change := <-changes:
			w.Write(change)
			if len(changes) == 0 {
				control.Flush()
			}
		case <-q.Context().Done():
			return
		}
	}
}

// Changes claims and volumes in turn.
func (r *replayer) churn(w http.ResponseWriter, q *http.Request) {
	rate, _ := strconv.Atoi(q.FormValue("rate"))
	seconds, _ := strconv.Atoi(q.FormValue("seconds"))
	start, sent := time.Now(), 0
	for time.Since(start) < time.Duration(seconds)*time.Second {
		for due := int(time.Since(start) * time.Duration(rate) / time.Second); sent < due; sent++ {
			r.changes++
			i := pairOfWrite(r.changes, r.pairs)
			change := fmt.Sprintf("%s-%d", stamp(), r.changes)
			if r.changes%2 == 0 {
				r.claims <- r.frame("MODIFIED", "PersistentVolumeClaim", i, 1000000+r.changes, change)
			} else {
				r.volumes <- r.frame("MODIFIED", "PersistentVolume", i, 1000000+r.changes, change)
			}
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Fprint(w, churned("replay", sent, time.Since(start)))
}

func (r *replayer) frame(event, kind string, i, version int, change string) []byte {
	p := r.first.numbered(i, change)
	p.claim.ResourceVersion, p.volume.ResourceVersion = strconv.Itoa(version), strconv.Itoa(version)
	entry := p.claimEntry
	if kind == "PersistentVolume" {
		entry = p.volumeEntry
	}
	_, object, err := entry()
	if err != nil {
		panic(err)
	}
	return frame(event, object)
}

// One event as the stream has it.
func frame(event, object string) []byte {
	message, err := (&metav1.WatchEvent{Type: event, Object: runtime.RawExtension{Raw: []byte(object)}}).Marshal()
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}
