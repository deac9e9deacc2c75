package build

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
)

// Flux is where Flux's controllers are.
type Flux struct {
	// SourceController and KustomizeController are the programs.
	SourceController, KustomizeController string
	// CRDs are the folders with their CustomResourceDefinitions.
	CRDs []string
}

// FluxControllers returns Flux's source-controller and kustomize-controller. What
// isn't built yet is built, which takes minutes.
func FluxControllers(ctx context.Context, log Log) (*Flux, error) {
	flux := &Flux{}
	for name, program := range map[string]*string{
		"source-controller": &flux.SourceController, "kustomize-controller": &flux.KustomizeController,
	} {
		recipe, err := fluxController(name)
		if err != nil {
			return nil, err
		}
		bin, err := recipe.cached(ctx, log)
		if err != nil {
			return nil, err
		}
		*program = filepath.Join(bin, name)
		// The programs may be in the cache without their module.
		var module bytes.Buffer
		if err := recipe.goCommand(ctx, []string{"mod", "download", "-json", recipe.packages[0]}, &module, nil); err != nil {
			return nil, err
		}
		var downloaded struct{ Dir string }
		if err := json.Unmarshal(module.Bytes(), &downloaded); err != nil {
			return nil, fmt.Errorf("find the module of %s: %w", name, err)
		}
		flux.CRDs = append(flux.CRDs, filepath.Join(downloaded.Dir, "config", "crd", "bases"))
	}
	return flux, nil
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
		packages: []string{main},
		steps:    []step{{what: "compiling Flux's " + name, args: compile(main)}},
	}, nil
}
