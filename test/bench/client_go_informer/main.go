// SPDX-License-Identifier: Apache-2.0

// The Go side of the informer benchmark (test/cluster/lib/bench-informer.sh): a client-go informer to compare with, and what fills the
// cluster and changes it. It also fills clusters for the benchmarks of csi-attacher and csi-provisioner (bench-attacher.sh and bench-provisioner.sh there).
//
//	client_go_informer informer --kubeconfig FILE
//	client_go_informer seed  --kubeconfig FILE --etcd URL --pki DIR [--pairs N]
//	client_go_informer churn --kubeconfig FILE --etcd URL --pki DIR [--pairs N] --seconds N --rate N --via etcd|api|replay
//	client_go_informer replay --kubeconfig FILE --pki DIR [--pairs N] --listen ADDRESS
//	client_go_informer attachments-volumes|attachments-fill|attachments-empty --kubeconfig FILE --etcd URL --pki DIR --tag TAG [--count N]
//	client_go_informer attachments-attach|attachments-detach --kubeconfig FILE --tag TAG [--first N] [--count N] [--rate N]
//	client_go_informer claims-create|claims-delete --kubeconfig FILE --tag TAG [--first N] [--count N] [--rate N]
//	client_go_informer claims-empty --kubeconfig FILE --etcd URL --pki DIR
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type options struct {
	kubeconfig string
	etcd       string
	pki        string
	pairs      int
	seconds    int
	rate       int
	via        string
	workers    int
	listen     string
	tag        string
	first      int
	count      int
}

func main() {
	if len(os.Args) < 2 {
		fail("usage: client_go_informer informer|seed|churn|replay FLAG...")
	}
	var o options
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "a kubeconfig file")
	flags.StringVar(&o.etcd, "etcd", "", "etcd's URL")
	flags.StringVar(&o.pki, "pki", "", "the folder of the cluster's certificates")
	flags.IntVar(&o.pairs, "pairs", 50000, "how many claims, and as many volumes")
	flags.IntVar(&o.seconds, "seconds", 20, "how long to write")
	flags.IntVar(&o.rate, "rate", 5000, "writes a second; 0: as many as can be")
	flags.StringVar(&o.via, "via", "etcd", "etcd: write the stored bytes; api: patch; replay: let the replaying server make up events")
	flags.IntVar(&o.workers, "workers", 16, "writes at a time")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "where the replaying server listens")
	flags.StringVar(&o.tag, "tag", "", "in the names of claims, volumes and attachments")
	flags.IntVar(&o.first, "first", 0, "number of the first attachment or claim")
	flags.IntVar(&o.count, "count", 1, "how many volumes, attachments or claims")
	flags.Parse(os.Args[2:])
	var err error
	switch os.Args[1] {
	case "informer":
		err = runInformer(&o)
	case "seed":
		err = seed(context.Background(), &o)
	case "churn":
		err = churn(context.Background(), &o)
	case "replay":
		err = replay(context.Background(), &o)
	default:
		switch {
		case strings.HasPrefix(os.Args[1], "attachments-"):
			err = attachments(context.Background(), os.Args[1], &o)
		case strings.HasPrefix(os.Args[1], "claims-"):
			err = claims(context.Background(), os.Args[1], &o)
		default:
			fail("unknown command " + os.Args[1])
		}
	}
	if err != nil {
		fail(err.Error())
	}
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, "client_go_informer: "+text)
	os.Exit(1)
}

// A client that is not held up by its own limits, in the encoding that sidecars use.
func (o *options) client(name string) (*kubernetes.Clientset, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	config.UserAgent = name
	return kubernetes.NewForConfig(config)
}

func (o *options) config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config, nil
}
