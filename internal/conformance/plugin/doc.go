// Package plugin runs examples/schedulerplugin in kube-scheduler of k8s.io/kubernetes: the whole scheduler, with its
// queue, cache, informers and other plugins, in virtual time and against client-go's fake client.
//
// Every case runs with and without the plugin. Without it the scheduler decides by free resources, and every case is
// made so that this leads to another node. So a case fails if the scheduler does not call the plugin.
package plugin
