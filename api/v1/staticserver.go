package v1

// StaticServer is the web server that serves a book once mdBook has built it.
type StaticServer struct {
	// Image is one that has nginx on PATH and nginx's mime.types in /etc/nginx. Empty means
	// the version that this release was made for.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^\S*$`
	// +optional
	Image string `json:"image,omitempty"`
}
