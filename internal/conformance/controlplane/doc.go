// Package controlplane tries the evictor on a real etcd and kube-apiserver, in real time, and measures it beside
// the real kube-controller-manager.
//
// A Plane is the control plane, a Fleet are its nodes: kubelets that register, renew their leases, report and
// finish the deletion of their pods, or stop doing so. A View watches what becomes of it all, and is what a test waits
// on: nothing here sleeps. A Process is a controller under test.
//
// The programs are taken from KUBEBUILDER_ASSETS, or built from their Go modules and kept outside of the checkout; see
// Programs.
package controlplane
