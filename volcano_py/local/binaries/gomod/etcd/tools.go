//go:build tools

// Package tools names etcd's server command, so that go.mod and go.sum pin every module it is built from.
package tools

import _ "go.etcd.io/etcd/server/v3"
