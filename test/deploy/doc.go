// Package deploy tests what people get Hermes by: the compose file, the Kubernetes manifests, the systemd unit, and
// the pages that tell how. Nothing calls it.
package deploy
