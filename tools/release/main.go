// Command release makes what a release consists of, and publishes it:
//
//	release build -version v1.2.3   fills dist/
//	release push                    pushes the image and the manifests in dist/ to a registry
//	release licenses                writes the licences of what the programs are linked with
//
// The same commit and the same Go give the same bytes, in whatever folder and on whatever
// machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// defaultPlatforms are what the programs are built for; the image is for those with Linux.
const defaultPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	if len(args) == 0 {
		return errors.New("the command is missing: build, push or licenses")
	}
	switch args[0] {
	case "build":
		options, err := parseBuild(args[1:], stderr)
		if err != nil {
			return err
		}
		return build(ctx, options, stderr)
	case "push":
		options, err := parsePush(args[1:], stderr)
		if err != nil {
			return err
		}
		return push(ctx, options, stderr)
	case "licenses":
		flags := flag.NewFlagSet("release licenses", flag.ContinueOnError)
		flags.SetOutput(stderr)
		source := flags.String("source", ".", "the project's `folder`")
		if err := parseFlags(flags, args[1:]); err != nil {
			return err
		}
		platforms, err := parsePlatforms(defaultPlatforms)
		if err != nil {
			return err
		}
		return writeLicenses(ctx, *source, platforms, filepath.Join(*source, "tools", "release", "rootfs", licensesFile))
	default:
		return fmt.Errorf("unknown command %q: build, push or licenses", args[0])
	}
}

func parseBuild(args []string, stderr io.Writer) (buildOptions, error) {
	flags := flag.NewFlagSet("release build", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var o buildOptions
	flags.StringVar(&o.source, "source", ".", "the project's `folder`")
	flags.StringVar(&o.dist, "dist", "dist", "the `folder` that is filled; what an earlier release left there is removed")
	flags.StringVar(&o.version, "version", "", "the release's `version`, v1.2.3 or v1.2.3-rc.1")
	flags.StringVar(&o.repository, "image", "ghcr.io/zoetrope/markdown-view", "the image's `name`, without a tag, that install.yaml pulls it by")
	platforms := flags.String("platforms", defaultPlatforms, "the `platforms` to build for, separated by commas or spaces")
	if err := parseFlags(flags, args); err != nil {
		return o, err
	}
	var err error
	o.platforms, err = parsePlatforms(*platforms)
	return o, errors.Join(err, checkVersion(o.version))
}

func parsePush(args []string, stderr io.Writer) (pushOptions, error) {
	flags := flag.NewFlagSet("release push", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var o pushOptions
	flags.StringVar(&o.dist, "dist", "dist", "the `folder` that release build has filled")
	flags.StringVar(&o.repository, "image", "", "push the image by this `name`, a mirror's say, and the manifests beside it; without it by the name in install.yaml")
	flags.BoolVar(&o.insecure, "insecure", false, "the registry has no TLS")
	return o, parseFlags(flags, args)
}

func parseFlags(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return nil
}

// platform is what a program is built for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// file is the platform in names of files.
func (p platform) file() string { return p.os + "_" + p.arch }

func parsePlatforms(text string) ([]platform, error) {
	var platforms []platform
	seen := map[platform]bool{}
	linux := false
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		name, arch, ok := strings.Cut(field, "/")
		if !ok || name == "" || arch == "" || strings.Contains(arch, "/") {
			return nil, fmt.Errorf("platform %q: must be like linux/amd64", field)
		}
		p := platform{name, arch}
		if seen[p] {
			return nil, fmt.Errorf("platform %q is named twice", field)
		}
		seen[p] = true
		linux = linux || p.os == "linux"
		platforms = append(platforms, p)
	}
	if !linux {
		return nil, errors.New("no platform has Linux, which the image is for: add linux/amd64")
	}
	return platforms, nil
}
