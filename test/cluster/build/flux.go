package build

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
)

// The names of Flux's controllers that tests run.
const (
	SourceController    = "source-controller"
	KustomizeController = "kustomize-controller"
)

var fluxControllers = []string{SourceController, KustomizeController}

// FluxControllers returns the paths of Flux's controllers by their names. What isn't
// built yet is built, which takes minutes.
func FluxControllers(ctx context.Context, log Log) (map[string]string, error) {
	programs := map[string]string{}
	for _, name := range fluxControllers {
		recipe, err := fluxController(name)
		if err != nil {
			return nil, err
		}
		bin, err := recipe.cached(ctx, log)
		if err != nil {
			return nil, err
		}
		programs[name] = filepath.Join(bin, name)
	}
	return programs, nil
}

// FluxDefinitions returns the folders with the CustomResourceDefinitions of Flux's
// controllers: those of their modules, which are fetched if they aren't there.
func FluxDefinitions(ctx context.Context) ([]string, error) {
	var folders []string
	for _, name := range fluxControllers {
		recipe, err := fluxController(name)
		if err != nil {
			return nil, err
		}
		folder, err := recipe.moduleFolder(ctx, recipe.steps[0].packages[0])
		if err != nil {
			return nil, err
		}
		folders = append(folders, filepath.Join(folder, "config", "crd", "bases"))
	}
	return folders, nil
}

// moduleFolder is that of a module that the recipe's requires, which is fetched if it isn't
// there.
func (r recipe) moduleFolder(ctx context.Context, name string) (string, error) {
	var printed bytes.Buffer
	if err := r.goCommand(ctx, []string{"mod", "download", "-json", name}, &printed, nil); err != nil {
		return "", err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(printed.Bytes(), &module); err != nil {
		return "", fmt.Errorf("find the module %s: %w", name, err)
	}
	return module.Dir, nil
}

// fluxController says how one is built: each from a module of its own, because what
// they replace differs.
func fluxController(name string) (recipe, error) {
	repository, err := Repository()
	if err != nil {
		return recipe{}, err
	}
	module := filepath.Join(repository, "test", "fluxcontrollers", name)
	main := "github.com/fluxcd/" + name
	versions, err := required(filepath.Join(module, "go.mod"), main)
	if err != nil {
		return recipe{}, err
	}
	return recipe{
		name:     name,
		versions: versions,
		module:   module,
		steps:    []step{{what: "compiling Flux's " + name, packages: []string{main}, args: compile(main)}},
	}, nil
}
