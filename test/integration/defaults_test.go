package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
)

// podPatch and containerPatch are patches of fields of the pods and of their container.
func podPatch(fields string) v1.Patch {
	return patchOf("Deployment", "spec: {template: {spec: {"+fields+"}}}")
}

func containerPatch(fields string) v1.Patch {
	return podPatch("containers: [{name: mdbook, " + fields + "}]")
}

func servicePatch(fields string) v1.Patch {
	return patchOf("Service", "spec: {"+fields+"}")
}

// normalised are patches of which the API server keeps something else than they say: it
// drops what is zero or empty, fills in its default, or spells it otherwise.
var normalised = map[string]v1.Patch{
	"no delay":                      patchOf("Deployment", "spec: {minReadySeconds: 0}"),
	"no delay, as an operation":     patchOf("Deployment", "- {op: add, path: /spec/minReadySeconds, value: 0}"),
	"not paused":                    patchOf("Deployment", "spec: {paused: false}"),
	"the default history":           patchOf("Deployment", "spec: {revisionHistoryLimit: 10}"),
	"the default deadline":          patchOf("Deployment", "spec: {progressDeadlineSeconds: 600}"),
	"a strategy without a type":     patchOf("Deployment", "- {op: replace, path: /spec/strategy, value: {}}"),
	"a rolling update of nothing":   patchOf("Deployment", "- {op: replace, path: /spec/strategy, value: {rollingUpdate: {}}}"),
	"an empty type of strategy":     patchOf("Deployment", "spec: {strategy: {type: ''}}"),
	"empty annotations":             patchOf("Deployment", "metadata: {annotations: {}}"),
	"an empty annotation":           patchOf("Deployment", "metadata: {annotations: {a: ''}}"),
	"an empty label":                patchOf("ConfigMap", "metadata: {labels: {a: ''}}"),
	"a percentage":                  patchOf("Deployment", "spec: {strategy: {rollingUpdate: {maxSurge: 25%}}}"),
	"an empty name of the template": patchOf("Deployment", "spec: {template: {metadata: {name: ''}}}"),

	"no host network":                           podPatch("hostNetwork: false, hostPID: false, hostIPC: false"),
	"sharing no processes":                      podPatch("shareProcessNamespace: false"),
	"the default of restarts":                   podPatch("restartPolicy: Always"),
	"an empty restart policy":                   podPatch("restartPolicy: ''"),
	"an empty DNS policy":                       podPatch("dnsPolicy: ''"),
	"an empty scheduler":                        podPatch("schedulerName: ''"),
	"an empty priority class":                   podPatch("priorityClassName: ''"),
	"an empty hostname":                         podPatch("hostname: '', subdomain: '', nodeName: ''"),
	"an empty account":                          podPatch("serviceAccountName: ''"),
	"an account by its old name":                podPatch("serviceAccount: default"),
	"an empty account, old name":                podPatch("serviceAccount: ''"),
	"no node selector":                          podPatch("nodeSelector: {}"),
	"no tolerations":                            podPatch("tolerations: [], imagePullSecrets: [], hostAliases: []"),
	"an empty toleration":                       podPatch("tolerations: [{operator: Exists, key: '', value: '', effect: ''}]"),
	"an empty affinity":                         podPatch("affinity: {}"),
	"an affinity to no node":                    podPatch("affinity: {nodeAffinity: {}}"),
	"an affinity of weight and no topology key": podPatch("affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}"),
	"an empty DNS configuration":                podPatch("dnsConfig: {}"),
	"an option of DNS":                          podPatch("dnsConfig: {nameservers: [], options: [{name: ndots, value: ''}]}"),
	"no supplemental groups":                    podPatch("securityContext: {supplementalGroups: [], sysctls: []}"),
	"an emptyDir of no medium":                  podPatch("volumes: [{name: extra, emptyDir: {medium: ''}}]"),
	"an emptyDir of 1024Mi":                     podPatch("volumes: [{name: extra, emptyDir: {sizeLimit: 1024Mi}}]"),
	"a hostPath of no type":                     podPatch("volumes: [{name: extra, hostPath: {path: /a, type: ''}}]"),
	"a Secret of no mode":                       podPatch("volumes: [{name: extra, secret: {secretName: a, optional: false}}]"),
	"a projection of nothing":                   podPatch("volumes: [{name: extra, projected: {sources: []}}]"),
	"a token's empty audience":                  podPatch("volumes: [{name: extra, projected: {sources: [{serviceAccountToken: {path: a, audience: ''}}]}}]"),
	"a downward item":                           podPatch("volumes: [{name: extra, downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}]"),
	"a spread without a selector":               podPatch("topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, maxSkew: 1, matchLabelKeys: []}]"),
	"no overhead":                               podPatch("overhead: {}"),

	"a container that isn't interactive": containerPatch("stdin: false, stdinOnce: false, tty: false"),
	"an empty pull policy":               containerPatch("imagePullPolicy: ''"),
	"an empty path of messages":          containerPatch("terminationMessagePath: '', terminationMessagePolicy: ''"),
	"an empty variable":                  containerPatch("env: [{name: EMPTY, value: ''}]"),
	"a variable of a field":              containerPatch("env: [{name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"),
	"a variable of the default divisor":  containerPatch("env: [{name: CPUS, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]"),
	"a variable of no divisor":           containerPatch("env: [{name: CPUS, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: '0'}}}]"),
	"an empty prefix":                    containerPatch("envFrom: [{prefix: '', configMapRef: {name: a, optional: false}}]"),
	"a probe of zeros":                   containerPatch("readinessProbe: {initialDelaySeconds: 0, timeoutSeconds: 0, successThreshold: 0, failureThreshold: 0}"),
	"a probe's empty scheme":             containerPatch("readinessProbe: {httpGet: {scheme: '', host: ''}}"),
	"a probe's defaults":                 containerPatch("readinessProbe: {timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3}"),
	"a port of no host":                  containerPatch("ports: [{containerPort: 3000, protocol: TCP, hostPort: 0, hostIP: ''}]"),
	"a port without its protocol":        patchOf("Deployment", "- {op: add, path: /spec/template/spec/containers/0/ports/-, value: {containerPort: 8080, name: ''}}"),
	"a mount that can be written":        containerPatch("volumeMounts: [{name: build, mountPath: /extra, readOnly: false, subPath: ''}]"),
	"cores":                              containerPatch("resources: {requests: {cpu: 0.5}, limits: {cpu: 1000m}}"),
	"bytes":                              containerPatch("resources: {limits: {memory: '1073741824', ephemeral-storage: 1.5Gi}}"),
	"no claims":                          containerPatch("resources: {claims: []}"),
	"no resources":                       patchOf("Deployment", "- {op: replace, path: /spec/template/spec/containers/0/resources, value: {}}"),
	"requests of nothing":                patchOf("Deployment", "- {op: replace, path: /spec/template/spec/containers/0/resources, value: {requests: {}, limits: {}}}"),
	"no capabilities to add":             containerPatch("securityContext: {capabilities: {add: []}}"),
	"a lifecycle of nothing":             patchOf("Deployment", "- {op: replace, path: /spec/template/spec/containers/0/lifecycle, value: {}}"),
	"a container beside, bare":           podPatch("containers: [{name: beside, image: beside, args: [], command: [], env: [], ports: [], resources: {}, workingDir: '', livenessProbe: null}]"),
	"an init container, bare":            podPatch("initContainers: [{name: before, image: before, restartPolicy: null, env: [{name: A, value: ''}]}]"),

	"an empty type":                         servicePatch("type: ''"),
	"an empty affinity of clients":          servicePatch("sessionAffinity: ''"),
	"the default affinity":                  servicePatch("sessionAffinity: None"),
	"any address":                           servicePatch("clusterIP: ''"),
	"any addresses":                         servicePatch("clusterIPs: []"),
	"addresses of IPv4":                     servicePatch("ipFamilies: [IPv4], ipFamilyPolicy: SingleStack"),
	"no external address":                   servicePatch("externalIPs: [], externalName: '', loadBalancerIP: '', loadBalancerSourceRanges: []"),
	"any port of the nodes":                 servicePatch("type: NodePort, ports: [{port: 80, protocol: TCP, nodePort: 0}]"),
	"a port without a name":                 servicePatch("ports: [{port: 80, protocol: TCP, name: ''}]"),
	"a port to itself":                      patchOf("Service", "- {op: replace, path: /spec/ports/0, value: {port: 3000, targetPort: 0, protocol: TCP}}"),
	"no health check's port":                servicePatch("healthCheckNodePort: 0"),
	"addresses that aren't ready":           servicePatch("publishNotReadyAddresses: false"),
	"ports of the nodes for a LoadBalancer": servicePatch("type: LoadBalancer, allocateLoadBalancerNodePorts: true, externalTrafficPolicy: ''"),
	"traffic policies":                      servicePatch("internalTrafficPolicy: Cluster"),
	"ClientIP's defaults":                   servicePatch("sessionAffinity: ClientIP, sessionAffinityConfig: {}"),
	"an empty configuration":                servicePatch("sessionAffinityConfig: {}"),
}

