package generator

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

const (
	servicePort = 80
	viewerPort  = 3000 // mdBook's own default
)

func service(view *v1.MarkdownView) *corev1ac.ServiceApplyConfiguration {
	common := CommonMetadata(view)
	object := corev1ac.Service(ViewerName(view.Name), "").
		WithLabels(common.Labels).
		WithAnnotations(common.Annotations).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithSelector(Labels(view.Name)).
			WithPorts(corev1ac.ServicePort().
				WithProtocol(corev1.ProtocolTCP).
				WithPort(servicePort).
				WithTargetPort(intstr.FromInt32(viewerPort))))
	object.Namespace = namespaceOf(view)
	return object
}
