//go:build !linux

package build

// nodePrograms exist for Linux only.
var nodePrograms []string
