package build

// nodePrograms exist for Linux only.
var nodePrograms = []string{"kubelet", "kube-proxy"}
