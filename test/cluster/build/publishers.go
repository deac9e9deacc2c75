package build

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
)

// Where the publishers offer their programs; the variables name mirrors of the same
// layout.
const (
	kubernetesReleases = "KUBERNETES_RELEASES"
	etcdReleases       = "ETCD_RELEASES"
	kwokReleases       = "KWOK_RELEASES"
	kwokChecksums      = "KWOK_CHECKSUMS"
)

var publishers = map[string]string{
	kubernetesReleases: "https://dl.k8s.io",
	etcdReleases:       "https://github.com/etcd-io/etcd/releases/download",
	kwokReleases:       "https://github.com/kubernetes-sigs/kwok/releases/download",
	kwokChecksums:      "https://api.github.com/repos/kubernetes-sigs/kwok/releases/tags",
}

func publisher(variable string) string {
	if base := os.Getenv(variable); base != "" {
		return strings.TrimSuffix(base, "/")
	}
	return publishers[variable]
}

// releasesOfKubernetes are none where its publisher offers no control plane: it does for
// Linux only.
func releasesOfKubernetes(version string) []release {
	if runtime.GOOS != "linux" {
		return nil
	}
	var releases []release
	for _, program := range slices.Concat(kubernetesPrograms, nodePrograms) {
		url := fmt.Sprintf("%s/%s/bin/linux/%s/%s", publisher(kubernetesReleases), version, runtime.GOARCH, program)
		r := release{program: program, version: version, versionArgs: []string{"--version"}, url: url, checksums: url + ".sha256", sumOf: onlySum}
		if program == "kubectl" {
			r.versionArgs = []string{"version", "--client"}
		}
		releases = append(releases, r)
	}
	return releases
}

// releasesOfEtcd is for where Kubernetes' are.
func releasesOfEtcd(version string) []release {
	if runtime.GOOS != "linux" {
		return nil
	}
	folder := publisher(etcdReleases) + "/" + version
	name := fmt.Sprintf("etcd-%s-linux-%s", version, runtime.GOARCH)
	archive := name + ".tar.gz"
	return []release{{
		program: "etcd", version: strings.TrimPrefix(version, "v"), versionArgs: []string{"--version"}, archive: name + "/etcd",
		url: folder + "/" + archive, checksums: folder + "/SHA256SUMS", sumOf: sumInList(archive),
	}}
}

// releasesOfKwok has its checksum from GitHub, which computes it: kwok offers none
// beside its programs.
func releasesOfKwok(version string) []release {
	name := fmt.Sprintf("kwok-%s-%s", runtime.GOOS, runtime.GOARCH)
	return []release{{
		program: "kwok", version: version, versionArgs: []string{"--version"},
		url: publisher(kwokReleases) + "/" + version + "/" + name, checksums: publisher(kwokChecksums) + "/" + version, sumOf: sumInRelease(name),
	}}
}
