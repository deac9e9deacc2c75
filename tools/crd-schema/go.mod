// A module of its own, as each tool below tools/ is.
module github.com/zoetrope/markdown-view/tools/crd-schema

go 1.26.0

tool github.com/zoetrope/markdown-view/tools/crd-schema

require (
	github.com/google/go-cmp v0.7.0
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v2 v2.4.2 // indirect
