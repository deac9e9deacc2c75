package generator

import (
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// A file that no ConfigMap can hold is in several, in parts. The kubelet can't put them
// together, so an init container does: it copies the whole files of the volume into an
// emptyDir, and writes the parts to the others.
const (
	// AssemblerName is the name of the init container.
	AssemblerName = "assemble"

	assemblyVolume = "book"
	partsMount     = "/pages"
	wholeFolder    = "book"  // in the volume of pages: files as they are, by their paths
	partsFolder    = "parts" // in it: folders of parts, by the file's number

	// AssemblyTools are what the init container needs of an image beside mdBook.
	AssemblyTools = "sh, cp, cat and mkdir"
)

// assemblyScript gets three arguments for each large file: the folder of its parts, the
// folder that it goes to, and its path. So whatever these hold, it is never read as a
// part of the script, which has neither $( nor ${ in it, that Kubernetes and Flux would
// replace. -L follows the kubelet's links to the files; what it keeps beside them isn't
// below the folder.
const assemblyScript = `if [ -e ` + partsMount + `/` + wholeFolder + ` ]; then
  cp -R -L -f ` + partsMount + `/` + wholeFolder + `/. ` + bookRoot + `/
fi
while [ $# -gt 0 ]; do
  mkdir -p "$2"
  cat "$1"/* >"$3"
  shift 3
done
`

func assembler(view *v1.MarkdownView, files layout) *corev1ac.ContainerApplyConfiguration {
	arguments := []string{AssemblerName}
	for i, p := range files.large {
		file := path.Join(bookRoot, p)
		arguments = append(arguments, path.Join(partsMount, partsFolder, strconv.Itoa(i)), unexpanded(path.Dir(file)), unexpanded(file))
	}
	return corev1ac.Container().
		WithName(AssemblerName).
		WithImage(imageOf(view)).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithCommand("sh", "-ec", assemblyScript).
		WithArgs(arguments...).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithResources(memoryOf(assemblyMemory/2, assemblyMemory)).
		WithSecurityContext(restricted()).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(pagesVolume).WithMountPath(partsMount).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(assemblyVolume).WithMountPath(bookRoot))
}

// unexpanded writes an argument so that Kubernetes, which replaces $(NAME) in it, makes
// of it what it was.
func unexpanded(argument string) string {
	return strings.ReplaceAll(argument, "$", "$$")
}

// assemblyMemory is the init container's limit, in bytes. The tools take 1 to 2 MB,
// however large the files are: what they write is page cache, which the kernel takes
// back. The rest is for the container runtime, which starts in the same limit.
const assemblyMemory = 32 * mebibyte

// assembly is the folder that the book is assembled in. Its limit is what the files take
// on a disk, with their folders, and a MiB.
func assembly(files layout) *corev1ac.VolumeApplyConfiguration {
	const block = 4 << 10
	size := int64(mebibyte)
	for _, e := range files.entries {
		size += (int64(len(e.content))+block-1)/block*block + block
	}
	size = (size + mebibyte - 1) / mebibyte * mebibyte
	return corev1ac.Volume().WithName(assemblyVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource().
		WithSizeLimit(*resource.NewQuantity(size, resource.BinarySI)))
}