// TestAtRestNothingIsWrittenOfWhatTheAPIServerNormalises has a parked view for each patch,
// which is looked at each second.
func TestAtRestNothingIsWrittenOfWhatTheAPIServerNormalises(t *testing.T) {
	f := newFixture(t)
	f.Limit = 5 * time.Minute // they are many, and looked at all the time
	titles := slices.Sorted(maps.Keys(normalised))
	names := map[string]string{}
	for i, title := range titles {
		view := f.view(fmt.Sprintf("v%d", i))
		names[view.Name] = title
		view.Spec.Replicas, view.Spec.Interval = new(int32), &metav1.Duration{Duration: time.Second}
		view.Spec.Patches = []v1.Patch{normalised[title]}
		if err := f.Client.Create(t.Context(), view); err != nil {
			t.Errorf("%s: %v", title, err)
			delete(names, view.Name)
		}
	}
	for name, title := range names {
		f.eventually(title+" to be applied", func() string {
			var view v1.MarkdownView
			if f.get(&view, name); view.Status.Inventory == nil {
				return "it isn't: " + readyMessage(&view)
			}
			return ""
		})
	}
	since := f.mark()
	f.passes(*atRest)
	list, err := f.Cluster.Requests(t.Context(), since, cluster.By(controllerUser), cluster.In(f.namespace), cluster.Not(cluster.Events), cluster.Writes)
	f.must(err)
	written := map[string]int{}
	for _, r := range list {
		name := strings.TrimPrefix(strings.TrimPrefix(r.Name, "viewer-"), "markdowns-")
		written[names[name]+": "+r.Verb+" "+r.Resource]++
	}
	for _, what := range slices.Sorted(maps.Keys(written)) {
		t.Errorf("%s, %d times", what, written[what])
	}
}
