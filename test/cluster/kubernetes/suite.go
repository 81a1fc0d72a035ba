// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Keeps go.mod and go.sum complete for the programs that are built from other modules' packages: Kubernetes' end-to-end suite, its
// runner, and the image its pods use.
package main

import (
	_ "github.com/onsi/ginkgo/v2/ginkgo"
	_ "k8s.io/kubernetes/test/e2e"
	_ "k8s.io/kubernetes/test/images/agnhost"
)
