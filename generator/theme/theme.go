// Package theme finds what keeps mdBook 0.5.4 from rendering with a book's theme:
// templates that it can't read or that call what isn't there, and icons that it
// doesn't have.
//
// The package is pure: bytes in, faults out. It may import the standard library only.
package theme
