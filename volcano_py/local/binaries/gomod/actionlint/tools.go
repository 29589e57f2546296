//go:build tools

// Package tools names actionlint, so that go.mod and go.sum pin every module it is built from.
package tools

import _ "github.com/rhysd/actionlint/cmd/actionlint"
