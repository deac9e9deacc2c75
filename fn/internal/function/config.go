package function

import (
	"cmp"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// TransformerKind is the kind of a functionConfig that has every MarkdownView
// among the items expanded.
const TransformerKind = "MarkdownViewTransformer"

// Mode says what is done with the views.
type Mode string

const (
	// Expand adds what the views expand to. It is the default.
	Expand Mode = "Expand"
	// Validate checks the views and leaves the items as they came.
	Validate Mode = "Validate"
)

// Transformer is the functionConfig of kind MarkdownViewTransformer.
type Transformer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Mode is Expand or Validate; empty means Expand.
	Mode Mode `json:"mode,omitempty"`
}

// config is what a functionConfig asks for.
type config struct {
	// node is the functionConfig without YAML aliases.
	node *yaml.RNode
	mode Mode
	// generates says that the functionConfig is itself the one view to expand.
	generates bool
}

func readConfig(raw *yaml.RNode) (config, framework.Results) {
	if raw.IsNilOrEmpty() {
		return config{}, framework.Results{fault("the ResourceList has no functionConfig: set it to a MarkdownView to expand that one, or to a %s or a ConfigMap to expand every MarkdownView among the items", TransformerKind)}
	}
	node, err := withoutAliases(raw)
	if err != nil {
		return config{}, framework.Results{fault("the functionConfig can't be read: %v", err)}
	}
	switch apiVersion, kind := node.GetApiVersion(), node.GetKind(); {
	case apiVersion == v1.GroupVersion.String() && kind == v1.Kind:
		return config{node: node, mode: Expand, generates: true}, nil
	case apiVersion == v1.GroupVersion.String() && kind == TransformerKind:
		return readTransformer(node)
	case apiVersion == "v1" && kind == "ConfigMap":
		return readConfigMap(node)
	default:
		return config{}, framework.Results{faultOf(node, "", "a functionConfig of apiVersion %s and kind %s is not known: use %s %s, %s %s, or v1 ConfigMap",
			quoted(apiVersion), quoted(kind), v1.GroupVersion, v1.Kind, v1.GroupVersion, TransformerKind)}
	}
}

func quoted(word string) string {
	if word == "" {
		return "none"
	}
	return strconv.Quote(word)
}

func readTransformer(node *yaml.RNode) (config, framework.Results) {
	var transformer Transformer
	if faults := decode(node, &transformer); len(faults) > 0 {
		return config{}, faults
	}
	return configOf(node, "mode", string(transformer.Mode))
}

// settings is a ConfigMap as far as the function takes it for its configuration.
type settings struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Data map[string]string `json:"data,omitempty"`
}

// readConfigMap reads the settings as kpt passes them.
func readConfigMap(node *yaml.RNode) (config, framework.Results) {
	var given settings
	if faults := decode(node, &given); len(faults) > 0 {
		return config{}, faults
	}
	data := given.Data
	var unknown framework.Results
	for _, key := range sortedKeys(data) {
		if key != "mode" {
			unknown = append(unknown, faultOf(node, "data."+key, "unknown setting%s", cmp.Or(suggestion(key, []string{"mode"}), ": drop it, the only one is mode")))
		}
	}
	if len(unknown) > 0 {
		return config{}, unknown
	}
	return configOf(node, "data.mode", data["mode"])
}

func configOf(node *yaml.RNode, field, mode string) (config, framework.Results) {
	switch Mode(mode) {
	case "", Expand:
		return config{node: node, mode: Expand}, nil
	case Validate:
		return config{node: node, mode: Validate}, nil
	}
	return config{}, framework.Results{faultOf(node, field, "%.60q is not known: use %s or %s", mode, Expand, Validate)}
}

func fault(format string, args ...any) *framework.Result {
	return &framework.Result{Severity: framework.Error, Message: fmt.Sprintf(format, args...)}
}
