//go:build tools

// Package tools names KWOK's controller, so that go.mod and go.sum pin every module it is built from.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
