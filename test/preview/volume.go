package preview

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// payload are the files of a volume by their paths.
type payload map[string][]byte

// payloadOf collects what a volume holds. The kubelet mounts all of it or nothing.
func (p *pod) payloadOf(volume corev1.Volume) (payload, error) {
	files := payload{}
	add := func(name string, items []corev1.KeyToPath) error {
		configMap, ok := p.configMaps[name]
		if !ok {
			return fmt.Errorf("there is no ConfigMap %s", name)
		}
		for _, item := range items {
			content, ok := configMap.BinaryData[item.Key]
			if text, isText := configMap.Data[item.Key]; isText {
				content, ok = []byte(text), true
			}
			if !ok {
				return fmt.Errorf("the ConfigMap %s has no key %s", name, item.Key)
			}
			if !filepath.IsLocal(item.Path) {
				return fmt.Errorf("the path %s of the volume %s leads out of it", item.Path, volume.Name)
			}
			files[path.Clean(item.Path)] = content
		}
		return nil
	}
	switch {
	case volume.ConfigMap != nil:
		return files, add(volume.ConfigMap.Name, volume.ConfigMap.Items)
	case volume.Projected != nil:
		for _, source := range volume.Projected.Sources {
			if source.ConfigMap == nil {
				return nil, fmt.Errorf("the volume %s has a source that only a cluster has", volume.Name)
			}
			if err := add(source.ConfigMap.Name, source.ConfigMap.Items); err != nil {
				return nil, err
			}
		}
		return files, nil
	case volume.EmptyDir != nil, volume.DownwardAPI != nil: // mdBook reads none of these
		return nil, nil
	}
	return nil, fmt.Errorf("the volume %s is of a kind that only a cluster has", volume.Name)
}

const dataLink = "..data"

// write replaces the files of a folder at once, as the kubelet does: they are in a
// folder of their own, a link leads to it, and another from each name at the top.
func (f payload) write(folder string) error {
	fresh, err := os.MkdirTemp(folder, "..")
	if err != nil {
		return err
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return err
	}
	tops := map[string]bool{}
	for file, content := range f {
		at := filepath.Join(fresh, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, content, 0o644)); err != nil {
			return err
		}
		top, _, _ := strings.Cut(file, "/")
		tops[top] = true
	}
	link := filepath.Join(folder, dataLink)
	old, _ := os.Readlink(link)
	if err := errors.Join(os.Symlink(filepath.Base(fresh), link+"_tmp"), os.Rename(link+"_tmp", link)); err != nil {
		return err
	}
	if err := linkTops(folder, tops); err != nil {
		return err
	}
	if old != "" {
		return os.RemoveAll(filepath.Join(folder, old))
	}
	return nil
}

func linkTops(folder string, tops map[string]bool) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := entry.Name(); entry.Type() == os.ModeSymlink && name != dataLink && !tops[name] {
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				return err
			}
		}
	}
	for top := range tops {
		err := os.Symlink(filepath.Join(dataLink, top), filepath.Join(folder, top))
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}
