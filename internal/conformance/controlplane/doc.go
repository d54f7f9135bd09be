// Package controlplane tests the evictor on a real etcd and kube-apiserver, in real time, and measures it beside the
// real kube-controller-manager.
//
// A Plane is the control plane. A Fleet is its nodes, with kubelets that register, renew their leases, report and
// finish the deletion of their pods, or stop doing so. A View watches all of it, and tests wait on it: nothing here
// sleeps. A Process is a controller under test.
//
// The programs come from KUBEBUILDER_ASSETS, or are built from their Go modules and kept outside the checkout; see
// package binaries.
package controlplane
